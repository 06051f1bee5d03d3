//! Quotas of a tenant, and the admission of calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The limits of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaLimits {
    /// Authenticated requests in any 60 seconds; see [`rate`](crate::rate).
    pub rate_per_minute: u32,
    /// Concurrent calls: queued, dialing or in progress.
    pub concurrent_calls: u32,
    /// Calls accepted by `POST /v1/calls` in a calendar month (UTC); `None` is no cap.
    pub monthly_calls: Option<u32>,
}

impl Default for QuotaLimits {
    fn default() -> Self {
        Self { rate_per_minute: 120, concurrent_calls: 10, monthly_calls: None }
    }
}

/// A tenant's usage, counted in the transaction that creates the next call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaUsage {
    /// Calls queued, dialing or in progress, including inbound calls.
    pub concurrent_calls: u32,
    /// Calls accepted since [`month_start`].
    pub monthly_calls: u32,
}

/// A quota is reached. The text is the `detail` of the 429.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuotaExceeded {
    /// The concurrent call limit.
    #[error("Concurrent call limit reached: {in_use} of {limit} in use. Try again when a call has ended.")]
    Concurrent {
        /// The limit.
        limit: u32,
        /// The current number.
        in_use: u32,
    },
    /// The monthly call cap.
    #[error("Monthly call cap reached: {limit} of {limit} placed. The next call can be placed at {resets_at}.")]
    Monthly {
        /// The limit.
        limit: u32,
        /// When the next month starts.
        resets_at: Timestamp,
        /// The time of the check.
        now: Timestamp,
    },
}

impl QuotaExceeded {
    /// Returns the value of the `Retry-After` header: whole seconds, at least 1.
    ///
    /// The end of a running call is unknown; a few seconds is a cheap guess.
    #[must_use]
    pub fn retry_after_seconds(self) -> u64 {
        match self {
            Self::Concurrent { .. } => 5,
            Self::Monthly { resets_at, now, .. } => whole_seconds_until(resets_at, now),
        }
    }
}

/// Admits or rejects one more call. Checks the monthly cap first, because waiting for a running call would not help.
///
/// # Errors
/// The quota that is reached.
pub fn admit(usage: &QuotaUsage, limits: &QuotaLimits, now: Timestamp) -> Result<(), QuotaExceeded> {
    if let Some(limit) = limits.monthly_calls.filter(|limit| usage.monthly_calls >= *limit) {
        return Err(QuotaExceeded::Monthly { limit, resets_at: next_month_start(now), now });
    }
    if usage.concurrent_calls >= limits.concurrent_calls {
        return Err(QuotaExceeded::Concurrent { limit: limits.concurrent_calls, in_use: usage.concurrent_calls });
    }
    Ok(())
}

/// Returns the start of the calendar month (UTC) of `now`.
#[must_use]
pub fn month_start(now: Timestamp) -> Timestamp {
    let date = now.to_utc().date();
    let day = date.replace_day(1).expect("every month has a first day");
    Timestamp::from_millis(day.midnight().assume_utc().unix_timestamp() * 1_000)
}

/// Returns the start of the next calendar month (UTC).
#[must_use]
pub fn next_month_start(now: Timestamp) -> Timestamp {
    let date = month_start(now).to_utc().date();
    let days = date.month().length(date.year());
    month_start(now) + Duration::from_secs(u64::from(days) * 86_400)
}

/// Converts a wait to `Retry-After` seconds: rounded up, at least 1.
pub(crate) fn whole_seconds_until(at: Timestamp, now: Timestamp) -> u64 {
    let seconds = at.since(now).as_micros().div_ceil(1_000_000);
    u64::try_from(seconds).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("a date")
    }

    #[test]
    fn the_last_free_place_is_given_and_no_more() {
        let limits = QuotaLimits { concurrent_calls: 10, monthly_calls: Some(100), ..QuotaLimits::default() };
        let now = at("2026-01-31T23:59:58.5Z");
        let usage = |concurrent_calls, monthly_calls| QuotaUsage { concurrent_calls, monthly_calls };

        assert_eq!(admit(&usage(9, 99), &limits, now), Ok(()));
        let concurrent = admit(&usage(10, 99), &limits, now).expect_err("ten are running");
        assert_eq!(
            concurrent.to_string(),
            "Concurrent call limit reached: 10 of 10 in use. Try again when a call has ended."
        );
        let monthly = admit(&usage(10, 100), &limits, now).expect_err("the month is used up");
        assert_eq!(monthly.retry_after_seconds(), 2, "1.5 s rounded up");
        assert_eq!(
            monthly.to_string(),
            "Monthly call cap reached: 100 of 100 placed. The next call can be placed at 2026-02-01T00:00:00.000000Z."
        );
        let uncapped = QuotaLimits { monthly_calls: None, ..limits };
        assert_eq!(admit(&usage(9, u32::MAX), &uncapped, now), Ok(()));
        assert!(admit(&usage(0, 0), &QuotaLimits { concurrent_calls: 0, ..uncapped }, now).is_err(), "zero is none");
    }

    #[test]
    fn months_begin_and_end_in_utc_whatever_their_length() {
        for (now, start, next) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
            ("2026-12-31T23:59:59.999999Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"),
            ("2026-03-01T01:00:00+02:00", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        ] {
            assert_eq!(month_start(at(now)), at(start), "{now}");
            assert_eq!(next_month_start(at(now)), at(next), "{now}");
        }
    }
}
