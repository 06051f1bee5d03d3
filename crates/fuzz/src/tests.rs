use super::*;

/// Parses a message with the mistakes that fuzzing must find.
fn mistaken(mistake: &str, message: &[u8]) -> Result<usize, serde_json::Error> {
    let read: serde_json::Value = serde_json::from_slice(message)?;
    let people = read["booking"]["people"].as_u64().unwrap_or(0);
    match mistake {
        "a sum" => Ok(usize::from(people + 1 > 4)),
        "a type" => Ok(read["booking"].as_object().expect("it is an object").len()),
        "a length" => Ok(read["name"].as_str().map_or(0, |name| name[..3.min(name.len())].len())),
        _ => Ok(if people > 100 { usize::MAX } else { 1 }),
    }
}

#[test]
fn mistakes_of_the_usual_kinds_are_found_in_a_short_run() {
    fn target(read: fn(&[Vec<u8>]) -> Read) -> Target {
        let seeds = || each_alone(&[r#"{"booking":{"people":4,"day":"Friday"},"name":"Ava"}"#]);
        Target { file: "mistaken", seeds, read }
    }
    let table = [
        ("a sum", target(|messages| Read::each(messages, |message| mistaken("a sum", message))), "overflow at "),
        ("a type", target(|messages| Read::each(messages, |message| mistaken("a type", message))), "it is an object"),
        ("a length", target(|messages| Read::each(messages, |message| mistaken("a length", message))), "char boundary"),
        ("too much", target(|messages| Read::each(messages, |message| mistaken("too much", message))), "it made"),
    ];
    let found =
        with_panics_noted(|| table.map(|(mistake, target, words)| (mistake, drive_all(&[&target]).pop(), words)));
    for (mistake, found, words) in found {
        assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{mistake}: {found:?}");
    }
}
