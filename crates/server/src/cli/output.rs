//! What the command line prints. Nothing here fails when the reader is gone.

use std::io::Write as _;
use std::process::ExitCode;

use serde::Serialize;

use crate::stderr;

/// Prints a line to stdout. A closed pipe is not an error.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Prints a value as JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    line(&serde_json::to_string_pretty(value)?);
    Ok(())
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
    line(&serde_json::to_string(value)?);
    Ok(())
}

/// Prints a note to stderr.
pub(crate) fn note(text: &str) {
    stderr::line(text);
}

/// Prints an error and returns the exit code.
pub(crate) fn failed(words: &str, code: u8) -> ExitCode {
    stderr::line(&format!("switchhook: {words}"));
    ExitCode::from(code)
}

/// Prints rows under a heading, in aligned columns.
pub(crate) fn table(heading: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(heading.get(column).map(|cell| cell.len())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let print = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        line(padded.collect::<Vec<_>>().join("  ").trim_end());
    };
    print(heading.to_vec());
    for row in rows {
        print(row.iter().map(String::as_str).collect());
    }
}
