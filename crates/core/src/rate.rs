//! The arithmetic of the rate limit: an exact sliding window.
//!
//! In any 60 seconds a tenant is admitted at most `limit` times, and it is rejected only if it was admitted `limit` times in the
//! last 60 seconds. Both follow from the time of the `limit`-th latest admitted request, which the database supplies under the
//! tenant's row. Rejected requests are not recorded.

use std::time::Duration;

use crate::Timestamp;
use crate::quota::whole_seconds_until;

/// The length of the window.
pub const RATE_WINDOW: Duration = Duration::from_secs(60);

/// A tenant's admitted requests, from the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admissions {
    /// Number of requests within the last [`RATE_WINDOW`].
    pub in_window: u32,
    /// Time of the `limit`-th latest; `None` if there are fewer.
    pub limit_th_latest: Option<Timestamp>,
}

/// The decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Record it and continue.
    Admitted {
        /// Remaining requests.
        remaining: u32,
    },
    /// Reject it with 429.
    Refused {
        /// The `Retry-After` header: whole seconds until the next admission, at least 1.
        retry_after_seconds: u64,
    },
}

/// Decides about a request at `now`, under a limit of `limit` requests per [`RATE_WINDOW`].
#[must_use]
pub fn decide(admissions: Admissions, limit: u32, now: Timestamp) -> Decision {
    if limit == 0 {
        return Decision::Refused { retry_after_seconds: RATE_WINDOW.as_secs() };
    }
    match admissions.limit_th_latest.map(|at| at + RATE_WINDOW).filter(|free_at| *free_at > now) {
        Some(free_at) => Decision::Refused { retry_after_seconds: whole_seconds_until(free_at, now) },
        None => Decision::Admitted { remaining: limit.saturating_sub(admissions.in_window.saturating_add(1)) },
    }
}

impl Decision {
    /// Formats the `RateLimit` header (draft-ietf-httpapi-ratelimit-headers).
    #[must_use]
    pub fn rate_limit_header(self) -> String {
        match self {
            Self::Admitted { remaining } => format!("\"requests\";r={remaining}"),
            Self::Refused { retry_after_seconds } => format!("\"requests\";r=0;t={retry_after_seconds}"),
        }
    }
}

/// Formats the `RateLimit-Policy` header (draft-ietf-httpapi-ratelimit-headers).
#[must_use]
pub fn policy_header(limit: u32) -> String {
    format!("\"requests\";q={limit};w={}", RATE_WINDOW.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000) + Duration::from_millis(millis)
    }

    /// Returns the result of the database statement for these admitted requests.
    fn count(admitted: &[Timestamp], limit: u32, now: Timestamp) -> Admissions {
        let in_window = admitted.iter().filter(|hit| **hit + RATE_WINDOW > now).count();
        Admissions {
            in_window: u32::try_from(in_window).expect("few"),
            limit_th_latest: admitted.iter().rev().nth(limit as usize - 1).copied(),
        }
    }

    #[test]
    fn a_place_becomes_free_exactly_60_seconds_after_it_was_taken() {
        let hits = [at(0), at(30_000)];
        let decided = |millis| decide(count(&hits, 2, at(millis)), 2, at(millis));
        assert_eq!(decided(30_001), Decision::Refused { retry_after_seconds: 30 });
        assert_eq!(decided(59_999), Decision::Refused { retry_after_seconds: 1 });
        assert_eq!(decided(60_000), Decision::Admitted { remaining: 0 });
        assert_eq!(decided(90_000), Decision::Admitted { remaining: 1 });
    }

    #[test]
    fn headers_name_policy_and_state() {
        assert_eq!(policy_header(120), "\"requests\";q=120;w=60");
        assert_eq!(Decision::Admitted { remaining: 7 }.rate_limit_header(), "\"requests\";r=7");
        assert_eq!(Decision::Refused { retry_after_seconds: 9 }.rate_limit_header(), "\"requests\";r=0;t=9");
    }

    proptest! {
        #[test]
        fn never_too_many_never_a_refusal_too_early_and_retry_after_is_true(
            limit in 1_u32..6,
            gaps in prop::collection::vec(0_u64..40_000, 1..60),
        ) {
            let mut admitted: Vec<Timestamp> = vec![];
            let mut now = at(0);
            for gap in gaps {
                now = now + Duration::from_millis(gap);
                let recent = admitted.iter().filter(|hit| **hit + RATE_WINDOW > now).count();
                match decide(count(&admitted, limit, now), limit, now) {
                    Decision::Admitted { remaining } => {
                        prop_assert!(recent < limit as usize);
                        prop_assert_eq!(remaining as usize, limit as usize - recent - 1);
                        admitted.push(now);
                    }
                    Decision::Refused { retry_after_seconds } => {
                        prop_assert_eq!(recent, limit as usize);
                        let later = now + Duration::from_secs(retry_after_seconds);
                        let then = decide(count(&admitted, limit, later), limit, later);
                        let admitted_then = matches!(then, Decision::Admitted { .. });
                        prop_assert!(admitted_then, "a client that honours Retry-After is admitted");
                        let earlier = now + Duration::from_secs(retry_after_seconds - 1);
                        let too_early = decide(count(&admitted, limit, earlier), limit, earlier);
                        let refused = matches!(too_early, Decision::Refused { .. });
                        prop_assert!(refused, "and nobody waits a second too long");
                    }
                }
            }
        }
    }
}
