//! Slows down addresses that guess keys: many wrong keys get slower 401 responses. The cookie of a session counts as a key.
//!
//! An address may look up [`BURST`] unknown keys at once and one more every [`REFILL_INTERVAL`]; further look-ups wait, at most [`MAX_WAIT`].
//! A valid key is remembered and not slowed down while it stays valid, so a customer who shares an address with an attacker waits once at most.
//! Nothing here decides whether a key is valid; the database is queried each time.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchhook_core::api_key::KeyHash;
use tokio::time::Instant;

use crate::listener::network;

/// Unknown keys that an address may try at once.
const BURST: u32 = 50;
/// Time until it may try one more.
const REFILL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum wait of a look-up.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Addresses tracked separately; all others share one account.
const MAX_ADDRESSES: usize = 10_000;
/// Valid keys to remember.
const MAX_KEYS: usize = 10_000;

/// Tracks key look-ups per address. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Throttle(Arc<Mutex<Clients>>);

#[derive(Debug, Default)]
struct Clients {
    /// When each address has paid for its attempts: one [`REFILL_INTERVAL`] per key, starting from now.
    paid_at: HashMap<Option<IpAddr>, Instant>,
    /// Hashes of valid keys, which are not slowed down.
    right: HashSet<[u8; 32]>,
}

/// An admitted look-up; call [`Attempt::right`] if its key is valid, else [`Attempt::wrong`].
#[derive(Debug)]
pub struct Attempt {
    throttle: Throttle,
    /// The account it was charged to, if any.
    account: Option<Option<IpAddr>>,
    key: [u8; 32],
}

impl Throttle {
    /// Waits until the key may be looked up.
    pub async fn admit(&self, from: Option<IpAddr>, key: KeyHash) -> Attempt {
        let (attempt, wait) = self.book(from.map(network), key, Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        attempt
    }

    fn book(&self, from: Option<IpAddr>, key: KeyHash, now: Instant) -> (Attempt, Duration) {
        let mut known = self.known();
        let key = *key.as_bytes();
        if known.right.contains(&key) {
            return (Attempt { throttle: self.clone(), account: None, key }, Duration::ZERO);
        }
        let account = known.account(from, now);
        let paid_at = known.paid_at.entry(account).or_insert(now);
        *paid_at = (*paid_at).max(now) + REFILL_INTERVAL;
        let wait = paid_at.saturating_duration_since(now + REFILL_INTERVAL * BURST).min(MAX_WAIT);
        // Only time that is really waited for is charged, which bounds the debt.
        *paid_at = (*paid_at).min(now + REFILL_INTERVAL * BURST + MAX_WAIT);
        (Attempt { throttle: self.clone(), account: Some(account), key }, wait)
    }

    /// Returns whether the key was valid when it was last looked up.
    pub(super) fn remembers(&self, key: KeyHash) -> bool {
        self.known().right.contains(key.as_bytes())
    }

    /// Returns whether look-ups were ever charged to an address.
    #[cfg(test)]
    pub(super) fn has_charged(&self, from: IpAddr) -> bool {
        self.known().paid_at.contains_key(&Some(network(from)))
    }

    fn known(&self) -> MutexGuard<'_, Clients> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clients {
    /// Returns the account of an address: its own while there is room.
    fn account(&mut self, from: Option<IpAddr>, now: Instant) -> Option<IpAddr> {
        if self.paid_at.len() >= MAX_ADDRESSES && !self.paid_at.contains_key(&from) {
            self.paid_at.retain(|_, paid_at| *paid_at > now);
            if self.paid_at.len() >= MAX_ADDRESSES {
                return None;
            }
        }
        from
    }
}

impl Attempt {
    /// Refunds a valid key.
    pub fn right(self) {
        let mut known = self.throttle.known();
        let Some(account) = self.account else { return };
        if let Some(paid_at) = known.paid_at.get_mut(&account) {
            *paid_at -= REFILL_INTERVAL;
        }
        if known.right.len() >= MAX_KEYS {
            known.right.clear();
        }
        known.right.insert(self.key);
    }

    /// Forgets a key that was valid before: it is slowed down from now on.
    pub fn wrong(self) {
        self.throttle.known().right.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> KeyHash {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        KeyHash::from_bytes(bytes)
    }

    fn address(number: u32) -> Option<IpAddr> {
        Some(std::net::Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn flood_delays_only_its_own_address() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        let wait = |from, number, now| throttle.book(address(from), key(number), now).1;
        assert!((0..BURST).all(|number| wait(1, number, now).is_zero()));
        assert_eq!(wait(1, 100, now), REFILL_INTERVAL);
        assert_eq!(wait(1, 101, now), REFILL_INTERVAL * 2);
        assert!((0..10_000).all(|number| wait(1, number, now) <= MAX_WAIT));
        assert_eq!(wait(2, 100, now), Duration::ZERO);
        let later = now + REFILL_INTERVAL * BURST + MAX_WAIT;
        assert_eq!(wait(1, 102, later), Duration::ZERO, "all is paid for");
    }

    #[test]
    fn a_key_that_was_right_is_not_slowed_down_again() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for number in 0..10_000 {
            throttle.book(address(1), key(number), now);
        }
        let (attempt, wait) = throttle.book(address(1), key(77_777), now);
        assert_eq!(wait, MAX_WAIT);
        attempt.right();
        assert_eq!(throttle.book(address(1), key(77_777), now).1, Duration::ZERO);
    }

    #[test]
    fn a_key_that_is_no_longer_right_is_slowed_down_like_any_other() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        throttle.book(address(1), key(7), now).0.right();
        let waits = |_| {
            let (attempt, wait) = throttle.book(address(1), key(7), now);
            attempt.wrong();
            wait
        };
        let waits: Vec<_> = (0..=BURST + 1).map(waits).collect();
        assert!(waits[..=BURST as usize].iter().all(Duration::is_zero), "{waits:?}");
        assert_eq!(waits.last(), Some(&REFILL_INTERVAL));
    }

    #[test]
    fn right_keys_cost_their_address_nothing() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for number in 0..1_000 {
            let (attempt, wait) = throttle.book(address(1), key(number), now);
            assert!(wait.is_zero());
            attempt.right();
        }
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for number in 0..12_000 {
            throttle.book(address(number), key(number), now).0.right();
            throttle.book(address(number), key(number + 1_000_000), now);
        }
        let known = throttle.known();
        assert!(known.paid_at.len() <= MAX_ADDRESSES + 1 && known.right.len() <= MAX_KEYS);
    }
}
