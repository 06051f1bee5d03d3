//! Writes YAML that every parser reads as the same values.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Names of fields up to this length are written on one line with their values.
const LONG_NAME: usize = 500;
/// Texts that parsers of older versions of YAML read as another type.
const NO_TEXT: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// Fields that stand before all others, which follow by the alphabet.
const FIRST: [&str; 13] = [
    "connections",
    "agents",
    "type",
    "name",
    "number",
    "url",
    "label",
    "provider",
    "connection",
    "agent",
    "model",
    "voice",
    "instructions",
];

/// Writes a value.
pub(in crate::apply) fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => object(&mut out, fields, 0),
        Value::Array(items) if !items.is_empty() => list(&mut out, items, 0),
        value => {
            scalar(&mut out, value, 0);
            out.push('\n');
        }
    }
    out
}

fn indented(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Writes the fields, the first one where `out` ends.
fn object(out: &mut String, fields: &Map<String, Value>, indent: usize) {
    let mut fields: Vec<_> = fields.iter().collect();
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    fields.sort_by(|(one, _), (other, _)| rank(one).cmp(&rank(other)).then_with(|| one.cmp(other)));
    for (at, (name, value)) in fields.into_iter().enumerate() {
        if at > 0 {
            indented(out, indent);
        }
        if name.len() > LONG_NAME {
            let _ = write!(out, "? {}\n{:indent$}:", quoted(name), "");
        } else {
            let _ = write!(out, "{}:", if is_plain(name) { name.clone() } else { quoted(name) });
        }
        below(out, value, indent + 2);
    }
}

fn list(out: &mut String, items: &[Value], indent: usize) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            indented(out, indent);
        }
        out.push('-');
        match item {
            Value::Object(fields) if !fields.is_empty() => {
                out.push(' ');
                object(out, fields, indent + 2);
            }
            item => below(out, item, indent + 2),
        }
    }
}

/// Writes what stands behind a name or a dash, up to the end of its last line.
fn below(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            indented(out, indent);
            object(out, fields, indent);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            indented(out, indent);
            list(out, items, indent);
        }
        value => {
            out.push(' ');
            scalar(out, value, indent);
            out.push('\n');
        }
    }
}

/// Writes what has nothing below it, without the end of its last line.
fn scalar(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(text) if is_plain(text) => out.push_str(text),
        Value::String(text) if is_block(text) => block(out, text, indent),
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
        value => {
            let _ = write!(out, "{value}");
        }
    }
}

/// Whether a text needs no quotes, also for parsers of older versions of YAML.
fn is_plain(text: &str) -> bool {
    if is_placeholder(text) {
        return true;
    }
    let mut letters = text.chars().peekable();
    let starts = letters.next().is_some_and(char::is_alphabetic);
    let mut fits = starts && !text.ends_with([' ', ':']);
    while let (true, Some(letter)) = (fits, letters.next()) {
        fits = match letter {
            ' ' => letters.peek() != Some(&'#'),
            ':' => letters.peek().is_some_and(|next| *next != ' '),
            letter => letter.is_alphanumeric() || "_-./+@()!?%'=&".contains(letter),
        };
    }
    fits && !NO_TEXT.contains(&text.to_lowercase().as_str())
}

/// `${NAME}`
fn is_placeholder(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// Whether a text of several lines can be written as it is.
fn is_block(text: &str) -> bool {
    let blank = |line: &str| !line.is_empty() && line.trim().is_empty();
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with(['\n', ' ', '\t'])
        && text.chars().all(|letter| letter == '\n' || is_visible(letter))
        && !text.split('\n').any(blank)
}

fn block(out: &mut String, text: &str, indent: usize) {
    let content = text.trim_end_matches('\n');
    let ends = text.len() - content.len();
    out.push_str(match ends {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    for line in content.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            indented(out, indent.max(2));
        }
        out.push_str(line);
    }
    out.extend(std::iter::repeat_n('\n', ends.saturating_sub(1)));
}

/// Whether YAML takes a character as it is, within and without quotes.
fn is_visible(letter: char) -> bool {
    !letter.is_control() && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter if is_visible(letter) => out.push(letter),
            letter => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::parse;
    use super::*;

    #[test]
    fn it_looks_as_people_write_it() {
        let value = json!({
            "connections": [{ "name": "OpenAI", "credentials": { "api_key": "${OPENAI_API_KEY}" }, "settings": {} }],
            "agents": [{ "name": "Reception", "instructions": "You answer the phone.\nBe brief.\n", "limits": { "max": 600 },
                "words": ["no", "Dr. Smith", "07:30"], "tools": [{ "type": "end_call" }, { "type": "transfer" }] }],
            "numbers": [{ "number": "+12025550199", "label": null }],
        });
        let text = concat!(
            "connections:\n  - name: OpenAI\n    credentials:\n      api_key: ${OPENAI_API_KEY}\n    settings: {}\n",
            "agents:\n  - name: Reception\n    instructions: |\n      You answer the phone.\n      Be brief.\n    limits:\n      max: 600\n",
            "    tools:\n      - type: end_call\n      - type: transfer\n    words:\n      - \"no\"\n      - Dr. Smith\n      - \"07:30\"\n",
            "numbers:\n  - number: \"+12025550199\"\n    label: null\n",
        );
        assert_eq!(write(&value), text);
        assert_eq!(parse(text).expect("YAML"), value);
    }

    fn values() -> impl Strategy<Value = Value> {
        let texts = prop_oneof![
            any::<String>(),
            "[ -~]{0,20}",
            "[a-z \n#:'\"-]{0,30}",
            "(- |\\? |[|>]|%|@|`|---|\\.\\.\\.|<<|!|&a|\\*a|#).{0,5}",
            Just("x".repeat(2_000)),
        ];
        let texts = texts.prop_map(|text| text.replace('\0', ""));
        let leaf = prop_oneof![
            texts.clone().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(|number: f64| json!(number)),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(5, 60, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((texts.clone(), inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_as_the_same(value in values()) {
            let text = write(&value);
            prop_assert_eq!(parse(&text).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?, value, "{}", text);
        }
    }
}
