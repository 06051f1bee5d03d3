//! Shows a live call on a terminal: lines in the order of time, and below them a clock that runs as long as the call.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use super::output;
use super::wrap::wrapped;

/// How often the clock moves.
const REDRAW_INTERVAL: Duration = Duration::from_millis(250);
/// Columns before the words of a transcript line.
const INDENT: usize = 19;

/// The terminal output; disabled for `--json`.
pub(super) struct Screen {
    shown: bool,
    colours: bool,
    clock: ProgressBar,
}

impl Screen {
    /// Disables output for `--json`.
    pub(super) fn new(json: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let colours = terminal && std::env::var_os("NO_COLOR").is_none();
        let clock = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if terminal && !json {
            clock.set_draw_target(ProgressDrawTarget::stdout());
        }
        let style = ProgressStyle::with_template("  {elapsed_precise}  {msg}");
        clock.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { shown: !json, colours, clock }
    }

    pub(super) fn is_shown(&self) -> bool {
        self.shown
    }

    pub(super) fn line_of(&self, text: &str) {
        if self.shown {
            self.clock.suspend(|| output::line(&wrapped(text, width(), 0)));
        }
    }

    pub(super) fn paint(&self, code: &str, text: &str) -> String {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(super) fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Starts the clock, which `state` stands beside.
    pub(super) fn start_clock(&self, state: &str) {
        if !self.clock.is_hidden() {
            self.clock.reset_elapsed();
            self.clock.set_message(state.to_owned());
            self.clock.enable_steady_tick(REDRAW_INTERVAL);
        }
    }

    /// Removes the clock.
    pub(super) fn stop_clock(&self) {
        self.clock.disable_steady_tick();
        self.clock.finish_and_clear();
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
        match name {
            "call.queued" | "call.received" => self.start_clock("waiting"),
            "call.dialing" => self.start_clock("ringing"),
            // The times of transcript lines count from here.
            "call.in_progress" => self.start_clock("on the phone"),
            "carrier.hangup" | "call.completed" | "call.failed" => self.stop_clock(),
            _ => {}
        }
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
        let words = format!("{seconds:7.1} s  {who}  {}{cut}{waited}", text(&line["text"]));
        if self.shown {
            self.clock.suspend(|| output::line(&wrapped(&words, width(), INDENT)));
        }
    }

    pub(super) fn field(&self, name: &str, value: &str) {
        if self.shown {
            self.clock.suspend(|| output::line(&wrapped(&format!("{name:<10} {value}"), width(), 11)));
        }
    }

    /// A line that must not be broken, such as a picture.
    pub(super) fn unbroken(&self, name: &str, value: &str) {
        if self.shown {
            self.clock.suspend(|| output::line(&format!("{name:<10} {value}")));
        }
    }
}

/// Columns of the terminal; `None` where a file or a program reads.
fn width() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.size_checked().filter(|_| terminal.is_term()).map(|(_, columns)| columns.into())
}

/// Transcript lines that were not shown before, in the order in which they began. A line that has just been written waits for the next
/// look, so that one that began earlier and was written later comes before it.
#[derive(Default)]
pub(super) struct LinesInOrder {
    /// How many were written at the last look, and how many of them are shown.
    seen: usize,
    shown: Vec<bool>,
}

impl LinesInOrder {
    /// Returns what to show of all `lines`; at the `end` of a call everything that is left.
    pub(super) fn due<'a>(&mut self, lines: &'a [Value], end: bool) -> Vec<&'a Value> {
        self.shown.resize(lines.len().max(self.shown.len()), false);
        let settled = if end { lines.len() } else { self.seen.min(lines.len()) };
        // What waits may have begun before what is settled.
        let fresh = lines.iter().skip(settled).map(|line| &line["start_ms"]).filter_map(Value::as_i64).min();
        let mut due: Vec<(usize, &Value)> = lines.iter().enumerate().filter(|(at, _)| !self.shown[*at]).collect();
        due.sort_by_key(|(at, line)| (line["start_ms"].as_i64(), *at));
        due.retain(|(at, line)| *at < settled && (end || fresh.is_none() || line["start_ms"].as_i64() <= fresh));
        due.iter().for_each(|(at, _)| self.shown[*at] = true);
        self.seen = lines.len();
        due.into_iter().map(|(_, line)| line).collect()
    }
}

/// Returns a value's text without quotes and control characters.
pub(super) fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    output::plain(&text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_shown_once_in_the_order_in_which_they_began() {
        let line = |start: i64| json!({ "start_ms": start });
        let starts = |due: Vec<&Value>| due.iter().filter_map(|line| line["start_ms"].as_i64()).collect::<Vec<_>>();
        let mut order = LinesInOrder::default();
        let mut lines = vec![line(0)];
        assert_eq!(starts(order.due(&lines, false)), Vec::<i64>::new(), "it was just written");
        assert_eq!(starts(order.due(&lines, false)), [0]);
        // The caller says "mhm" while the agent talks: the agent's line is written later and began earlier.
        lines.push(line(5_000));
        assert_eq!(starts(order.due(&lines, false)), Vec::<i64>::new());
        lines.push(line(3_000));
        assert_eq!(starts(order.due(&lines, false)), Vec::<i64>::new(), "an earlier one waits");
        assert_eq!(starts(order.due(&lines, false)), [3_000, 5_000]);
        lines.extend([line(9_000), line(8_000)]);
        assert_eq!(starts(order.due(&lines, true)), [8_000, 9_000], "everything at the end");
        assert_eq!(starts(order.due(&lines, true)), Vec::<i64>::new());
    }
}
