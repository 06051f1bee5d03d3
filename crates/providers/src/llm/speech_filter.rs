//! Filters out model output that is not for the caller: reasoning, tool calls however they are written, and template markers.
//! Servers should remove them, and do so for models they know.

mod marks;
mod react;
mod unmarked;

use switchhook_core::conversation::ToolCall;

use self::marks::{BARE_REASONING, BARE_STARTS, BEGIN_MARKS, END_OF_REASONING, Kind, Mark, REASONING, Start};
use self::react::Line;
use self::unmarked::Unmarked;
use super::written_calls::{WrittenCalls, unreadable};

/// Removes unspoken text from a response, however it is split into pieces.
#[derive(Default)]
pub(super) struct SpeechFilter {
    /// The tools that may be called.
    tools: Vec<String>,
    inside: Option<&'static Mark>,
    /// Text that may turn out to be the beginning of a mark or of a call.
    held: String,
    /// Whether that cannot be speech.
    certain: bool,
    /// The character before it.
    before: Option<char>,
    /// Text inside the current mark so far.
    inner: String,
    /// Whether anything but whitespace was written.
    begun: bool,
    calls: Vec<ToolCall>,
    /// Calls that cannot be read.
    unreadable: Vec<ToolCall>,
    /// Whether the response is taken to begin with reasoning, and that has not ended.
    assumed: bool,
    /// Whether the response began with reasoning, if that showed.
    begins_with_reasoning: Option<bool>,
}

/// The calls in a response.
pub(super) struct Written {
    /// Those to make.
    pub(super) calls: Vec<ToolCall>,
    /// Those that cannot be read; their tools refuse them with a message for the model.
    pub(super) unreadable: Vec<ToolCall>,
}

impl SpeechFilter {
    /// Creates the filter for a request with these tools; `reasons` if the model's responses begin with reasoning whose opening mark is
    /// part of the prompt.
    pub(super) fn new(tools: Vec<String>, reasons: bool) -> Self {
        Self { tools, inside: reasons.then_some(REASONING), assumed: reasons, ..Self::default() }
    }

    /// Returns whether the response began with reasoning without its opening mark; `None` if that did not show.
    pub(super) fn begins_with_reasoning(&self) -> Option<bool> {
        self.begins_with_reasoning
    }

    /// Takes more text. Returns the part that can be spoken now.
    pub(super) fn spoken(&mut self, text: &str) -> String {
        self.held.push_str(text);
        self.advance(false)
    }

    /// Returns the text held back, once nothing follows. Reasoning that was assumed and did not end was speech, unless the response was
    /// cut off.
    pub(super) fn rest(&mut self, cut: bool) -> String {
        let mut spoken = self.advance(true);
        let Some(mark) = self.inside.take() else { return spoken };
        let bare = std::ptr::eq(mark, BARE_REASONING);
        let assumed = std::mem::take(&mut self.assumed);
        if (assumed || bare) && !cut && !self.inner.trim().is_empty() {
            self.begins_with_reasoning = assumed.then_some(false);
            let word = if bare { BARE_REASONING.0 } else { "" };
            self.held = format!("{word}{}", std::mem::take(&mut self.inner));
            self.begun = true;
            spoken.push_str(&self.advance(true));
        } else {
            spoken.push_str(&self.close(mark));
        }
        spoken
    }

    /// Returns the calls that were written.
    pub(super) fn calls(&mut self) -> Written {
        Written { calls: std::mem::take(&mut self.calls), unreadable: std::mem::take(&mut self.unreadable) }
    }

    /// Returns whether a call was written, or began to be.
    pub(super) fn has_calls(&self) -> bool {
        let open = self.certain || self.inside.is_some_and(|mark| mark.2 == Kind::Call);
        open || !self.unreadable.is_empty() || !self.calls.is_empty()
    }

    /// Handles the text held back as far as it shows what it is; all of it once it has `ended`. Returns the part that is spoken.
    fn advance(&mut self, ended: bool) -> String {
        let held = std::mem::take(&mut self.held);
        let lower = held.to_ascii_lowercase();
        let (mut spoken, mut at) = (String::new(), 0);
        self.certain = false;
        while let Some(Found { begins, ends, what }) = self.next(&held, &lower, at, ended) {
            self.pass(&held[at..begins], &mut spoken);
            match what {
                What::Open { certain } => {
                    self.certain = certain;
                    held[begins..].clone_into(&mut self.held);
                    self.before = held[..begins].chars().next_back().or(self.before);
                    return spoken;
                }
                What::Calls(calls) => self.take_calls(calls, &held[begins..ends]),
                What::Mark(opens) => spoken.push_str(&self.take_mark(opens)),
            }
            self.begun = true;
            at = ends;
        }
        self.pass(&held[at..], &mut spoken);
        self.before = held.chars().next_back().or(self.before);
        spoken
    }

    /// Finds the next mark or call at or after `at`.
    fn next(&self, held: &str, lower: &str, at: usize, ended: bool) -> Option<Found> {
        let mut before = held[..at].chars().next_back().or(self.before);
        let mut begun = self.begun;
        for (offset, c) in held[at..].char_indices() {
            let begins = at + offset;
            let found = match self.inside {
                Some(mark) => Found::of_mark(marks::closing(&lower[begins..], mark), begins),
                None => self.starting(&held[begins..], &lower[begins..], begins, c, before, begun),
            };
            match found {
                Some(Found { what: What::Open { certain }, .. }) if ended => {
                    if let Some(calls) = self.at_end(&held[begins..], certain) {
                        return Some(Found { begins, ends: held.len(), what: What::Calls(calls) });
                    }
                }
                Some(found) => return Some(found),
                None => {}
            }
            before = Some(c);
            begun |= !c.is_whitespace();
        }
        None
    }

    /// Returns what starts with the character `c` outside of marks.
    fn starting(
        &self,
        text: &str,
        lower: &str,
        begins: usize,
        c: char,
        before: Option<char>,
        begun: bool,
    ) -> Option<Found> {
        if !begun && let Some(found) = bare_channel(text, begins) {
            return Some(found);
        }
        if !self.tools.is_empty() && before.is_none_or(|before| before == '\n') {
            match react::line(text, &self.tools) {
                Line::None => {}
                Line::Cut => return Found::of_mark(Start::Cut, begins),
                Line::Label(length, opens) => return Found::of_mark(Start::Mark(length, opens), begins),
                Line::Call(call) => return Found::of_call(call, begins),
            }
        }
        let mark = if BEGIN_MARKS.contains(&c.to_ascii_lowercase()) { marks::opening(lower) } else { Start::None };
        let mark = Found::of_mark(mark, begins);
        if mark.as_ref().is_some_and(|found| matches!(found.what, What::Mark(_))) {
            return mark;
        }
        let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let may_begin = matches!(c, '{' | '[' | '`' | '<')
            || ((c.is_ascii_alphabetic() || c == '_') && !before.is_some_and(in_word));
        if self.tools.is_empty() || !may_begin {
            return mark;
        }
        Found::of_call(unmarked::read(text, &self.tools), begins).or(mark)
    }

    /// Returns the calls that a response ends with, if its last text began like some.
    fn at_end(&self, text: &str, certain: bool) -> Option<WrittenCalls> {
        let ended = || react::at_end(text, &self.tools);
        unmarked::unclosed_fence(text, &self.tools).or_else(ended).or_else(|| certain.then(WrittenCalls::none))
    }

    /// Handles a mark. Returns the part of the text before it that is spoken.
    fn take_mark(&mut self, opens: Option<&'static Mark>) -> String {
        let mut spoken = String::new();
        match self.inside.take() {
            None if opens.is_some_and(|mark| mark.0 == END_OF_REASONING) => self.begins_with_reasoning = Some(true),
            None => {}
            Some(mark) => {
                if std::mem::take(&mut self.assumed) {
                    self.begins_with_reasoning = Some(true);
                }
                spoken = self.close(mark);
            }
        }
        self.inside = opens.filter(|mark| mark.2 != Kind::Alone);
        spoken
    }

    /// Forwards text as speech, or collects it if it is inside a mark.
    fn pass(&mut self, text: &str, spoken: &mut String) {
        self.begun |= !text.trim_start().is_empty();
        if self.inside.is_some() { self.inner.push_str(text) } else { spoken.push_str(text) }
    }

    /// Closes `mark`. Returns the part of its text that is spoken.
    fn close(&mut self, mark: &Mark) -> String {
        let inner = std::mem::take(&mut self.inner);
        if mark.2 != Kind::Call {
            return String::new();
        }
        // Harmony's commentary on what the model is about to do.
        if mark.0.ends_with("commentary") {
            let (to, remark) = inner.split_once("<|message|>").unwrap_or((&inner, &inner));
            if !to.contains("to=") {
                return remark.to_owned();
            }
        }
        // The mark's own text is part of the call.
        let opens = if mark.0.ends_with(['=', ' ']) { mark.0 } else { "" };
        let text = format!("{opens}{inner}");
        self.take_calls(WrittenCalls::read(&text, &self.tools), &text);
        String::new()
    }

    /// Keeps the calls in a text.
    fn take_calls(&mut self, calls: WrittenCalls, text: &str) {
        let unread = calls.is_empty() && !text.trim().is_empty() && !unmarked::is_mark(text);
        self.unreadable.extend(unread.then(|| unreadable(text, &self.tools)));
        self.calls.extend(calls.into_calls());
    }
}

/// A mark or calls in a text.
struct Found {
    begins: usize,
    ends: usize,
    what: What,
}

enum What {
    /// A mark, and what it opens.
    Mark(Option<&'static Mark>),
    /// Calls without a mark; without any if they cannot be read.
    Calls(WrittenCalls),
    /// The beginning of one of the two; whether it cannot be speech.
    Open { certain: bool },
}

impl Found {
    fn of_mark(start: Start, begins: usize) -> Option<Self> {
        match start {
            Start::None => None,
            Start::Cut => Some(Self { begins, ends: begins, what: What::Open { certain: false } }),
            Start::Mark(length, opens) => Some(Self { begins, ends: begins + length, what: What::Mark(opens) }),
        }
    }

    fn of_call(call: Unmarked, begins: usize) -> Option<Self> {
        match call {
            Unmarked::None => None,
            Unmarked::Open { certain } => Some(Self { begins, ends: begins, what: What::Open { certain } }),
            Unmarked::Calls(calls, length) => Some(Self { begins, ends: begins + length, what: What::Calls(calls) }),
        }
    }
}

/// Returns the channel that a Harmony response begins with where its special tokens were removed: `analysisThe caller…`, `finalYes.`.
fn bare_channel(text: &str, begins: usize) -> Option<Found> {
    if BARE_STARTS.iter().any(|word| word.starts_with(text)) {
        return Found::of_mark(Start::Cut, begins);
    }
    let word = BARE_STARTS.iter().find(|word| text.starts_with(**word))?;
    let behind = &text[word.len()..];
    let opens = (*word == BARE_REASONING.0).then_some(BARE_REASONING);
    let to = " to=functions.";
    if to.starts_with(behind) {
        return Found::of_mark(Start::Cut, begins);
    }
    let found = opens.is_some() || behind.starts_with(to) || behind.starts_with(char::is_uppercase);
    if found { Found::of_mark(Start::Mark(word.len(), opens), begins) } else { None }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[r##"<thi"##, r##"nk>Hm</thi"##, r##"nk>Yes: a<b. "##, r##"Bye <thi"##],
            &[r##"Let me look. <tool_"##, r##"call>{"name":"tables","arguments":{"day":1}}</tool"##, r##"_call>"##],
            &[r##"<function=tables><parameter=day>Friday</parameter></function>"##],
            &[r##"{"name":"tables","##, r##""parameters":{}}"##],
            &[r##"Yes. [tables(day="Fri"##, r##"day", people=[4, -1.5], open=True)] tables[ARGS]{"a":1}"##],
            &[
                r##"```tool_code\nprint(tables(day='Friday'))\n"##,
                r##"``` <tables day="1"><people>4</people></tables>"##,
            ],
            &[r##"Thought: Hm.\nAct"##, r##"ion: tables\nAction Input: {"day""##, r##"":1}\nFinal Answer: Yes."##],
            &[r##"analysisHm.assistantcommentary to=functions.tables json{"day":1}"##, r##"assistantfinalYes."##],
        ])
    },
    read: |messages| {
        let mut filter = SpeechFilter::new(vec!["tables".to_owned()], messages.len() % 2 == 1);
        let mut read = switchhook_fuzz::Read::each_text(messages, |text| Ok::<_, ()>(filter.spoken(text).len()));
        read.given += filter.rest(false).len() + filter.calls().calls.len();
        read
    },
};

#[cfg(test)]
mod tests;
