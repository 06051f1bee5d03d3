//! Shows a live call on a terminal.

use std::io::IsTerminal as _;

use serde_json::Value;

use super::output;

/// The terminal output; disabled for `--json`.
pub(super) struct Screen {
    shown: bool,
    colours: bool,
}

impl Screen {
    /// Disables output for `--json`.
    pub(super) fn new(json: bool) -> Self {
        let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { shown: !json, colours }
    }

    pub(super) fn is_shown(&self) -> bool {
        self.shown
    }

    pub(super) fn line_of(&self, text: &str) {
        if self.shown {
            output::line(text);
        }
    }

    pub(super) fn paint(&self, code: &str, text: &str) -> String {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(super) fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn event(&self, event: &Value, call: &Value) {
        let name = event["event"].as_str().unwrap_or_default();
        let more = match name {
            "call.dialing" => format!("from {} to {}", text(&call["from"]), text(&call["to"])),
            "carrier.hangup" => String::new(),
            "call.completed" => text(&call["end_reason"]),
            "call.failed" => format!("{}: {}", text(&call["error_code"]), text(&call["error"])),
            _ => String::new(),
        };
        self.line_of(&self.dim(format!("  ● {name}  {more}").trim_end()));
    }

    pub(super) fn line(&self, line: &Value) {
        let caller = line["role"] == "caller";
        let who = if caller { self.paint("36", "Caller") } else { self.paint("32", " Agent") };
        let seconds = line["start_ms"].as_f64().unwrap_or_default() / 1_000.0;
        let cut = if line["interrupted"] == true { "…" } else { "" };
        let waited = match line["latency_ms"].as_u64() {
            Some(waited) => self.dim(&format!("  ({waited} ms after the caller)")),
            None => String::new(),
        };
        self.line_of(&format!("{seconds:7.1} s  {who}  {}{cut}{waited}", text(&line["text"])));
    }

    pub(super) fn field(&self, name: &str, value: &str) {
        self.line_of(&format!("{name:<10} {value}"));
    }
}

/// Returns a value's text without quotes and control characters.
pub(super) fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.replace(char::is_control, " ")
}
