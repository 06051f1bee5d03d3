//! Filters out model output that is not for the caller: reasoning, tool calls in the markup of its model family, and template markers.
//! Servers should remove them, and do so for models they know.

use switchhook_core::conversation::ToolCall;

use super::written_calls::WrittenCalls;

/// The kind of text between two marks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Reasoning,
    /// Tool calls.
    Call,
    /// None: the mark stands alone.
    Alone,
}

/// A mark in lower case, and the marks that close it; without any, it lasts until the end of the response.
struct Mark(&'static str, &'static [&'static str], Kind);

/// No mark is a prefix of another one.
const MARKS: [Mark; 44] = [
    Mark("<think>", &["</think>"], Kind::Reasoning),
    Mark("<thinking>", &["</thinking>"], Kind::Reasoning),
    Mark("<thought>", &["</thought>"], Kind::Reasoning),
    Mark("<reasoning>", &["</reasoning>"], Kind::Reasoning),
    Mark("<seed:think>", &["</seed:think>"], Kind::Reasoning),
    Mark("[think]", &["[/think]"], Kind::Reasoning),
    Mark("◁think▷", &["◁/think▷"], Kind::Reasoning),
    Mark("<|begin_of_thought|>", &["<|end_of_thought|>"], Kind::Reasoning),
    Mark("<|start_thinking|>", &["<|end_thinking|>"], Kind::Reasoning),
    Mark("<|channel>", &["<channel|>"], Kind::Reasoning),
    // Harmony.
    Mark("<|channel|>analysis", &["<|end|>", "<|start|>"], Kind::Reasoning),
    Mark("<|channel|>commentary", &["<|call|>", "<|end|>", "<|start|>"], Kind::Call),
    Mark("to=functions.", &["<|call|>", "<|end|>", "<|start|>"], Kind::Call),
    Mark("<tool_call>", &["</tool_call>"], Kind::Call),
    Mark("<tool_calls>", &["</tool_calls>"], Kind::Call),
    Mark("<toolcall>", &["</toolcall>"], Kind::Call),
    Mark("<function_call>", &["</function_call>"], Kind::Call),
    Mark("<function_calls>", &["</function_calls>"], Kind::Call),
    Mark("<functioncall>", &["</functioncall>", "<|endoftext|>"], Kind::Call),
    Mark("<function=", &["</function>"], Kind::Call),
    Mark("<invoke ", &["</invoke>"], Kind::Call),
    Mark("<minimax:tool_call>", &["</minimax:tool_call>"], Kind::Call),
    Mark("<|tool_call>", &["<tool_call|>"], Kind::Call),
    Mark("<|tool_call|>", &["<|/tool_call|>", "<|end_of_text|>"], Kind::Call),
    Mark("<|tool_call_start|>", &["<|tool_call_end|>"], Kind::Call),
    Mark("<|tool_calls_section_begin|>", &["<|tool_calls_section_end|>"], Kind::Call),
    Mark("<|start_action|>", &["<|end_action|>"], Kind::Call),
    Mark("<｜tool▁calls▁begin｜>", &["<｜tool▁calls▁end｜>"], Kind::Call),
    Mark("<｜tool▁call▁begin｜>", &["<｜tool▁call▁end｜>"], Kind::Call),
    Mark("<｜dsml｜function_calls>", &["</｜dsml｜function_calls>"], Kind::Call),
    Mark("[tool_calls]", &["</s>"], Kind::Call),
    Mark("<|python_tag|>", &["<|eom_id|>", "<|eot_id|>"], Kind::Call),
    Mark("<|channel|>final", &[], Kind::Alone),
    Mark("<|start|>assistant", &[], Kind::Alone),
    Mark("<|message|>", &[], Kind::Alone),
    Mark("<|end|>", &[], Kind::Alone),
    Mark("<|return|>", &[], Kind::Alone),
    Mark("<|im_start|>assistant", &[], Kind::Alone),
    Mark("<|im_end|>", &[], Kind::Alone),
    Mark("<|eot_id|>", &[], Kind::Alone),
    Mark("<|endoftext|>", &[], Kind::Alone),
    Mark("<end_of_turn>", &[], Kind::Alone),
    Mark("</think>", &[], Kind::Alone),
    Mark("</tool_call>", &[], Kind::Alone),
];
/// The mark that a response is within if it begins with reasoning, and the one that ends it.
const REASONING: &Mark = &MARKS[0];
const END_OF_REASONING: &str = "</think>";
/// First characters of marks and of those that close them.
const BEGIN_MARKS: [char; 4] = ['<', '[', '◁', 't'];
/// A response that begins like this is a tool call without a mark, or not speech.
const BARE: [&str; 3] = ["{", "[{", "```"];

/// Removes unspoken text from a response, however it is split into pieces.
#[derive(Default)]
pub(super) struct SpeechFilter {
    /// The tools that may be called.
    tools: Vec<String>,
    inside: Option<&'static Mark>,
    /// Text that may turn out to be the beginning of a mark.
    held: String,
    /// Text inside the current mark so far.
    inner: String,
    /// Whether anything but whitespace was written.
    begun: bool,
    /// Whether the response began like a tool call without a mark.
    bare: bool,
    calls: Vec<ToolCall>,
    /// Whether there was an unreadable call.
    unreadable: bool,
    /// Whether the response is taken to begin with reasoning, and that has not ended.
    assumed: bool,
    /// Whether the response began with reasoning, if that showed.
    begins_with_reasoning: Option<bool>,
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
        if self.may_be_bare() {
            return String::new();
        }
        let held = std::mem::take(&mut self.held);
        let lower = held.to_ascii_lowercase();
        let (mut spoken, mut at) = (String::new(), 0);
        while let Some(Found { begins, ends, opens }) = self.next_mark(&lower, at) {
            self.pass(&held[at..begins], &mut spoken);
            match self.inside.take() {
                None => {
                    if opens.is_some_and(|mark| mark.0 == END_OF_REASONING) {
                        self.begins_with_reasoning = Some(true);
                    }
                    self.inside = opens.filter(|mark| mark.2 != Kind::Alone);
                }
                Some(mark) => {
                    if std::mem::take(&mut self.assumed) {
                        self.begins_with_reasoning = Some(true);
                    }
                    spoken.push_str(&self.close(mark));
                }
            }
            at = ends;
        }
        let ready = held.len() - self.beginning_at_end(&lower[at..]);
        self.pass(&held[at..ready], &mut spoken);
        held[ready..].clone_into(&mut self.held);
        spoken
    }

    /// Returns the text held back, once nothing follows. Reasoning that was assumed and did not end was speech, unless the response was
    /// cut off.
    pub(super) fn rest(&mut self, cut: bool) -> String {
        if std::mem::take(&mut self.bare) {
            let calls = WrittenCalls::read(&self.held, &self.tools);
            if calls.all_known(&self.tools) {
                self.held.clear();
                self.calls.extend(calls.into_calls());
            }
            return std::mem::take(&mut self.held);
        }
        let held = std::mem::take(&mut self.held);
        match self.inside.take() {
            None => held,
            Some(mark) => {
                self.inner.push_str(&held);
                if std::mem::take(&mut self.assumed) && !cut && !self.inner.trim().is_empty() {
                    self.begins_with_reasoning = Some(false);
                    return std::mem::take(&mut self.inner);
                }
                self.close(mark)
            }
        }
    }

    /// Returns the calls that were written; `None` if one of them cannot be read.
    pub(super) fn calls(&mut self) -> Option<Vec<ToolCall>> {
        let calls = std::mem::take(&mut self.calls);
        (!self.unreadable).then_some(calls)
    }

    /// Returns whether a call was written, or began to be.
    pub(super) fn has_calls(&self) -> bool {
        self.unreadable || !self.calls.is_empty() || self.inside.is_some_and(|mark| mark.2 == Kind::Call)
    }

    /// Returns whether the response may be a call without a mark, which is certain only at its end.
    fn may_be_bare(&mut self) -> bool {
        if !self.begun && self.inside.is_none() && !self.tools.is_empty() {
            let text = self.held.trim_start();
            if text.is_empty() {
                return false;
            }
            self.bare = BARE.iter().any(|begins| text.starts_with(begins));
            // A bracket alone may become one.
            if !self.bare && BARE.iter().any(|begins| begins.starts_with(text)) {
                return true;
            }
        }
        self.begun |= !self.held.trim_start().is_empty();
        self.bare
    }

    /// Returns the next relevant mark at or after `at`.
    fn next_mark(&self, text: &str, at: usize) -> Option<Found> {
        match self.inside {
            None => first(text, at, MARKS.iter().map(|mark| (mark.0, Some(mark)))),
            Some(mark) => first(text, at, mark.1.iter().map(|close| (*close, None))),
        }
    }

    /// Passes on text as speech, or collects it if it is inside a mark.
    fn pass(&mut self, text: &str, spoken: &mut String) {
        if self.inside.is_some() { self.inner.push_str(text) } else { spoken.push_str(text) }
    }

    /// Closes `mark`. Returns the part of its text that is spoken.
    fn close(&mut self, mark: &Mark) -> String {
        let inner = std::mem::take(&mut self.inner);
        if mark.2 != Kind::Call {
            return String::new();
        }
        // Harmony's commentary on what the model is about to do.
        let remark =
            inner.split_once("<|message|>").filter(|(to, _)| mark.0.ends_with("commentary") && !to.contains("to="));
        if let Some((_, remark)) = remark {
            return remark.to_owned();
        }
        // The mark's own text is part of the call.
        let opens = if mark.0.ends_with(['=', ' ']) { mark.0 } else { "" };
        let calls = WrittenCalls::read(&format!("{opens}{inner}"), &self.tools);
        self.unreadable |= calls.is_empty();
        self.calls.extend(calls.into_calls());
        String::new()
    }

    /// Returns how many bytes at the end of `text` could be the beginning of a relevant mark.
    fn beginning_at_end(&self, text: &str) -> usize {
        let longest = |mark: &str| {
            let cuts = mark.char_indices().map(|(at, _)| at).skip(1);
            cuts.filter(|length| text.ends_with(&mark[..*length])).max().unwrap_or(0)
        };
        match self.inside {
            None => MARKS.iter().map(|mark| longest(mark.0)).max().unwrap_or(0),
            Some(mark) => mark.1.iter().map(|close| longest(close)).max().unwrap_or(0),
        }
    }
}

/// A mark found in a text: its start, its end, and what it opens.
struct Found {
    begins: usize,
    ends: usize,
    opens: Option<&'static Mark>,
}

/// Returns the first of these marks at or after `at`. Reads the text once, regardless of the number of marks.
fn first<'m>(
    text: &str,
    at: usize,
    marks: impl Iterator<Item = (&'m str, Option<&'static Mark>)> + Clone,
) -> Option<Found> {
    let mut places = text[at..].match_indices(BEGIN_MARKS).map(|(place, _)| at + place);
    let found = |begins: usize| {
        let (mark, opens) = marks.clone().find(|(mark, _)| text[begins..].starts_with(mark))?;
        Some(Found { begins, ends: begins + mark.len(), opens })
    };
    places.find_map(found)
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
        ])
    },
    read: |messages| {
        let mut filter = SpeechFilter::new(vec!["tables".to_owned()], messages.len() % 2 == 1);
        let mut read = switchhook_fuzz::Read::each_text(messages, |text| Ok::<_, ()>(filter.spoken(text).len()));
        read.given += filter.rest(false).len() + filter.calls().map_or(0, |calls| calls.len());
        read
    },
};

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the speech and the calls in a text that arrives in pieces of `step` characters.
    fn cut(text: &str, step: usize) -> (String, Option<Vec<(String, Value)>>) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let cuts: Vec<usize> = places.iter().copied().step_by(step).chain([text.len()]).collect();
        let mut filter = SpeechFilter::new(vec!["tables".to_owned(), "hours".to_owned()], false);
        let mut spoken = String::new();
        for cut in cuts.windows(2) {
            spoken.push_str(&filter.spoken(&text[cut[0]..cut[1]]));
        }
        spoken.push_str(&filter.rest(false));
        let calls = filter.calls().map(|calls| calls.into_iter().map(|call| (call.name, call.arguments)).collect());
        (spoken, calls)
    }

    #[test]
    fn no_mark_begins_with_another_and_all_are_lower_case() {
        for (at, mark) in MARKS.iter().enumerate() {
            assert_eq!(mark.0, mark.0.to_ascii_lowercase());
            let others = MARKS.iter().enumerate().filter(|(other, _)| *other != at);
            assert!(others.into_iter().all(|(_, other)| !mark.0.starts_with(other.0)), "{}", mark.0);
            assert!([mark.0].iter().chain(mark.1).all(|mark| mark.starts_with(BEGIN_MARKS)), "{}", mark.0);
        }
    }

    #[test]
    fn reasoning_is_left_out_however_it_is_cut() {
        let harmony =
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>";
        for (text, expected) in [
            ("<think>3 < 4\u{e9}</thin></think>Yes: a<b. <think>more</think>Bye <thi", "Yes: a<b. Bye <thi"),
            ("<Thinking>Hm</THINKING>Yes.", "Yes."),
            ("[THINK]Hm[/THINK]Yes.", "Yes."),
            ("◁think▷Hm◁/think▷Yes.", "Yes."),
            ("<|channel>thought\nHm<channel|>Yes.", "Yes."),
            (harmony, "Yes."),
            ("Yes.<|im_end|>", "Yes."),
            ("[1] is < 2 and [t", "[1] is < 2 and [t"),
        ] {
            for step in 1..text.chars().count() {
                let (spoken, calls) = cut(text, step);
                assert_eq!((spoken.as_str(), calls), (expected, Some(Vec::new())), "in pieces of {step} characters");
            }
        }
    }

    #[test]
    fn reasoning_whose_opening_mark_is_in_the_prompt_is_left_out_once_that_is_known() {
        // What is said of the model before, its response, whether that was cut off, the speech, and what it shows of the model.
        for (reasons, text, cut, spoken, shown) in [
            (false, "Hm.</think>Yes.", false, "Hm.Yes.", Some(true)),
            (true, "Hm.</think>Yes.", false, "Yes.", Some(true)),
            (true, "<think>Hm.</think>Yes. <think>Hm.</think>Bye.", false, "Yes. Bye.", Some(true)),
            (true, "Yes.", false, "Yes.", Some(false)),
            (true, "Hm, hm", true, "", None),
            (true, "", false, "", None),
            (false, "<think>Hm.</think>Yes.", false, "Yes.", None),
        ] {
            for step in 1..=text.len().max(1) {
                let mut filter = SpeechFilter::new(vec!["tables".to_owned()], reasons);
                let pieces = text.as_bytes().chunks(step).map(|piece| std::str::from_utf8(piece).expect("ASCII"));
                let mut given: String = pieces.map(|piece| filter.spoken(piece)).collect();
                given.push_str(&filter.rest(cut));
                assert_eq!(
                    (given.as_str(), filter.begins_with_reasoning()),
                    (spoken, shown),
                    "{reasons} {text} {step}"
                );
            }
        }
    }

    #[test]
    fn calls_of_every_family_are_made_and_not_spoken() {
        let friday = json!({ "day": "Friday" });
        for text in [
            "<tool_call>\n{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}\n</tool_call>",
            "<tool_call>{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}",
            "<tool_call>{\"name\": \"tables\", \"arguments\": \"{\\\"day\\\": \\\"Friday\\\"}\"}</tool_call>",
            "<function_call>{\"name\": \"tables\", \"parameters\": {\"day\": \"Friday\"}}</function_call>",
            "<tool_call>\n<function=tables>\n<parameter=day>\nFriday\n</parameter>\n</function>\n</tool_call>",
            "<tool_call>tables\n<arg_key>day</arg_key>\n<arg_value>Friday</arg_value>\n</tool_call>",
            "<function=tables>{\"day\": \"Friday\"}</function>",
            "<function_calls><invoke name=\"tables\"><parameter name=\"day\">Friday</parameter></invoke></function_calls>",
            "[TOOL_CALLS][{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}]",
            "[TOOL_CALLS]tables[CALL_ID]abc123[ARGS]{\"day\": \"Friday\"}</s>",
            "<|python_tag|>{\"type\": \"function\", \"name\": \"tables\", \"parameters\": {\"day\": \"Friday\"}}<|eom_id|>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>tables\n```json\n{\"day\": \"Friday\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tables<｜tool▁sep｜>{\"day\": \"Friday\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.tables:0<|tool_call_argument_begin|>{\"day\": \"Friday\"}<|tool_call_end|><|tool_calls_section_end|>",
            "<|channel|>commentary to=functions.tables <|constrain|>json<|message|>{\"day\":\"Friday\"}<|call|>",
            " to=functions.tables<|channel|>commentary json<|message|>{\"day\":\"Friday\"}<|call|>",
            "{\"name\": \"tables\", \"parameters\": {\"day\": \"Friday\"}}",
            "```json\n[{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}]\n```",
        ] {
            for step in [1, 3, 7, 400] {
                let (spoken, calls) = cut(text, step);
                let expected = vec![("tables".to_owned(), friday.clone())];
                assert_eq!((spoken.trim(), calls), ("", Some(expected)), "{text}");
            }
        }
    }

    #[test]
    fn several_calls_stay_several_and_speech_around_them_is_spoken() {
        let text = "Let me look. <tool_call>{\"name\":\"tables\",\"arguments\":{\"day\":1}}</tool_call>\
                    <tool_call>{\"name\":\"hours\",\"arguments\":{}}</tool_call>";
        let expected = vec![("tables".to_owned(), json!({ "day": 1 })), ("hours".to_owned(), json!({}))];
        assert_eq!(cut(text, 5), ("Let me look. ".to_owned(), Some(expected)));
        let remark = "<|channel|>commentary<|message|>Let me look.<|end|>";
        assert_eq!(cut(remark, 4), ("Let me look.".to_owned(), Some(Vec::new())));
    }

    /// Quadratic time would take hours here.
    #[test]
    fn many_marks_and_brackets_are_read_in_one_pass() {
        for (text, spoken) in [
            ("<|end|>".repeat(100_000), ""),
            ("<think></think>".repeat(100_000), ""),
            (format!("Yes.<tool_call>{}", "[".repeat(1_000_000)), "Yes."),
            (format!("Yes.<tool_call>{}", "</function>".repeat(100_000)), "Yes."),
        ] {
            assert_eq!(cut(&text, text.len()).0, spoken, "{}", &text[..30]);
        }
    }

    #[test]
    fn half_a_call_is_not_made_and_other_json_is_no_call() {
        for text in [
            "<tool_call>{\"name\":\"tables\",\"arguments\":{\"day\":\"Fri",
            "<tool_call>{\"name\":\"tables\",\"argum</tool_call>",
            "<|tool_call_start|>[tables(day=\"Friday\")]<|tool_call_end|>",
        ] {
            assert_eq!(cut(text, 4), (String::new(), None), "{text}");
        }
        for text in ["{\"name\":\"Ann\",\"arguments\":1}", "[1] is free.", "{\"summary\":\"x\"}"] {
            assert_eq!(cut(text, 2), (text.to_owned(), Some(Vec::new())));
        }
    }
}
