//! The marks that model families put around what is not for the caller.

/// The kind of text between two marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Reasoning,
    /// Tool calls.
    Call,
    /// None: the mark stands alone.
    Alone,
}

/// A mark in lower case, and the marks that close it; without any, it lasts until the end of the response. One that closes it may open the
/// next text.
pub(super) struct Mark(pub(super) &'static str, pub(super) &'static [&'static str], pub(super) Kind);

/// The channels of a Harmony response without its special tokens.
const BARE_CHANNELS: &[&str] = &["assistantfinal", "assistantcommentary", "assistantanalysis"];

/// No mark is a prefix of another one.
pub(super) const MARKS: &[Mark] = &[
    Mark("<think>", &["</think>"], Kind::Reasoning),
    Mark("<thinking>", &["</thinking>"], Kind::Reasoning),
    Mark("<thought>", &["</thought>"], Kind::Reasoning),
    Mark("<reasoning>", &["</reasoning>"], Kind::Reasoning),
    Mark("<reflection>", &["</reflection>"], Kind::Reasoning),
    Mark("<scratchpad>", &["</scratchpad>"], Kind::Reasoning),
    Mark("<seed:think>", &["</seed:think>"], Kind::Reasoning),
    Mark("[think]", &["[/think]"], Kind::Reasoning),
    Mark("◁think▷", &["◁/think▷"], Kind::Reasoning),
    Mark("<|begin_of_thought|>", &["<|end_of_thought|>"], Kind::Reasoning),
    Mark("<|start_thinking|>", &["<|end_thinking|>"], Kind::Reasoning),
    Mark("<|channel>", &["<channel|>"], Kind::Reasoning),
    // Harmony, as it is and without its special tokens.
    Mark("<|channel|>analysis", &["<|end|>", "<|start|>assistant", "<|start|>"], Kind::Reasoning),
    Mark("<|channel|>commentary", &["<|call|>", "<|end|>", "<|start|>assistant", "<|start|>"], Kind::Call),
    Mark("to=functions.", &["<|call|>", "<|end|>", "<|start|>assistant", "<|start|>", "assistantfinal"], Kind::Call),
    Mark("assistantanalysis", BARE_CHANNELS, Kind::Reasoning),
    Mark("assistantcommentary", BARE_CHANNELS, Kind::Call),
    Mark("assistantfinal", &[], Kind::Alone),
    Mark("<tool_call>", &["</tool_call>"], Kind::Call),
    Mark("<tool_calls>", &["</tool_calls>"], Kind::Call),
    Mark("<tool_use>", &["</tool_use>"], Kind::Call),
    Mark("<tool_code>", &["</tool_code>"], Kind::Call),
    Mark("<toolcall>", &["</toolcall>"], Kind::Call),
    Mark("<tools>", &["</tools>"], Kind::Call),
    Mark("<tool>", &["</tool>"], Kind::Call),
    Mark("<tool name=", &["</tool>"], Kind::Call),
    Mark("<call>", &["</call>"], Kind::Call),
    Mark("<call name=", &["</call>"], Kind::Call),
    Mark("<function_call>", &["</function_call>"], Kind::Call),
    Mark("<function_calls>", &["</function_calls>"], Kind::Call),
    Mark("<functioncall>", &["</functioncall>", "<|endoftext|>"], Kind::Call),
    Mark("<function>", &["</function>"], Kind::Call),
    Mark("<function=", &["</function>"], Kind::Call),
    Mark("<function name=", &["</function>"], Kind::Call),
    Mark("<invoke ", &["</invoke>"], Kind::Call),
    Mark("<minimax:tool_call>", &["</minimax:tool_call>"], Kind::Call),
    Mark("<|tool_call>", &["<tool_call|>"], Kind::Call),
    Mark("<|tool_call|>", &["<|/tool_call|>", "<|end_of_text|>"], Kind::Call),
    Mark("<|tool_call_start|>", &["<|tool_call_end|>"], Kind::Call),
    Mark("<|tool_calls_section_begin|>", &["<|tool_calls_section_end|>"], Kind::Call),
    Mark("<|tool_call_begin|>", &["<|tool_call_end|>"], Kind::Call),
    Mark("<|start_action|>", &["<|end_action|>"], Kind::Call),
    Mark("<｜tool▁calls▁begin｜>", &["<｜tool▁calls▁end｜>"], Kind::Call),
    Mark("<｜tool▁call▁begin｜>", &["<｜tool▁call▁end｜>"], Kind::Call),
    Mark("<｜dsml｜function_calls>", &["</｜dsml｜function_calls>"], Kind::Call),
    Mark("[tool_calls]", &["</s>"], Kind::Call),
    Mark("<|python_tag|>", &["<|eom_id|>", "<|eot_id|>"], Kind::Call),
    // Another turn that the model makes up.
    Mark("<|im_start|>user", &["<|im_start|>assistant"], Kind::Reasoning),
    Mark("<start_of_turn>user", &["<start_of_turn>model"], Kind::Reasoning),
    Mark("<|channel|>final", &[], Kind::Alone),
    Mark("<|start|>assistant", &[], Kind::Alone),
    Mark("<|im_start|>assistant", &[], Kind::Alone),
    Mark("<|start_header_id|>assistant", &[], Kind::Alone),
    Mark("<start_of_turn>model", &[], Kind::Alone),
    Mark("<end_of_turn>", &[], Kind::Alone),
    Mark("<answer>", &[], Kind::Alone),
    Mark("</answer>", &[], Kind::Alone),
    Mark("<final_answer>", &[], Kind::Alone),
    Mark("</final_answer>", &[], Kind::Alone),
    Mark("<s>", &[], Kind::Alone),
    Mark("</s>", &[], Kind::Alone),
    Mark("<bos>", &[], Kind::Alone),
    Mark("<eos>", &[], Kind::Alone),
    Mark("<pad>", &[], Kind::Alone),
    Mark("[inst]", &[], Kind::Alone),
    Mark("[/inst]", &[], Kind::Alone),
    Mark("</think>", &[], Kind::Alone),
    Mark("</tool_call>", &[], Kind::Alone),
];
/// The mark that a response is within if it begins with reasoning, and the one that ends it.
pub(super) const REASONING: &Mark = &MARKS[0];
pub(super) const END_OF_REASONING: &str = "</think>";
/// The channel that a Harmony response without its special tokens begins with.
pub(super) const BARE_REASONING: &Mark = &Mark("analysis", BARE_CHANNELS, Kind::Reasoning);
pub(super) const BARE_STARTS: [&str; 3] = [BARE_REASONING.0, "commentary", "final"];
/// First characters of marks and of those that close them.
pub(super) const BEGIN_MARKS: [char; 5] = ['<', '[', '◁', 't', 'a'];

/// The longest special token, such as `<|end_of_text|>`, in bytes.
const LONGEST_TOKEN: usize = 64;

/// A mark at the start of a text.
pub(super) enum Start {
    /// Some other text.
    None,
    /// It may become one.
    Cut,
    /// A mark of this length, and what it opens.
    Mark(usize, Option<&'static Mark>),
}

/// Finds the mark at the start of a text in lower case.
pub(super) fn opening(text: &str) -> Start {
    if let Some(mark) = MARKS.iter().find(|mark| text.starts_with(mark.0)) {
        return Start::Mark(mark.0.len(), Some(mark));
    }
    if MARKS.iter().any(|mark| mark.0.starts_with(text)) {
        return Start::Cut;
    }
    special_token(text)
}

/// Finds the mark at the start of a text in lower case that closes `mark`.
pub(super) fn closing(text: &str, mark: &Mark) -> Start {
    // One may begin with another.
    if mark.1.iter().any(|close| close.starts_with(text) && *close != text) {
        return Start::Cut;
    }
    match mark.1.iter().find(|close| text.starts_with(**close)) {
        Some(close) => Start::Mark(close.len(), MARKS.iter().find(|mark| mark.0 == *close)),
        None => Start::None,
    }
}

/// Finds a special token of any template at the start of a text: a word between angle brackets, with a bar on one side or both.
fn special_token(text: &str) -> Start {
    let Some(inner) = text.strip_prefix('<') else { return Start::None };
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '-' | '▁' | '|' | '｜');
    let Some(ends) = inner.find(|c| !part(c)) else {
        // A bar may follow.
        return if inner.len() < LONGEST_TOKEN { Start::Cut } else { Start::None };
    };
    let (word, behind) = inner.split_at(ends);
    let bars = word.starts_with(['|', '｜']) || word.ends_with(['|', '｜']);
    let token = bars
        && behind.starts_with('>')
        && word.len() < LONGEST_TOKEN
        && word.contains(|c: char| c.is_ascii_alphabetic());
    if token { Start::Mark(ends + 2, None) } else { Start::None }
}
