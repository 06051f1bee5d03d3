//! Permission to dial a call: until it is answered or ends, and if the tenant's dial policy still allows it.

use std::time::Duration;

use switchhook_core::call::Direction;
use switchhook_core::dial_policy::DialRefused;
use switchhook_core::phone_number::PhoneNumber;
use tokio_util::sync::CancellationToken;

use super::ClaimReason;
use crate::calls::Context;
use crate::calls::dial_permission::{self, CalledNumber};
use crate::store::calls::CallRow;

/// How long the dial policy's decision about a placed call is valid.
const DECISION_HOLDS: Duration = Duration::from_secs(60);

/// Cancelled with the runner at the latest, so that a call that another node owns is not dialled by this one.
#[derive(Default)]
pub(super) struct DialPermit {
    pub(super) token: CancellationToken,
    /// The rule that now refuses the number.
    pub(super) refused: Option<DialRefused>,
}

impl Drop for DialPermit {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

/// Checks the number of a queued call again if it has waited: since it was placed, prefixes may have been denied and the daily budget
/// spent. It is already counted among the day's calls to the number.
pub(super) async fn check(
    context: &Context,
    row: &CallRow,
    reason: ClaimReason,
) -> Result<Option<DialRefused>, sqlx::Error> {
    let now = context.clock.now();
    let waited = now.as_micros().saturating_sub(row.created_at) > DECISION_HOLDS.as_micros() as i64;
    let dials = reason == ClaimReason::Queued && row.direction == Direction::Outbound.as_str();
    let Ok(to) = row.to_number.parse::<PhoneNumber>() else { return Ok(None) };
    if !waited || !dials {
        return Ok(None);
    }
    let called = CalledNumber::uncounted(to);
    let conn = &mut context.store.read().await?;
    let decision = dial_permission::check(conn, row.tenant(), called.attempt(now), now).await?;
    Ok(decision.err())
}
