//! Words of callers that a content filter refuses: while they stand in the history, it would refuse every request.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use switchhook_core::conversation::{Message, Role};

/// What the model is shown in their place.
const IN_THEIR_PLACE: &str = "(What the caller said here cannot be shown.)";
/// Sentences that are remembered.
const MOST: usize = 1_000;

/// The sentences that were refused, as numbers: their words are the caller's.
#[derive(Default)]
pub(super) struct Withheld(Mutex<HashSet<u64>>);

impl Withheld {
    /// Leaves out what is known to be refused.
    pub(super) fn leave_out(&self, messages: &mut [Message]) {
        let withheld = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !withheld.is_empty() {
            withhold(messages.iter_mut().filter(|message| withheld.contains(&number(&message.text))));
        }
    }

    /// Remembers these sentences.
    pub(super) fn remember(&self, numbers: Vec<u64>) {
        let mut withheld = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if withheld.len() < MOST {
            withheld.extend(numbers);
        }
    }
}

/// Leaves out what the caller said last; what that was.
pub(super) fn newest(messages: &mut [Message]) -> Vec<u64> {
    let last = messages.iter().rposition(|message| message.role == Role::User);
    let upto = last.map_or(0, |last| last + 1);
    let run = messages[..upto].iter().rev().take_while(|message| message.role == Role::User).count();
    withhold(messages[upto - run..upto].iter_mut())
}

/// Leaves out all that the caller said; what that was.
pub(super) fn all(messages: &mut [Message]) -> Vec<u64> {
    withhold(messages.iter_mut())
}

fn withhold<'m>(messages: impl Iterator<Item = &'m mut Message>) -> Vec<u64> {
    let shown = messages.filter(|message| message.role == Role::User && message.text != IN_THEIR_PLACE);
    shown.map(|message| number(&std::mem::replace(&mut message.text, IN_THEIR_PLACE.to_owned()))).collect()
}

fn number(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_words_are_left_out_then_all_and_remembered_ones_at_once() {
        let say = |role: Role, text: &str| Message::new(role, text);
        let mut talk = vec![say(Role::System, "s"), say(Role::User, "1"), say(Role::Assistant, "2")];
        talk.extend([say(Role::User, "3"), say(Role::User, "4"), say(Role::Assistant, "5")]);
        let mut again = talk.clone();
        let left =
            |talk: &[Message]| talk.iter().map(|message| message.text.chars().next()).collect::<Option<String>>();
        let numbers = newest(&mut talk);
        assert_eq!((numbers.len(), left(&talk).as_deref()), (2, Some("s12((5")));
        assert!(newest(&mut talk).is_empty(), "once");
        assert_eq!((all(&mut talk).len(), left(&talk).as_deref()), (1, Some("s(2((5")));
        let withheld = Withheld::default();
        withheld.remember(numbers);
        withheld.leave_out(&mut again);
        assert_eq!(left(&again).as_deref(), Some("s12((5"));
        assert!(newest(&mut [say(Role::System, "s")]).is_empty());
    }
}
