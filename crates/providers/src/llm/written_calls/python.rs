//! Tool calls written as Python: `book(day="Friday", people=4)`.

use serde_json::{Map, Value};

/// The deepest nesting of values.
const MAX_DEPTH: usize = 64;

/// A call that was read.
pub(in crate::llm) struct PythonCall {
    /// The name as written, such as `functions.book`.
    pub(in crate::llm) name: String,
    /// The arguments; the text between the parentheses if some have no name.
    pub(in crate::llm) arguments: Value,
    /// Whether every argument has a name.
    pub(in crate::llm) named: bool,
}

/// Why nothing was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::llm) enum Stop {
    /// The text ends too early.
    Ended,
    /// It is something else.
    Other,
}

/// Reads one call at the start of a text. Returns it with its length.
///
/// # Errors
/// When the text begins with something else, or ends too early.
pub(in crate::llm) fn call(text: &str) -> Result<(PythonCall, usize), Stop> {
    let mut reader = Reader { text, at: 0 };
    let call = reader.call()?;
    Ok((call, reader.at))
}

/// Reads a list of calls, `[book(day="Friday"), hours()]`, at the start of a text. Returns them with its length.
///
/// # Errors
/// When the text begins with something else, or ends too early.
pub(in crate::llm) fn calls(text: &str) -> Result<(Vec<PythonCall>, usize), Stop> {
    let mut reader = Reader { text, at: 0 };
    reader.expect('[')?;
    let mut calls = Vec::new();
    loop {
        reader.skip_blanks();
        if reader.takes(']')? {
            return if calls.is_empty() { Err(Stop::Other) } else { Ok((calls, reader.at)) };
        }
        calls.push(reader.call()?);
        reader.skip_blanks();
        if !reader.takes(',')? && reader.peek()? != ']' {
            return Err(Stop::Other);
        }
    }
}

/// Reads a literal, such as `{'day': 'Friday'}`, at the start of a text. Returns it with its length.
///
/// # Errors
/// When the text begins with something else, or ends too early.
pub(in crate::llm) fn literal(text: &str) -> Result<(Value, usize), Stop> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    Ok((value, reader.at))
}

/// Returns the name at the start of a text, with its dots.
pub(in crate::llm) fn name(text: &str) -> &str {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let ends = if begins { text.find(|c| !part(c)).unwrap_or(text.len()) } else { 0 };
    &text[..ends]
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Result<char, Stop> {
        self.rest().chars().next().ok_or(Stop::Ended)
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn takes(&mut self, wanted: char) -> Result<bool, Stop> {
        let found = self.peek()? == wanted;
        if found {
            self.at += wanted.len_utf8();
        }
        Ok(found)
    }

    fn expect(&mut self, wanted: char) -> Result<(), Stop> {
        if self.takes(wanted)? { Ok(()) } else { Err(Stop::Other) }
    }

    /// Takes a name; not one that the end of the text may have cut.
    fn name(&mut self) -> Result<String, Stop> {
        let name = name(self.rest()).to_owned();
        if name.len() == self.rest().len() {
            return Err(Stop::Ended);
        }
        self.at += name.len();
        if name.is_empty() { Err(Stop::Other) } else { Ok(name) }
    }

    fn call(&mut self) -> Result<PythonCall, Stop> {
        let name = self.name()?;
        self.expect('(')?;
        let from = self.at;
        let (mut arguments, mut named) = (Map::new(), true);
        loop {
            self.skip_blanks();
            let ends = self.at;
            if self.takes(')')? {
                let positional = || Value::String(self.text[from..ends].to_owned());
                let arguments = if named { Value::Object(arguments) } else { positional() };
                return Ok(PythonCall { name, arguments, named });
            }
            match self.key()? {
                Some(key) => drop(arguments.insert(key, self.value(0)?)),
                None => {
                    named = false;
                    self.value(0)?;
                }
            }
            self.skip_blanks();
            if !self.takes(',')? && self.peek()? != ')' {
                return Err(Stop::Other);
            }
        }
    }

    /// Takes `day=`.
    fn key(&mut self) -> Result<Option<String>, Stop> {
        let from = self.at;
        let key = match self.name() {
            Ok(key) => key,
            Err(Stop::Other) => return Ok(None),
            Err(Stop::Ended) => return Err(Stop::Ended),
        };
        self.skip_blanks();
        if self.takes('=')? {
            return Ok(Some(key));
        }
        self.at = from;
        Ok(None)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Stop> {
        self.skip_blanks();
        if depth > MAX_DEPTH {
            return Err(Stop::Other);
        }
        match self.peek()? {
            '"' | '\'' => self.string(),
            '{' => self.dictionary(depth),
            '[' => self.list(']', depth),
            '(' => self.list(')', depth),
            c if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, Stop> {
        match self.name()?.as_str() {
            "True" | "true" => Ok(Value::Bool(true)),
            "False" | "false" => Ok(Value::Bool(false)),
            "None" | "null" => Ok(Value::Null),
            _ => Err(Stop::Other),
        }
    }

    fn number(&mut self) -> Result<Value, Stop> {
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_');
        let rest = self.rest();
        let ends = rest.find(|c| !part(c)).ok_or(Stop::Ended)?;
        let digits = rest[..ends].trim_start_matches('+').replace('_', "");
        let number: serde_json::Number = digits.parse().map_err(|_| Stop::Other)?;
        self.at += ends;
        Ok(Value::Number(number))
    }

    fn string(&mut self) -> Result<Value, Stop> {
        let quote = self.peek()?;
        let triple = quote.to_string().repeat(3);
        let ends = if self.rest().starts_with(&triple) { triple } else { quote.to_string() };
        self.at += ends.len();
        let mut text = String::new();
        loop {
            if self.rest().starts_with(&ends) {
                self.at += ends.len();
                return Ok(Value::String(text));
            }
            let c = self.peek()?;
            self.at += c.len_utf8();
            if c == '\\' { text.push(self.escaped()?) } else { text.push(c) }
        }
    }

    /// Takes the character after a backslash.
    fn escaped(&mut self) -> Result<char, Stop> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Ok(match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'u' => {
                let digits = self.rest().get(..4).ok_or(Stop::Ended)?;
                let code = u32::from_str_radix(digits, 16).map_err(|_| Stop::Other)?;
                self.at += 4;
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other,
        })
    }

    fn list(&mut self, ends: char, depth: usize) -> Result<Value, Stop> {
        self.at += 1;
        let mut values = Vec::new();
        loop {
            self.skip_blanks();
            if self.takes(ends)? {
                return Ok(Value::Array(values));
            }
            values.push(self.value(depth + 1)?);
            self.separator(ends)?;
        }
    }

    fn dictionary(&mut self, depth: usize) -> Result<Value, Stop> {
        self.at += 1;
        let mut fields = Map::new();
        loop {
            self.skip_blanks();
            if self.takes('}')? {
                return Ok(Value::Object(fields));
            }
            let Value::String(key) = self.value(depth + 1)? else { return Err(Stop::Other) };
            self.skip_blanks();
            self.expect(':')?;
            fields.insert(key, self.value(depth + 1)?);
            self.separator('}')?;
        }
    }

    fn separator(&mut self, ends: char) -> Result<(), Stop> {
        self.skip_blanks();
        if self.takes(',')? || self.peek()? == ends { Ok(()) } else { Err(Stop::Other) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_of_python_are_read_and_other_code_is_not() {
        for (text, expected) in [
            (r#"book(day="Friday", people=4)"#, json!({ "day": "Friday", "people": 4 })),
            (r"book( day = 'Fri\'day' , )", json!({ "day": "Fri'day" })),
            ("book(at=[1, 2.5, -3], open=True, note=None)", json!({ "at": [1, 2.5, -3], "open": true, "note": null })),
            (
                "book(who={'name': 'Ann', 'tags': ('a', \"b\")})",
                json!({ "who": { "name": "Ann", "tags": ["a", "b"] } }),
            ),
            ("book(note='''two\nlines''')", json!({ "note": "two\nlines" })),
            ("book(note='\\u00e9\\n')", json!({ "note": "é\n" })),
            ("book()", json!({})),
        ] {
            let (read, length) = call(text).unwrap_or_else(|stop| panic!("{text}: {stop:?}"));
            assert_eq!((read.arguments, read.named, length), (expected, true, text.len()), "{text}");
            for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                assert_eq!(call(&text[..cut]).err(), Some(Stop::Ended), "{}", &text[..cut]);
            }
        }
        for text in
            ["book(s)", "book(day=today)", "book (2)", "book(9-5)", "book(day='a' b)", "(book)", "book(day=f(1))"]
        {
            assert_eq!(call(text).err(), Some(Stop::Other), "{text}");
        }
        assert_eq!(
            call("book('Friday')").map(|(read, _)| (read.named, read.arguments)),
            Ok((false, json!("'Friday'")))
        );
        assert_eq!(literal(&"[".repeat(100)).err(), Some(Stop::Other));
    }
}
