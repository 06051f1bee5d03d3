//! Token buckets by key, in the memory of this node.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Buckets to remember; beyond it, keys without one share a bucket.
const MOST: usize = 10_000;

/// The buckets of all keys. Clones share them.
#[derive(Debug)]
pub(super) struct TokenBuckets<K> {
    /// Time until there is another token.
    each: Duration,
    /// Tokens in a full bucket.
    burst: u32,
    buckets: Arc<Mutex<Buckets<K>>>,
}

/// When each bucket is full again.
#[derive(Debug)]
struct Buckets<K> {
    full_at: HashMap<K, Instant>,
    /// Of keys beyond [`MOST`].
    others_full_at: Option<Instant>,
}

impl<K> Clone for TokenBuckets<K> {
    fn clone(&self) -> Self {
        Self { each: self.each, burst: self.burst, buckets: self.buckets.clone() }
    }
}

impl<K: Eq + Hash> TokenBuckets<K> {
    pub(super) fn new(each: Duration, burst: u32) -> Self {
        let buckets = Buckets { full_at: HashMap::new(), others_full_at: None };
        Self { each, burst, buckets: Arc::new(Mutex::new(buckets)) }
    }

    /// Takes a token of the key's bucket.
    ///
    /// # Errors
    /// How long it takes until there is one.
    pub(super) fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        // It is whole at every step.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.of(key, now);
        let full_at = (*bucket).max(now) + self.each;
        let wait = full_at.saturating_duration_since(now + self.each * self.burst);
        if wait.is_zero() {
            *bucket = full_at;
            return Ok(());
        }
        Err(wait)
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.buckets.lock().expect("whole").full_at.len()
    }
}

impl<K: Eq + Hash> Buckets<K> {
    /// Returns the bucket of a key, full if it is new.
    fn of(&mut self, key: K, now: Instant) -> &mut Instant {
        if self.full_at.len() >= MOST && !self.full_at.contains_key(&key) {
            self.full_at.retain(|_, full_at| *full_at > now);
            if self.full_at.len() >= MOST {
                return self.others_full_at.get_or_insert(now);
            }
        }
        self.full_at.entry(key).or_insert(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_and_then_what_runs_in() {
        let (buckets, start) = (TokenBuckets::new(Duration::from_secs(1), 3), Instant::now());
        let taken = |key: u32, seconds: u64| {
            let at = start + Duration::from_secs(seconds);
            (0..10).filter(|_| buckets.take(key, at).is_ok()).count()
        };
        assert_eq!([taken(1, 0), taken(2, 0), taken(1, 2), taken(1, 60)], [3, 3, 2, 3]);
        assert_eq!(buckets.take(1, start + Duration::from_secs(60)), Err(Duration::from_secs(1)));
    }

    #[test]
    fn what_is_remembered_has_a_bound_and_the_others_share_a_bucket() {
        let (buckets, start) = (TokenBuckets::new(Duration::from_secs(1), 3), Instant::now());
        let admitted = (0..12_000_u32).filter(|key| buckets.take(*key, start).is_ok()).count();
        assert_eq!((admitted, buckets.remembered()), (MOST + 3, MOST));
        assert_eq!(buckets.take(12_001, start + Duration::from_secs(1)), Ok(()), "full buckets are forgotten");
        assert_eq!(buckets.remembered(), 1);
    }
}
