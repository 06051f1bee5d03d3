//! A dialogue as data: questions, a read-back, a goodbye; and the position of a conversation in it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchhook_core::conversation::{Message, Role};

use super::extraction::{self, AnswerKind, Found};

/// How often one question is asked before the agent gives up.
const TRIES: u32 = 4;

/// A dialogue. In its texts, `{slot}` stands for the caller's answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The questions, in this order.
    pub slots: Vec<Slot>,
    /// Reads everything back; a yes-or-no question.
    pub confirm: String,
    /// Asks what to change when the caller says no.
    pub change: String,
    /// Spoken when the caller agrees, before the call ends.
    pub goodbye: String,
    /// Spoken when the caller cannot be understood, before the call ends.
    pub give_up: String,
    /// The summary of a call that was confirmed.
    pub summary: String,
}

/// One piece of information to collect.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// Its name in the outcome.
    pub name: String,
    /// The kind of value.
    pub kind: AnswerKind,
    /// The question.
    pub ask: String,
    /// The question after the caller was not understood.
    pub again: String,
}

impl Flow {
    /// Returns the demo's dialogue, which books a table.
    #[must_use]
    pub fn table_booking() -> Self {
        let slot = |name: &str, kind, ask: &str, again: &str| Slot {
            name: name.to_owned(),
            kind,
            ask: ask.to_owned(),
            again: again.to_owned(),
        };
        Self {
            slots: vec![
                slot(
                    "name",
                    AnswerKind::Name,
                    "May I have your name, please?",
                    "Sorry, I did not catch your name. Could you say it again?",
                ),
                slot(
                    "day",
                    AnswerKind::Day,
                    "Thank you, {name}. Which day would you like to come?",
                    "Sorry, which day was that?",
                ),
                slot("time", AnswerKind::Time, "{day}, gladly. And at what time?", "Sorry, at what time?"),
                slot("people", AnswerKind::Number, "And how many people will you be?", "Sorry, for how many people?"),
            ],
            confirm:
                "Let me read that back: a table for {people} on {day} at {time}, under the name {name}. Is that right?"
                    .to_owned(),
            change: "I am sorry. What should I change?".to_owned(),
            goodbye: "Wonderful, your table is booked. We look forward to seeing you. Goodbye!".to_owned(),
            give_up: "I am sorry, I have trouble understanding you. A colleague will call you back. Goodbye!"
                .to_owned(),
            summary: "{name} booked a table for {people} on {day} at {time} and confirmed it.".to_owned(),
        }
    }

    /// Returns the position of this conversation in the dialogue.
    #[must_use]
    pub fn read(&self, messages: &[Message]) -> Progress {
        let mut progress = Progress::default();
        for message in messages.iter().filter(|message| message.role == Role::User) {
            self.take(&mut progress, &message.text);
        }
        progress
    }

    fn take(&self, progress: &mut Progress, text: &str) {
        progress.misheard = false;
        progress.changing = false;
        let asked = self.open_slot(progress).map(|slot| slot.name.clone());
        let mut learned = false;
        for slot in &self.slots {
            let is_asked = asked.as_ref() == Some(&slot.name);
            // A name mentioned in passing does not replace the known one.
            let known = progress.values.contains_key(&slot.name);
            if known && slot.kind == AnswerKind::Name && extraction::agreement(text) != Some(false) {
                continue;
            }
            if let Some(found) = extraction::find(slot.kind, text, is_asked) {
                learned |= progress.values.insert(slot.name.clone(), found.clone()) != Some(found);
            }
        }
        progress.repeat = !learned && extraction::wants_repetition(text);
        if learned {
            progress.tries = 0;
            progress.confirmed = false;
            return;
        }
        match asked {
            None if !progress.repeat => match extraction::agreement(text) {
                Some(true) => progress.confirmed = true,
                Some(false) => progress.changing = true,
                None => progress.misheard = true,
            },
            Some(_) if !progress.repeat => progress.misheard = true,
            _ => {}
        }
        progress.tries += 1;
    }

    fn open_slot(&self, progress: &Progress) -> Option<&Slot> {
        self.slots.iter().find(|slot| !progress.values.contains_key(&slot.name))
    }

    /// Returns the next text, and whether to end the call with it.
    #[must_use]
    pub fn next(&self, progress: &Progress) -> (String, bool) {
        if progress.confirmed {
            return (progress.fill(&self.goodbye), true);
        }
        if progress.tries >= TRIES {
            return (progress.fill(&self.give_up), true);
        }
        let text = match self.open_slot(progress) {
            Some(slot) if progress.misheard => &slot.again,
            Some(slot) => &slot.ask,
            None if progress.changing => &self.change,
            None => &self.confirm,
        };
        (progress.fill(text), false)
    }

    /// Returns the outcome for post-call analysis.
    #[must_use]
    pub fn outcome(&self, progress: &Progress) -> Value {
        let mut outcome: Map<String, Value> = self
            .slots
            .iter()
            .map(|slot| {
                let value = progress.values.get(&slot.name).map_or(Value::Null, |found| match found {
                    Found::Text(text) => json!(text),
                    Found::Number(number) => json!(number),
                });
                (slot.name.clone(), value)
            })
            .collect();
        outcome.insert("confirmed".to_owned(), json!(progress.confirmed));
        Value::Object(outcome)
    }

    /// Returns one sentence about the call.
    #[must_use]
    pub fn summarise(&self, progress: &Progress) -> String {
        if progress.confirmed {
            return progress.fill(&self.summary);
        }
        let known: Vec<String> = self
            .slots
            .iter()
            .filter_map(|slot| progress.values.get(&slot.name).map(|found| format!("{} {}", slot.name, spoken(found))))
            .collect();
        if known.is_empty() {
            "The caller gave none of the details that were asked for.".to_owned()
        } else {
            format!("The caller confirmed nothing, but gave: {}.", known.join(", "))
        }
    }
}

/// What has been collected so far.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    values: BTreeMap<String, Found>,
    /// Consecutive turns without anything new.
    tries: u32,
    misheard: bool,
    repeat: bool,
    changing: bool,
    confirmed: bool,
}

impl Progress {
    fn fill(&self, text: &str) -> String {
        self.values
            .iter()
            .fold(text.to_owned(), |text, (name, found)| text.replace(&format!("{{{name}}}"), &spoken(found)))
    }
}

/// Formats a value for speech: times on the twelve-hour clock.
fn spoken(found: &Found) -> String {
    match found {
        Found::Number(number) => number.to_string(),
        Found::Text(text) => twelve_hour(text).unwrap_or_else(|| text.clone()),
    }
}

fn twelve_hour(text: &str) -> Option<String> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute) = (hour.parse::<u32>().ok()?, minute.parse::<u32>().ok()?);
    let half = if hour < 12 { "a.m." } else { "p.m." };
    let hour = if hour % 12 == 0 { 12 } else { hour % 12 };
    Some(if minute == 0 { format!("{hour} {half}") } else { format!("{hour}:{minute:02} {half}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(said: &[&str]) -> (Flow, Progress) {
        let flow = Flow::table_booking();
        let messages: Vec<Message> = said.iter().map(|text| Message::new(Role::User, *text)).collect();
        let progress = flow.read(&messages);
        (flow, progress)
    }

    const BOOKING: [&str; 4] = [
        "Hi Ava. My name is Sarah Miller.",
        "Friday evening, please.",
        "At half past seven.",
        "There will be four of us.",
    ];

    #[test]
    fn each_answer_leads_to_the_next_question_and_agreement_ends_the_call() {
        let questions =
            ["Thank you, Sarah Miller.", "Friday, gladly.", "And how many", "a table for 4 on Friday at 7:30 p.m."];
        for (count, question) in (1..).zip(questions) {
            let (flow, progress) = after(&BOOKING[..count]);
            let (text, ends) = flow.next(&progress);
            assert!(text.contains(question) && !ends, "{text}");
        }
        let (flow, progress) = after(&[&BOOKING[..], &["Yes, that's right. Thank you."]].concat());
        assert!(flow.next(&progress).1);
        let expected =
            json!({ "name": "Sarah Miller", "day": "Friday", "time": "19:30", "people": 4, "confirmed": true });
        assert_eq!(flow.outcome(&progress), expected);
        assert_eq!(
            flow.summarise(&progress),
            "Sarah Miller booked a table for 4 on Friday at 7:30 p.m. and confirmed it."
        );
    }

    #[test]
    fn a_change_of_mind_is_read_back_again() {
        let (flow, progress) = after(&[&BOOKING[..], &["Wait, actually, make it Saturday."]].concat());
        let (text, ends) = flow.next(&progress);
        assert!(text.contains("on Saturday") && !ends, "{text}");
        let (flow, progress) = after(&[&BOOKING[..], &["No, that's not right."]].concat());
        assert_eq!(flow.next(&progress).0, flow.change);
        assert_eq!(flow.outcome(&progress)["confirmed"], false);
    }

    #[test]
    fn misunderstood_caller_is_asked_again_a_limited_number_of_times() {
        let (flow, progress) = after(&[BOOKING[0], "Mumble."]);
        assert_eq!(flow.next(&progress).0, "Sorry, which day was that?");
        let (flow, progress) = after(&[BOOKING[0], "Sorry? Could you say that again?"]);
        assert!(flow.next(&progress).0.contains("Which day"));
        let (flow, progress) = after(&["I have no idea what you are talking about."; 4]);
        assert_eq!(flow.next(&progress), (flow.give_up.clone(), true));
        assert!(flow.outcome(&progress)["name"].is_null());
    }
}
