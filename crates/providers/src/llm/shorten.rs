//! Conversations that are too long for their model.

use switchhook_core::conversation::{Message, Role};

/// Keeps the instructions and the later half of a conversation, starting with something that the caller said: an answer without its
/// question, or a tool result without its call, would be refused.
pub(super) fn shorten(messages: &mut Vec<Message>) {
    let begins = messages.iter().take_while(|message| message.role == Role::System).count();
    let middle = begins + (messages.len() - begins).div_ceil(2);
    let by_caller = |at: &usize| messages[*at].role == Role::User;
    let first = (middle..messages.len()).find(by_caller).or_else(|| (begins..messages.len()).rfind(by_caller));
    if let Some(first) = first {
        messages.drain(begins..first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_younger_half_begins_with_the_caller() {
        let say = |role: Role, text: &str| Message::new(role, text);
        let (user, assistant) = (Role::User, Role::Assistant);
        let mut talk =
            vec![say(Role::System, "s"), say(user, "1"), say(assistant, "2"), say(user, "3"), say(assistant, "4")];
        talk.extend([say(user, "5"), say(Role::Tool, "6"), say(assistant, "7")]);
        let left = |talk: &[Message]| talk.iter().map(|message| message.text.clone()).collect::<String>();
        shorten(&mut talk);
        assert_eq!(left(&talk), "s567");
        shorten(&mut talk);
        assert_eq!(left(&talk), "s567", "the caller's last words stay");
        let mut empty_response = vec![say(Role::System, "s"), say(assistant, "1")];
        shorten(&mut empty_response);
        assert_eq!(left(&empty_response), "s1");
    }
}
