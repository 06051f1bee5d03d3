//! The only place that prints.
#![expect(clippy::print_stderr, reason = "printing is what a command line is for")]

use std::io::Write as _;
use std::process::ExitCode;

use serde::Serialize;

/// A line for people or for a pipe. A reader that has gone away is no error.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// A value as JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    line(&serde_json::to_string_pretty(value)?);
    Ok(())
}

/// A value as JSON on one line, for a program that goes on printing.
pub(crate) fn json_line<T: Serialize>(value: &T) -> anyhow::Result<()> {
    line(&serde_json::to_string(value)?);
    Ok(())
}

/// Something worth knowing that is not the result.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// One sentence about what went wrong, and the code to exit with.
pub(crate) fn failed(words: &str, code: u8) -> ExitCode {
    eprintln!("switchhook: {words}");
    ExitCode::from(code)
}

/// Rows under a heading, the columns as wide as they need to be.
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
