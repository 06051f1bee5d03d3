//! Time spans of whole hours or days.

use serde::{Deserialize, Serialize};
use switchhook_core::Timestamp;
use switchhook_core::id::AgentId;
use utoipa::ToSchema;

use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::store::statistics::Span;

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

/// Bucket length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Interval {
    /// An hour.
    #[default]
    Hour,
    /// A day (UTC).
    Day,
}

impl Interval {
    pub(super) fn micros(self) -> i64 {
        match self {
            Self::Hour => HOUR,
            Self::Day => DAY,
        }
    }

    /// The longest span.
    fn most(self) -> i64 {
        match self {
            Self::Hour => 31 * DAY,
            Self::Day => 366 * DAY,
        }
    }

    /// The span when none is asked for.
    fn usual(self) -> i64 {
        match self {
            Self::Hour => DAY,
            Self::Day => 30 * DAY,
        }
    }

    /// Returns the span that is asked for, in whole intervals.
    ///
    /// # Errors
    /// 422 if it is empty or too long.
    pub(super) fn span(
        self,
        tenant: Tenant,
        after: Option<Timestamp>,
        before: Option<Timestamp>,
        agent: Option<AgentId>,
        now: Timestamp,
    ) -> Result<Span, ApiError> {
        let width = self.micros();
        let before = before.unwrap_or(now).as_micros();
        let after = after.map_or(before.saturating_sub(self.usual()), Timestamp::as_micros);
        if after >= before {
            return Err(ApiError::invalid_field("after", "must be earlier than `before`"));
        }
        let first = after - after.rem_euclid(width);
        let end = before - before.rem_euclid(width);
        let end = if end < before { end.saturating_add(width) } else { end };
        if end.saturating_sub(first) > self.most() {
            let days = self.most() / DAY;
            return Err(ApiError::invalid_field("after", format!("must be at most {days} days earlier than `before`")));
        }
        let (after, before) = (Timestamp::from_micros(first), Timestamp::from_micros(end));
        Ok(Span { tenant: tenant.id, after, before, agent })
    }

    /// Returns the beginnings of a span's intervals.
    pub(super) fn starts(self, span: &Span) -> impl Iterator<Item = Timestamp> + use<> {
        let (mut next, end, width) = (span.after.as_micros(), span.before.as_micros(), self.micros());
        std::iter::from_fn(move || {
            let start = next;
            next = next.saturating_add(width);
            (start < end).then(|| Timestamp::from_micros(start))
        })
    }
}
