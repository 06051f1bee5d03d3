//! Messages of callers that a content filter refuses: as long as they are in the history of a call, every request would be refused.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use switchhook_core::conversation::{Message, Role, WITHHELD_WORDS};

/// The messages refused in one call, as hashes, since their text is the caller's. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Withheld(Arc<Mutex<HashSet<u64>>>);

impl Withheld {
    /// Leaves out the messages that are known to be refused.
    pub(super) fn leave_out(&self, messages: &mut [Message]) {
        let withheld = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !withheld.is_empty() {
            withhold(messages, |_, number| withheld.contains(&number));
        }
    }

    /// Remembers messages that were left out, by their hashes.
    pub(super) fn remember(&self, numbers: Vec<u64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(numbers);
    }
}

/// Leaves out the caller's latest messages. Returns their hashes.
pub(super) fn newest(messages: &mut [Message]) -> Vec<u64> {
    let last = messages.iter().rposition(|message| message.role == Role::User);
    let upto = last.map_or(0, |last| last + 1);
    let run = messages[..upto].iter().rev().take_while(|message| message.role == Role::User).count();
    withhold(messages, |position, _| (upto - run..upto).contains(&position))
}

/// Leaves out all of the caller's messages. Returns their hashes.
pub(super) fn all(messages: &mut [Message]) -> Vec<u64> {
    withhold(messages, |_, _| true)
}

/// Leaves out the caller's messages for which `is_refused` holds, given their position and hash. Returns their hashes. A hash covers a
/// message and everything before it: the same text elsewhere in the conversation is not affected.
fn withhold(messages: &mut [Message], is_refused: impl Fn(usize, u64) -> bool) -> Vec<u64> {
    let (mut before, mut numbers) = (DefaultHasher::new(), Vec::new());
    for (position, message) in messages.iter_mut().enumerate().filter(|(_, message)| message.role != Role::System) {
        let mut hasher = before.clone();
        message.text.hash(&mut hasher);
        let number = hasher.finish();
        let is_shown = message.role == Role::User && message.text != WITHHELD_WORDS;
        if is_shown && is_refused(position, number) {
            WITHHELD_WORDS.clone_into(&mut message.text);
            numbers.push(number);
        }
        message.text.hash(&mut before);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(role: Role, text: &str) -> Message {
        Message::new(role, text)
    }

    fn shown(talk: &[Message]) -> String {
        talk.iter().filter_map(|message| message.text.chars().next()).collect()
    }

    #[test]
    fn the_newest_words_are_left_out_then_all_and_remembered_ones_at_once() {
        let mut talk = vec![say(Role::System, "s"), say(Role::User, "1"), say(Role::Assistant, "2")];
        talk.extend([say(Role::User, "3"), say(Role::User, "4"), say(Role::Assistant, "5")]);
        let mut again = talk.clone();
        let numbers = newest(&mut talk);
        assert_eq!((numbers.len(), shown(&talk).as_str()), (2, "s12((5"));
        assert!(newest(&mut talk).is_empty(), "once");
        assert_eq!((all(&mut talk).len(), shown(&talk).as_str()), (1, "s(2((5"));
        let withheld = Withheld::default();
        withheld.remember(numbers);
        withheld.leave_out(&mut again);
        assert_eq!(shown(&again), "s12((5");
        assert!(newest(&mut [say(Role::System, "s")]).is_empty());
    }

    #[test]
    fn the_same_words_are_shown_where_they_come_again() {
        let withheld = Withheld::default();
        let mut talk = vec![say(Role::Assistant, "For two?"), say(Role::User, "Yes.")];
        withheld.remember(newest(&mut talk.clone()));
        talk.extend([say(Role::Assistant, "At seven?"), say(Role::User, "Yes.")]);
        withheld.leave_out(&mut talk);
        assert_eq!(shown(&talk), "F(AY");
        withheld.remember(newest(&mut talk.clone()));
        talk.extend([say(Role::Assistant, "Is that all?"), say(Role::User, "Yes.")]);
        withheld.leave_out(&mut talk);
        assert_eq!(shown(&talk), "F(A(IY", "both that were refused are left out, and no other");
    }
}
