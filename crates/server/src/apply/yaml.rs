//! YAML as values of JSON.
//!
//! A value without quotes is a number, `true`, `false` or `null` only if JSON writes it so (`~`, nothing, `True` and `NULL` count too), else
//! text: `no`, `07:30`, `0123` and `+12025550100` stay as they are written.

mod write;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::{Map, Number, Value};

pub(super) use self::write::write;

/// Most levels of a document.
const MAX_DEPTH: usize = 100;
/// Most values of a document, those that aliases repeat among them.
const MAX_VALUES: usize = 500_000;
/// Most bytes of text that anchors keep and aliases repeat.
const MAX_REPEATED: usize = 16 << 20;

/// Reads one document; an empty one is `null`.
///
/// # Errors
/// A sentence with the line.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        cut_lines: cut_lines(text),
        anchors: HashMap::new(),
        values: 0,
        repeated: 0,
    };
    let mut document = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(document.unwrap_or(Value::Null)),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
            (_, span) if document.is_some() => {
                return Err(at(&span, "has a second document (---): put it into a file of its own"));
            }
            (event, span) => document = Some(reader.value(event, &span, 0)?),
        }
    }
}

fn at(span: &Span, words: &str) -> String {
    format!("line {} {words}", span.start.line())
}

/// Returns the columns, by line from 1, at which text ends before a `#` that begins a comment and was meant as a key or a number: `Suite #5`,
/// `Press #.`, `key: #`. Comments begin with a blank, a letter or another sign.
fn cut_lines(text: &str) -> HashMap<usize, HashSet<usize>> {
    let lines = text.lines().zip(1..).map(|(line, number)| (number, cut_columns(line)));
    lines.filter(|(_, columns)| !columns.is_empty()).collect()
}

fn cut_columns(line: &str) -> HashSet<usize> {
    let is_meant = |behind: &str| {
        let next = behind.trim_end().chars().next();
        next.is_none_or(|next| next.is_ascii_digit() || ".,;?)".contains(next))
    };
    let mut columns = HashSet::new();
    let mut end = 0;
    for (column, (at, letter)) in line.char_indices().enumerate() {
        if letter == '#' && column > end && is_meant(&line[at + 1..]) {
            columns.insert(end);
        }
        if !matches!(letter, ' ' | '\t') {
            end = column + 1;
        }
    }
    columns
}

fn is_left_out(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(text, ScalarStyle::Plain, ..) if text.is_empty())
}

struct Reader<'t> {
    events: Parser<'t, StrInput<'t>>,
    /// The columns, by line, at which a text that needs quotes would end.
    cut_lines: HashMap<usize, HashSet<usize>>,
    anchors: HashMap<usize, Value>,
    values: usize,
    repeated: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), String> {
        match self.events.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let place = error.marker();
                Err(format!("is not YAML: line {}, column {}: {}", place.line(), place.col() + 1, error.info()))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn value(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(at(span, &format!("is nested more than {MAX_DEPTH} levels deep")));
        }
        self.values += 1;
        self.check_size(span)?;
        let is_plain = matches!(event, Event::Scalar(_, ScalarStyle::Plain, ..));
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => (scalar(text, style, tag.as_deref(), span)?, anchor),
            Event::SequenceStart(anchor, tag) => {
                refuse_tag(tag.as_deref(), span)?;
                (self.list(depth)?, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                refuse_tag(tag.as_deref(), span)?;
                (self.object(depth)?, anchor)
            }
            Event::Alias(anchor) => return self.repeat(anchor, span),
            _ => return Err(at(span, "ends too early")),
        };
        if is_plain && value.is_string() && self.cuts(span.end.line()).any(|column| column == span.end.col()) {
            let words = "has a text that ends before a #, which begins a comment: put the text in quotes";
            return Err(at(&Span::empty(span.end), words));
        }
        if anchor != 0 {
            self.count(&value);
            self.check_size(span)?;
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    /// Returns the columns on a line at which text ends before a `#` that was not meant as a comment.
    fn cuts(&self, line: usize) -> impl Iterator<Item = usize> {
        self.cut_lines.get(&line).into_iter().flatten().copied()
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::Array(items)),
                (event, span) => items.push(self.value(event, &span, depth + 1)?),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let mut fields = Map::new();
        loop {
            let (event, span) = self.next()?;
            let name = match event {
                Event::MappingEnd => return Ok(Value::Object(fields)),
                Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<" => {
                    return Err(at(&span, "has a merge key (<<), which is not supported: write the fields out"));
                }
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return Err(at(&span, "has a name of a field that is no text")),
            };
            if fields.contains_key(&name) {
                return Err(at(&span, &format!("has the field {name:?} a second time")));
            }
            let (event, value_span) = self.next()?;
            if is_left_out(&event) && self.cuts(span.end.line()).any(|column| column > span.end.col()) {
                return Err(at(&span, "has a # that begins a comment: put it in quotes, or leave it out"));
            }
            let value = self.value(event, &value_span, depth + 1)?;
            fields.insert(name, value);
        }
    }

    fn repeat(&mut self, anchor: usize, span: &Span) -> Result<Value, String> {
        let value = self.anchors.remove(&anchor).ok_or_else(|| at(span, "repeats itself"))?;
        self.count(&value);
        self.check_size(span)?;
        self.anchors.insert(anchor, value.clone());
        Ok(value)
    }

    fn count(&mut self, value: &Value) {
        self.values += 1;
        match value {
            Value::String(text) => self.repeated += text.len(),
            Value::Array(items) => items.iter().for_each(|item| self.count(item)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                self.repeated += name.len();
                self.count(value);
            }),
            _ => {}
        }
    }

    fn check_size(&self, span: &Span) -> Result<(), String> {
        if self.values > MAX_VALUES || self.repeated > MAX_REPEATED {
            return Err(at(span, "makes the document too large: split it, and repeat less with aliases (*)"));
        }
        Ok(())
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Result<Value, String> {
    // `!` and `!!str` say that it is text.
    let is_text = tag.is_some_and(|tag| {
        (tag.is_yaml_core_schema() && tag.suffix == "str") || (tag.handle.is_empty() && tag.suffix == "!")
    });
    if !is_text {
        refuse_tag(tag, span)?;
    }
    if is_text || style != ScalarStyle::Plain {
        return Ok(Value::String(text.into_owned()));
    }
    Ok(plain(&text).unwrap_or_else(|| Value::String(text.into_owned())))
}

fn refuse_tag(tag: Option<&Tag>, span: &Span) -> Result<(), String> {
    match tag {
        Some(tag) => Err(at(span, &format!("has the tag {tag}, which is not supported: leave it out"))),
        None => Ok(()),
    }
}

/// Returns the value of a word without quotes that is not text.
fn plain(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        _ => serde_json::from_str::<Number>(text).ok().map(Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_without_quotes_stay_as_they_are_written() {
        for (written, read) in [
            ("no", json!("no")),
            ("on", json!("on")),
            ("NO", json!("NO")),
            ("y", json!("y")),
            ("07:30", json!("07:30")),
            ("12:30:45", json!("12:30:45")),
            ("+12025550100", json!("+12025550100")),
            ("0123", json!("0123")),
            ("1_000", json!("1_000")),
            ("0x1f", json!("0x1f")),
            ("2026-01-31", json!("2026-01-31")),
            (".inf", json!(".inf")),
            ("sk-1e5", json!("sk-1e5")),
            ("${OPENAI_API_KEY}", json!("${OPENAI_API_KEY}")),
            ("https://example.com/a#b", json!("https://example.com/a#b")),
            ("\"true\"", json!("true")),
            ("'12'", json!("12")),
            ("!!str 12", json!("12")),
            ("true", json!(true)),
            ("False", json!(false)),
            ("~", json!(null)),
            ("", json!(null)),
            ("# none yet", json!(null)),
            ("Suite 5 # the 5th", json!("Suite 5")),
            ("Suite#5", json!("Suite#5")),
            ("0.7 #1 choice", json!(0.7)),
            ("\"Suite #5\" #5", json!("Suite #5")),
            ("|\n    Suite #5\n    Press #.", json!("Suite #5\nPress #.\n")),
            ("#\n  next", json!("next")),
            ("12025550100", json!(12_025_550_100_u64)),
            ("-3", json!(-3)),
            ("0.7", json!(0.7)),
            ("{a: [1, b]}", json!({ "a": [1, "b"] })),
        ] {
            assert_eq!(parse(&format!("x: {written}\n")).expect("YAML"), json!({ "x": read }), "{written}");
        }
    }

    #[test]
    fn texts_of_several_lines_are_kept_and_aliases_repeated() {
        let text = "a: &texts\n  - |\n    One\n      two\n\n    three\n  - >-\n    folded\n    here\nb: *texts\n";
        let texts = json!(["One\n  two\n\nthree\n", "folded here"]);
        assert_eq!(parse(text).expect("YAML"), json!({ "a": texts, "b": texts }));
        assert_eq!(parse("# nothing\n").expect("YAML"), Value::Null);
        assert_eq!(parse("---\na: 1\n...\n").expect("YAML"), json!({ "a": 1 }));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        for (text, words) in [
            ("a: 1\na: 2\n", "line 2 has the field \"a\" a second time"),
            ("a: 1\n---\nb: 2\n", "second document"),
            ("a: &x 1\nb:\n  <<: *x\n", "line 3 has a merge key"),
            ("a: !secret x\n", "line 1 has the tag !secret"),
            ("[a]: 1\n", "no text"),
            ("a: *b\n", "is not YAML: line 1"),
            ("a: &b [*b]\n", "repeats itself"),
            ("a: [1, 2\n", "is not YAML: line"),
            ("a: \"b\n", "is not YAML: line"),
            ("a:\n\tb: 1\n", "is not YAML: line 2"),
            ("dtmf:\n  finish_on_key: #\n  max_digits: 4\n", "line 2 has a # that begins a comment: put it in quotes"),
            ("suite: #5 # the new one\n", "line 1 has a # that begins a comment: put it in quotes"),
            ("a: 1\r\n\"b\" :  #  \r\nc: 2\r\n", "line 2 has a #"),
            ("- a: 1\n- b: #", "line 2 has a #"),
            ("{a: 1, b: #\n}\n", "line 1 has a #"),
            ("label: Suite #5\n", "line 1 has a text that ends before a #"),
            ("a: 1\r\nb: Büro  #12, dann links # ja\r\n", "line 2 has a text that ends before a #"),
            ("- To go back, press #. Else wait.\n", "line 1 has a text that ends before a #"),
            ("a: Then press #  \n", "line 1 has a text that ends before a #"),
            ("a: One line\n  and Suite\t#5\n", "line 2 has a text that ends before a #"),
            ("a: [x, Suite #5]\n]\n", "line 1 has a text that ends before a #"),
        ] {
            let error = parse(text).expect_err("wrong");
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn what_would_take_too_much_memory_is_refused() {
        let bomb = (1..30).fold("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, n| {
            let above = format!("*a{}", n - 1);
            text + &format!("a{n}: &a{n} [{}]\n", vec![above; 10].join(", "))
        });
        let long = format!(
            "a: &a {}\n{}",
            "x".repeat(1 << 20),
            "b: [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
        );
        let nested = (0..MAX_DEPTH).fold("x".to_owned(), |inner, n| format!("&n{n} [{inner}]"));
        let wide = "- 1\n".repeat(MAX_VALUES + 1);
        for text in [bomb, long, wide] {
            assert!(parse(&text).expect_err("too large").contains("too large"), "{}", &text[..40]);
        }
        parse(&nested).expect("as deep as can be");
        for deep in ["[".repeat(2 << 20), "- ".repeat(2 << 20), "{a: ".repeat(1 << 20), "? ".repeat(1 << 20)] {
            let error = parse(&deep).expect_err("too deep");
            let refused = ["line 1 is nested", "recursion limit", "no text"].iter().any(|words| error.contains(words));
            assert!(refused, "{error}");
        }
    }
}
