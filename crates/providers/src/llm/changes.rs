//! How a request changes between its attempts.

use switchhook_core::conversation::Message;

use super::failure::Retry;
use super::refused_tools::RequestedTools;
use super::shorten::shorten;
use super::withheld;

/// How a request was changed since it was first sent.
#[derive(Default)]
pub(super) struct Changes {
    /// Whether messages of the caller may be left out.
    may_withhold: bool,
    /// The tools that were requested.
    pub(super) tools: RequestedTools,
    /// How often the server's form of request was learnt.
    pub(super) learnt: u8,
    /// The token limit that was requested.
    pub(super) requested: u32,
    /// Whether it was raised for this request.
    pub(super) longer: bool,
    shortened: bool,
    /// How often messages of the caller were left out.
    withheld: u8,
    /// The hashes of those, if they were the last ones.
    pub(super) last_words: Vec<u64>,
}

impl Changes {
    /// Creates those of a request for these tools that is about to be sent with a token limit of `requested`.
    pub(super) fn new(tools: RequestedTools, may_withhold: bool, requested: u32) -> Self {
        Self { tools, may_withhold, requested, ..Self::default() }
    }

    /// Changes the conversation for another attempt. Returns whether there can be one.
    pub(super) fn apply(&mut self, retry: Retry, messages: &mut Vec<Message>) -> bool {
        match retry {
            Retry::Shortened if !self.shortened => {
                self.shortened = true;
                shorten(messages);
                true
            }
            Retry::Withheld if self.may_withhold && self.withheld < 2 => {
                self.withheld += 1;
                let newest = self.withheld == 1;
                let left_out = if newest { withheld::newest(messages) } else { withheld::all(messages) };
                let changed = !left_out.is_empty();
                self.last_words = if newest { left_out } else { Vec::new() };
                changed
            }
            _ => false,
        }
    }
}
