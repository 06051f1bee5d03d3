//! What providers have shown: that they work, that they fail, that they refuse, and until when they have no room.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchhook_core::id::ConnectionId;
use switchhook_providers::ProviderError;
use tokio::time::Instant;

/// A provider that has failed the caller comes after the others for so long.
const COOLING: Duration = Duration::from_secs(60);
/// The longest time for which a provider is skipped because it says that it has no room.
const LONGEST_LIMIT: Duration = Duration::from_secs(60);
/// With more rate limits than this, those that no call uses and that are over are forgotten.
const MOST_LIMITS: usize = 1024;

/// What a provider has shown in a call: whether it has given anything, so that what it refuses from then on was right when
/// the call began; whether it has just let the caller down, so that another one comes first; and what it has refused, so
/// that the same is not requested again.
#[derive(Clone, Debug, Default)]
pub struct ProviderHealth {
    shown: Arc<Shown>,
    limit: Arc<RateLimit>,
}

#[derive(Debug, Default)]
struct Shown {
    gave: AtomicBool,
    failed_at: Mutex<Option<Instant>>,
    refused: Mutex<Option<ProviderError>>,
}

/// Until when a provider has no room, as it has said itself, and its error.
#[derive(Debug, Default)]
pub struct RateLimit(Mutex<Option<(Instant, ProviderError)>>);

impl RateLimit {
    fn lasts(&self) -> bool {
        lock(&self.0).as_ref().is_some_and(|(until, _)| *until > Instant::now())
    }
}

/// What a model or voice of a connection is used for, its connection and its name.
type Which = (&'static str, Option<ConnectionId>, Option<String>);

/// The rate limits of all models and voices, shared by all calls.
#[derive(Default)]
pub struct RateLimits(Mutex<HashMap<Which, Arc<RateLimit>>>);

impl RateLimits {
    /// What nothing is known of but the rate limit of a connection's model; without a connection, of the built-in one.
    #[must_use]
    pub fn of(&self, kind: &'static str, connection: Option<ConnectionId>, model: Option<&str>) -> ProviderHealth {
        let which = (kind, connection, model.map(str::to_owned));
        let mut limits = lock(&self.0);
        if limits.len() >= MOST_LIMITS {
            limits.retain(|_, limit| Arc::strong_count(limit) > 1 || limit.lasts());
        }
        ProviderHealth { limit: limits.entry(which).or_default().clone(), ..ProviderHealth::default() }
    }
}

impl ProviderHealth {
    /// Whether it has failed, or was waited for in vain, not long ago and has not answered since.
    pub(super) fn has_failed_recently(&self) -> bool {
        lock(&self.shown.failed_at).is_some_and(|last| last.elapsed() < COOLING)
    }

    /// What it has refused for good in this call: it is not used again.
    pub(super) fn refusal(&self) -> Option<ProviderError> {
        lock(&self.shown.refused).clone()
    }

    /// For how long it has no room, and the error that says so.
    pub(super) fn rate_limited(&self) -> Option<(Duration, ProviderError)> {
        let (until, error) = lock(&self.limit.0).clone()?;
        let wait = until.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then(|| (wait, error.retry_after(wait)))
    }

    pub(super) fn note(&self) {
        self.shown.gave.store(true, Ordering::Relaxed);
        *lock(&self.shown.failed_at) = None;
    }

    pub(super) fn note_failure(&self) {
        *lock(&self.shown.failed_at) = Some(Instant::now());
    }

    /// Remembers an error, and says what it means in this call.
    pub(super) fn judge(&self, error: ProviderError) -> ProviderError {
        self.note_failure();
        let error = if self.shown.gave.load(Ordering::Relaxed) { error.of_proven() } else { error };
        if error.is_final() {
            *lock(&self.shown.refused) = Some(error.clone());
        }
        if let ProviderError::Busy { retry_after_ms, .. } = &error {
            let until = Instant::now() + Duration::from_millis(*retry_after_ms).min(LONGEST_LIMIT);
            *lock(&self.limit.0) = Some((until, error.clone()));
        }
        error
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
