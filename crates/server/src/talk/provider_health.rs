//! The health of providers: whether they work, fail or refuse, and until when they are rate-limited.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchhook_core::id::ConnectionId;
use switchhook_providers::ProviderError;
use tokio::time::Instant;

/// How long a provider that has failed is used after the others.
const AVOIDED_FOR: Duration = Duration::from_secs(60);
/// The longest rate limit of a provider that is respected.
const LONGEST_LIMIT: Duration = Duration::from_secs(60);
/// With more rate limits than this, expired ones that no call uses are dropped.
const MOST_LIMITS: usize = 1024;

/// A provider's state in a call: whether it has ever succeeded, since a later refusal is then no wrong setting; whether it has failed
/// recently, so that another one comes first; and its permanent refusal, so that the same is not requested again.
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

/// When the provider's rate limit ends, and its error.
#[derive(Debug, Default)]
pub struct RateLimit(Mutex<Option<(Instant, ProviderError)>>);

impl RateLimit {
    fn lasts(&self) -> bool {
        lock(&self.0).as_ref().is_some_and(|(until, _)| *until > Instant::now())
    }
}

/// The kind of use, the connection and the name of a model or voice.
type Which = (&'static str, Option<ConnectionId>, Option<String>);

/// The rate limits of all models and voices, shared by all calls.
#[derive(Default)]
pub struct RateLimits(Mutex<HashMap<Which, Arc<RateLimit>>>);

impl RateLimits {
    /// Returns fresh health that shares the rate limit of a connection's model; without a connection, of the built-in one.
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
    /// Returns whether it has failed or timed out recently and has not responded since.
    pub(super) fn has_failed_recently(&self) -> bool {
        lock(&self.shown.failed_at).is_some_and(|last| last.elapsed() < AVOIDED_FOR)
    }

    /// Returns its permanent refusal in this call: it is not used again.
    pub(super) fn refusal(&self) -> Option<ProviderError> {
        lock(&self.shown.refused).clone()
    }

    /// Returns how long it is still rate-limited, and its error.
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

    /// Records an error, and returns what it means in this call.
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
