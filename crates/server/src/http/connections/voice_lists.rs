//! Caches the voice lists of providers, and failures too, so that opening an agent often does not request them often. A connection has at
//! most one request at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchhook_core::Timestamp;
use switchhook_core::id::ConnectionId;
use switchhook_providers::voices::VoiceList;
use switchhook_runtime::clock::SteadyClock;

use crate::calls::setup::VoiceError;

/// How long a list is cached.
const CACHED_FOR: Duration = Duration::from_secs(300);
/// How long a failure is cached.
pub(super) const FAILURE_KEPT: Duration = Duration::from_secs(15);
/// Answers to keep. Each is at most as large as a list of voices may be.
const MANY: usize = 64;

type Listed = Result<VoiceList, VoiceError>;
/// Locked while the provider is asked.
type Slot = Arc<tokio::sync::Mutex<Option<Answer>>>;

/// The answers of providers, by connection. Clones share them.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct VoiceLists(Arc<Mutex<HashMap<ConnectionId, Slot>>>);

#[derive(Debug)]
struct Answer {
    /// When the connection that was asked had been changed.
    changed_at: i64,
    until: Timestamp,
    listed: Listed,
}

impl VoiceLists {
    /// Returns the cached list of a connection's provider, or requests it.
    ///
    /// # Errors
    /// When the request panics.
    pub(super) async fn list(
        &self,
        id: ConnectionId,
        changed_at: i64,
        clock: &SteadyClock,
        ask: impl Future<Output = Listed> + Send + 'static,
    ) -> anyhow::Result<Listed> {
        let (slot, clock) = (self.slot(id, clock.now()), clock.clone());
        // A separate task: if the client disconnects, the next one finds the same request.
        let asking = tokio::spawn(async move {
            let mut answer = slot.lock().await;
            let now = clock.now();
            if let Some(known) = answer.as_ref().filter(|known| known.changed_at == changed_at && known.until > now) {
                return known.listed.clone();
            }
            let listed = ask.await;
            let until = clock.now() + if listed.is_ok() { CACHED_FOR } else { FAILURE_KEPT };
            *answer = Some(Answer { changed_at, until, listed: listed.clone() });
            listed
        });
        Ok(asking.await?)
    }

    fn slot(&self, id: ConnectionId, now: Timestamp) -> Slot {
        // Whole at every step.
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MANY && !slots.contains_key(&id) {
            slots.retain(|_, slot| is_in_use(slot) || kept_until(slot).is_some_and(|until| until > now));
            let idle = slots.iter().filter(|(_, slot)| !is_in_use(slot));
            let first = idle.min_by_key(|(_, slot)| kept_until(slot)).map(|(id, _)| *id);
            if let Some(first) = first.filter(|_| slots.len() >= MANY) {
                slots.remove(&first);
            }
        }
        slots.entry(id).or_default().clone()
    }
}

/// Returns whether a request or a waiting client uses the slot.
fn is_in_use(slot: &Slot) -> bool {
    Arc::strong_count(slot) > 1
}

fn kept_until(slot: &Slot) -> Option<Timestamp> {
    slot.try_lock().ok()?.as_ref().map(|answer| answer.until)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use switchhook_runtime::clock::Clock;
    use tokio::sync::Notify;

    use super::*;

    /// A provider that counts how often it is asked.
    #[derive(Clone, Default)]
    struct Provider(Arc<AtomicUsize>);

    impl Provider {
        fn asked(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }

        fn ask(&self, answer: Listed) -> impl Future<Output = Listed> + Send + use<> {
            let provider = self.clone();
            async move {
                provider.0.fetch_add(1, Ordering::SeqCst);
                answer
            }
        }
    }

    fn connection(number: u8) -> ConnectionId {
        ConnectionId::new(Timestamp::from_micros(0), [number; 10])
    }

    fn down() -> Listed {
        Err(VoiceError::Unavailable("It is down.".to_owned()))
    }

    #[tokio::test]
    async fn an_answer_is_kept_for_minutes_a_failure_for_seconds_and_neither_beyond_a_change() {
        let (lists, provider, clock) =
            (VoiceLists::default(), Provider::default(), Clock::manual(Timestamp::from_micros(0)));
        let steady = clock.steady();
        let list = async |changed_at, answer| {
            lists.list(connection(1), changed_at, &steady, provider.ask(answer)).await.expect("no panic")
        };
        assert_eq!((list(1, down()).await, provider.asked()), (down(), 1));
        clock.advance(Duration::from_secs(14));
        assert_eq!((list(1, Ok(VoiceList::default())).await, provider.asked()), (down(), 1));
        clock.advance(Duration::from_secs(1));
        assert_eq!((list(1, Ok(VoiceList::default())).await, provider.asked()), (Ok(VoiceList::default()), 2));
        clock.advance(Duration::from_secs(299));
        assert_eq!((list(1, down()).await, provider.asked()), (Ok(VoiceList::default()), 2));
        assert_eq!((list(2, down()).await, provider.asked()), (down(), 3), "the connection was changed");
    }

    #[tokio::test]
    async fn an_answer_is_not_kept_for_longer_when_the_clock_is_set_back() {
        let (lists, provider, clock) =
            (VoiceLists::default(), Provider::default(), Clock::manual(Timestamp::from_millis(1_700_000_000_000)));
        let steady = clock.steady();
        let list = async || lists.list(connection(1), 1, &steady, provider.ask(down())).await.expect("no panic");
        assert_eq!((list().await, provider.asked()), (down(), 1));
        clock.set(clock.now() - Duration::from_secs(3_600));
        clock.advance(FAILURE_KEPT);
        assert_eq!((list().await, provider.asked()), (down(), 2));
    }

    #[tokio::test]
    async fn many_who_ask_at_once_and_go_away_are_one_request() {
        let (lists, provider, clock) = (VoiceLists::default(), Provider::default(), Clock::system().steady());
        let (asked, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let slow = {
            let (ask, asked, answer) = (provider.ask(down()), asked.clone(), answer.clone());
            async move {
                let listed = ask.await;
                asked.notify_one();
                answer.notified().await;
                listed
            }
        };
        let impatient = {
            let (lists, clock) = (lists.clone(), clock.clone());
            tokio::spawn(async move { lists.list(connection(1), 1, &clock, slow).await })
        };
        asked.notified().await;
        impatient.abort();
        let others = (0..20).map(|_| lists.list(connection(1), 1, &clock, provider.ask(down())));
        let (others, ()) = tokio::join!(futures_util::future::join_all(others), async { answer.notify_one() });
        assert!(others.into_iter().all(|listed| listed.is_ok_and(|listed| listed == down())));
        assert_eq!(provider.asked(), 1);
    }

    #[tokio::test]
    async fn the_answers_of_few_connections_are_kept() {
        let (lists, provider, clock) =
            (VoiceLists::default(), Provider::default(), Clock::manual(Timestamp::from_micros(0)));
        let steady = clock.steady();
        for number in 0..100 {
            clock.advance(Duration::from_secs(1));
            lists
                .list(connection(number), 1, &steady, provider.ask(Ok(VoiceList::default())))
                .await
                .expect("no panic")
                .expect("a list");
        }
        assert_eq!(lists.0.lock().expect("whole").len(), MANY);
        lists.list(connection(99), 1, &steady, provider.ask(down())).await.expect("no panic").expect("it is kept");
        lists
            .list(connection(0), 1, &steady, provider.ask(down()))
            .await
            .expect("no panic")
            .expect_err("the oldest has gone");
    }
}
