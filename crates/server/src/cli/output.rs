//! What the command line prints. Nothing here fails when the reader is gone.
//!
//! Much of it was written by tenants, carriers and providers: it must not control the operator's terminal.

use std::borrow::Cow;
use std::io::Write as _;
use std::process::ExitCode;

use serde::Serialize;

use crate::stderr;

/// Prints a line to stdout. A closed pipe is not an error.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Prints a text as it is to stdout. A closed pipe is not an error.
pub(crate) fn text(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a value as JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    line(&escaped(&serde_json::to_string_pretty(value)?));
    Ok(())
}

/// Text of others, on one line.
pub(crate) fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// The control characters that JSON lets stand: U+007F to U+009F, which only strings can hold.
fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(char::is_control) {
        return json.into();
    }
    let escape = |c: char| if matches!(c, '\u{7f}'..='\u{9f}') { format!("\\u{:04x}", u32::from(c)) } else { c.into() };
    json.chars().map(escape).collect()
}

/// Prints a value as JSON, or by `print` for people.
pub(crate) fn show<T: Serialize>(as_json: bool, value: &T, print: impl FnOnce(&T)) -> anyhow::Result<()> {
    if as_json {
        return json(value);
    }
    print(value);
    Ok(())
}

/// Prints a value as JSON on one line.
pub(crate) fn json_line<T: Serialize>(value: &T) -> anyhow::Result<()> {
    line(&escaped(&serde_json::to_string(value)?));
    Ok(())
}

/// Text with parts of others, on as many lines as it has.
fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// Prints a note to stderr.
pub(crate) fn note(text: &str) {
    stderr::line(&plain_lines(text));
}

/// Prints an error and returns the exit code.
pub(crate) fn failed(words: &str, code: u8) -> ExitCode {
    stderr::line(&format!("switchhook: {}", plain_lines(words)));
    ExitCode::from(code)
}

/// The width, in characters, up to which columns are aligned. More than 65,535 cannot be.
const WIDEST: usize = 200;

/// Prints rows under a heading, in aligned columns.
pub(crate) fn table(heading: &[&str], rows: &[Vec<String>]) {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(heading.get(column).map(|cell| cell.len())).max().unwrap_or(0).min(WIDEST)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let print = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        line(padded.collect::<Vec<_>>().join("  ").trim_end());
    };
    print(heading.to_vec());
    for row in &rows {
        print(row.iter().map(String::as_str).collect());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn text_of_others_does_not_control_the_terminal() {
        assert_eq!(plain("a\u{1b}]52;c;x\u{7}\r\nb\u{9b}2J"), "a ]52;c;x   b 2J");
        assert_eq!(plain_lines("a\u{1b}[2J\n\nb\r\n"), "a [2J\n\nb");
        let value = json!({ "name": "\u{1b}\u{7f}\u{9b}2J\n", "list": ["ü"] });
        let printed = serde_json::to_string_pretty(&value).expect("JSON");
        let printed = escaped(&printed);
        assert!(printed.chars().all(|c| c == '\n' || !c.is_control()), "{printed:?}");
        assert_eq!(serde_json::from_str::<Value>(&printed).expect("still JSON"), value);
    }
}
