//! Why a response ended, in the terms of OpenAI's, Gemini's and Anthropic's APIs, which compatible servers and proxies mix.

/// The end of a response, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishReason {
    /// The model, or a filter in front of it, refuses to respond to this conversation.
    Refused,
    /// The model called tools in a way that its server cannot read.
    MalformedCall,
    /// The response reached its token limit.
    Length,
    /// Any other end, including unknown ones.
    Other,
}

/// Reasons that refuse, as they begin: some servers add details, such as `content_filter: PROHIBITED_CONTENT`.
const REFUSED: [&str; 9] = [
    "content_filter",
    "safety",
    "blocklist",
    "prohibited_content",
    "spii",
    "language",
    "recitation",
    "refusal",
    "sensitive",
];
const MALFORMED_CALL: [&str; 4] =
    ["malformed_function_call", "unexpected_tool_call", "too_many_tool_calls", "function_call_filter"];
const LENGTH: [&str; 3] = ["length", "max_tokens", "model_length"];

/// Ends that the model chose itself. No reason at all counts, behind the mark that the stream is complete.
const COMPLETE: [&str; 9] =
    ["", "stop", "tool_calls", "function_call", "tool_use", "end_turn", "stop_sequence", "eos", "eos_token"];

impl FinishReason {
    /// Returns whether the model completed what it wrote, as far as the reason says.
    pub(crate) fn is_complete(reason: &str) -> bool {
        COMPLETE.iter().any(|complete| complete.eq_ignore_ascii_case(reason))
    }

    /// Reads a reason in any case.
    pub(crate) fn read(reason: &str) -> Self {
        let reason = reason.to_ascii_lowercase();
        let is = |reasons: &[&str]| reasons.iter().any(|begins| reason.starts_with(begins));
        if is(&REFUSED) {
            Self::Refused
        } else if is(&MALFORMED_CALL) {
            Self::MalformedCall
        } else if is(&LENGTH) {
            Self::Length
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ends_that_the_model_chose_are_complete() {
        assert!(["", "stop", "STOP", "tool_calls", "end_turn"].into_iter().all(FinishReason::is_complete));
        for cut in ["length", "content_filter", "abort", "error", "cancelled", "something_new"] {
            assert!(!FinishReason::is_complete(cut), "{cut}");
        }
    }

    #[test]
    fn a_reason_is_known_in_any_case_and_with_details() {
        for (reason, expected) in [
            ("content_filter", FinishReason::Refused),
            ("content_filter: PROHIBITED_CONTENT", FinishReason::Refused),
            ("SAFETY", FinishReason::Refused),
            ("safety", FinishReason::Refused),
            ("BLOCKLIST", FinishReason::Refused),
            ("PROHIBITED_CONTENT", FinishReason::Refused),
            ("SPII", FinishReason::Refused),
            ("LANGUAGE", FinishReason::Refused),
            ("RECITATION", FinishReason::Refused),
            ("sensitive", FinishReason::Refused),
            ("MALFORMED_FUNCTION_CALL", FinishReason::MalformedCall),
            ("function_call_filter: MALFORMED_FUNCTION_CALL", FinishReason::MalformedCall),
            ("UNEXPECTED_TOOL_CALL", FinishReason::MalformedCall),
            ("length", FinishReason::Length),
            ("MAX_TOKENS", FinishReason::Length),
            ("max_tokens", FinishReason::Length),
            ("stop", FinishReason::Other),
            ("STOP", FinishReason::Other),
            ("OTHER", FinishReason::Other),
            ("MALFORMED_RESPONSE", FinishReason::Other),
            ("MISSING_THOUGHT_SIGNATURE", FinishReason::Other),
            ("FINISH_REASON_UNSPECIFIED", FinishReason::Other),
            ("something_new", FinishReason::Other),
            ("", FinishReason::Other),
        ] {
            assert_eq!(FinishReason::read(reason), expected, "{reason}");
        }
    }
}
