//! What TTS servers do that their documentation does not mention, determined by a seed.
//!
//! The speech stays complete as long as a broken request is made again: messages that mean nothing are put between the others, audio is
//! cut anywhere and comes in bursts, one utterance in three breaks off once, and some never end where the times of their words do.

use std::collections::HashSet;
use std::time::Duration;

use super::tts::UtteranceEnd;
use crate::crash::rng::Rng;

/// The name of a context that was never begun.
pub(crate) const STRANGE_CONTEXT: &str = "0123456789abcdef";
/// Codes of a websocket's end that do not blame the request.
const CLOSE_CODES: [u16; 6] = [1000, 1001, 1011, 1012, 1013, 4000];

/// The deviations of one server.
pub(crate) struct WildTts {
    random: Rng,
    /// Whether the last utterance broke off.
    broke: bool,
    /// Texts that have broken off.
    broken: HashSet<String>,
    /// What it did, for the message of a failed seed.
    log: Vec<String>,
}

impl WildTts {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Rng::new(seed), broke: false, broken: HashSet::new(), log: Vec::new() }
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.clone()
    }

    /// Cuts a text at random places.
    pub(super) fn cut(&mut self, text: &[char]) -> Vec<Vec<char>> {
        let longest = self.random.any(&[1, 3, 12, 200]);
        let (mut pieces, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let (piece, later) = rest.split_at((1 + self.random.position(longest)).min(rest.len()));
            pieces.push(piece.to_vec());
            rest = later;
        }
        pieces
    }

    /// Returns after how many of its pieces an utterance ends, and how. None breaks off twice, and not two in a row do.
    pub(super) fn end(&mut self, text: &str, pieces: usize) -> (usize, UtteranceEnd) {
        self.broke = !self.broke && self.random.once_in(3) && self.broken.insert(text.to_owned());
        if !self.broke {
            return (pieces, UtteranceEnd::End);
        }
        let end = match self.random.once_in(2) {
            true => UtteranceEnd::Die,
            false => UtteranceEnd::Close(self.random.any(&CLOSE_CODES), "Restarting."),
        };
        let count = self.random.position(pieces + 1);
        self.log.push(format!("{end:?} after {count} of {pieces} pieces of {text:?}"));
        (count, end)
    }

    /// Returns true one time in `times`.
    pub(super) fn varies(&mut self, times: u64) -> bool {
        self.random.once_in(times)
    }

    /// Returns one of `messages` at times.
    pub(super) fn odd<T: Clone>(&mut self, messages: &[T]) -> Option<T> {
        (!messages.is_empty() && self.random.once_in(3)).then(|| self.random.any(messages))
    }

    /// Returns how long to wait before the next piece.
    pub(super) fn pause(&mut self) -> Duration {
        Duration::from_millis(if self.random.once_in(10) { self.random.below(60) } else { 0 })
    }
}
