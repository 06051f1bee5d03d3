//! The event filter of an endpoint.

use serde::{Deserialize, Serialize};

use crate::event::EventKind;

/// The events that an endpoint receives. Empty means all, including those of later versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventFilter(Vec<EventKind>);

impl EventFilter {
    /// Parses the `events` of a registration. Removes duplicates and keeps the order.
    ///
    /// # Errors
    /// The first unknown name and its position.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, UnknownEvent> {
        let mut kinds = Vec::with_capacity(names.len().min(EventKind::ALL.len()));
        for (position, name) in names.iter().enumerate() {
            let kind = name.as_ref().parse().map_err(|_| UnknownEvent { position })?;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(Self(kinds))
    }

    /// Returns whether an event of this kind is sent.
    #[must_use]
    pub fn matches(&self, kind: EventKind) -> bool {
        self.0.is_empty() || self.0.contains(&kind)
    }

    /// Returns the events; empty for all.
    #[must_use]
    pub fn kinds(&self) -> &[EventKind] {
        &self.0
    }
}

/// A name in `events` is not an event type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of: {}", names())]
pub struct UnknownEvent {
    /// Its position in the list, from 0; the path is `events[position]`.
    pub position: usize,
}

fn names() -> String {
    EventKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_filter_takes_everything_and_another_only_what_it_names() {
        let all = EventFilter::parse::<&str>(&[]).expect("empty is all");
        assert!(EventKind::ALL.iter().all(|kind| all.matches(*kind)));

        let ends = EventFilter::parse(&["call.failed", "call.completed", "call.failed"]).expect("known names");
        assert_eq!(ends.kinds(), [EventKind::CallFailed, EventKind::CallCompleted]);
        let matched: Vec<_> = EventKind::ALL.iter().filter(|kind| ends.matches(**kind)).collect();
        assert_eq!(matched, [&EventKind::CallCompleted, &EventKind::CallFailed]);
    }

    #[test]
    fn an_unknown_name_is_pointed_at_and_the_known_ones_are_listed() {
        for bad in ["call.ended", "CALL.FAILED", "", "*", "webhook.test"] {
            let refusal = EventFilter::parse(&["call.failed", bad]).expect_err(bad);
            assert_eq!(refusal.position, 1, "{bad}");
            assert!(refusal.to_string().contains("call.queued, call.dialing"), "{refusal}");
        }
    }
}
