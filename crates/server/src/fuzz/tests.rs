use std::path::{Path, PathBuf};

use super::*;
use crate::{carrier, http, providers, talk};

/// Every target. Those of `providers/`, `carrier/` and `talk/tools` are in the files that parse.
fn targets() -> Vec<&'static Target> {
    let mut targets = vec![
        &api::FUZZED,
        &carrier::telnyx::callback::FUZZED,
        &carrier::telnyx::rest::FUZZED,
        &carrier::telnyx::signature::FUZZED,
        &carrier::telnyx::wire::FUZZED,
        &carrier::twilio::callback::FUZZED,
        &carrier::twilio::records::FUZZED,
        &carrier::twilio::signature::FUZZED,
        &carrier::twilio::wire::FUZZED,
        &carrier::web::wire::FUZZED,
        &http::calls::recording::FUZZED,
        &providers::anthropic::wire::FUZZED,
        &providers::assemblyai::stt::FUZZED,
        &providers::cartesia::stt::FUZZED,
        &providers::cartesia::tts::FUZZED,
        &providers::deepgram::flux::FUZZED,
        &providers::deepgram::nova::FUZZED,
        &providers::deepgram::tts::FUZZED,
        &providers::elevenlabs::stt::FUZZED,
        &providers::elevenlabs::tts::FUZZED,
        &providers::gemini::wire::FUZZED,
        &providers::llm::analysis::FUZZED,
        &providers::llm::reasoning::FUZZED,
        &providers::openai::realtime_stt::FUZZED,
        &providers::openai::speech_to_speech::wire::FUZZED,
        &providers::openai::transcriptions::FUZZED,
        &providers::openai::wire::FUZZED,
        &providers::failure::FUZZED,
        &providers::sse::FUZZED,
        &providers::tts::decoder::FUZZED,
        &talk::tools::FUZZED,
        &talk::tools::mcp::listing::FUZZED,
        &talk::tools::mcp::result::FUZZED,
        &talk::tools::mcp::transport::FUZZED,
    ];
    targets.extend(library::TARGETS);
    targets
}

/// What a file does that reads what others send.
const PARSES: [&str; 9] = [
    "serde_json::from_slice",
    "serde_json::from_str",
    ".json::<",
    "form_urlencoded::parse",
    "impl LlmResponse for",
    "impl RealtimeProtocol for",
    "impl SttProtocol for",
    "impl TtsProtocol for",
    "impl Wire for",
];

/// Files that do so and have no target of their own, and why not.
const ELSEWHERE: [(&str, &str); 11] = [
    ("carrier/callback.rs", "a field of a query, read by the target of the carrier that put it there"),
    ("providers/llm/mod.rs", "passes the events of sse.rs to the response readers, which have targets"),
    ("providers/openai/speech.rs", "an error, classified by failure.rs; its audio is read by tts/decoder.rs"),
    ("carrier/rest.rs", "reads any answer as JSON: what is made of it is in the carriers' files"),
    ("carrier/simulator/recordings.rs", "our own recordings"),
    ("carrier/twilio/rest.rs", "its refusals are read by the target of records.rs"),
    ("providers/gemini/mod.rs", "our own request"),
    ("providers/openai/wire/tests.rs", "tests"),
    ("providers/websocket/message.rs", "used by the adapters, which have targets"),
    ("providers/prices.rs", "an operator's file"),
    ("providers/voices.rs", "reads any answer as JSON: of what may be missing in it, only strings are taken"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_that_reads_what_strangers_send_is_driven() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for folder in ["providers", "carrier", "talk/tools"] {
        sources(&source.join(folder), &mut files);
    }
    let driven: Vec<_> = targets().iter().map(|target| target.file).collect();
    let mut missing = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("text");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let name = file.strip_prefix(&source).expect("inside").to_str().expect("text");
        let parses = PARSES.iter().any(|mark| code.contains(mark));
        let known = driven.iter().any(|driven| driven.ends_with(&format!("src/{name}")))
            || ELSEWHERE.iter().any(|(elsewhere, _)| *elsewhere == name);
        if parses && !known {
            missing.push(name.to_owned());
        }
    }
    assert!(files.len() > 100, "the files were found");
    assert!(missing.is_empty(), "each needs a target, or a line in ELSEWHERE: {missing:#?}");
}

#[test]
fn what_each_target_begins_with_is_what_its_parser_takes() {
    let mut refused = Vec::new();
    for target in targets() {
        let dialogues = (target.seeds)().into_iter().enumerate();
        let wrong = dialogues.filter(|(_, dialogue)| (target.read)(dialogue).taken == 0);
        refused.extend(wrong.map(|(number, _)| format!("{}, dialogue {number}", target.file)));
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn whatever_strangers_send_is_read_or_refused() {
    let all = targets();
    let seconds = std::env::var(SECONDS).ok().map(|seconds| seconds.parse().expect("a number of seconds"));
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let halves = all.split_at(all.len() / 2);
    let drive = |targets: &[&Target]| end.map_or_else(|| drive_all(targets), |end| drive_until(targets, end));
    let both = || {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| drive(halves.1));
            let mut found = drive(halves.0);
            found.extend(other.join().expect("what panics is caught"));
            found
        })
    };
    let found = with_panics_noted(both);
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

/// A parser with the mistakes that are to be found.
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
