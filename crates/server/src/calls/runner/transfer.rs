//! Transfers of a live call: by the API or the agent's tool, accepted by the carrier, and with some carriers answered by somebody.

use std::time::Duration;

use switchhook_carriers::{TransferError, registry};
use switchhook_core::Timestamp;
use switchhook_core::call::{CallInput, EndedBy, TalkEnd};
use switchhook_core::id::TenantId;
use switchhook_core::phone_number::PhoneNumber;
use tokio::time::Instant;

use super::effects::{CARRIER_ANSWER, answer_of};
use super::{Runner, TaskOutcome};
use crate::calls::tariff::numbering_plan;
use crate::store::dial_policy::DialAttempt;
use crate::store::{Store, dial_policy, tenants};
use crate::talk;

/// How long the carrier may take to report how a transfer ended: it rings the number for 30 s.
const REPORT_OF_TRANSFER: Duration = Duration::from_secs(45);
/// How long a carrier that reports no transfers may take to close the media, when its answer was lost: it closes them at once.
const MEDIA_OF_TRANSFER: Duration = Duration::from_secs(5);

/// What is known of a transfer that the carrier was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum TransferAnswer {
    /// The carrier transfers the call.
    Accepted,
    /// It does not, or was not asked.
    Refused,
    /// Its answer was lost. Somebody may be ringing.
    Unknown,
}

/// A transfer that the carrier was asked for.
pub(super) struct Transfer {
    by: EndedBy,
    /// Whether the carrier reports its end. Until then the leg is ours.
    reported: bool,
    /// When it has failed, unless the carrier has reported its end or closed the media.
    report_by: Option<Instant>,
    /// Whether the carrier has closed the media meanwhile.
    media_lost: bool,
}

/// Transfers of a call, one at a time.
#[derive(Default)]
pub(super) struct Transfers {
    under_way: Option<Transfer>,
    /// Legs of transfers that failed: what is reported about them again is of no transfer that follows.
    ended_legs: Vec<String>,
}

impl Transfers {
    /// When the carrier must have reported the end of the one under way.
    pub(super) fn report_by(&self) -> Option<Instant> {
        self.under_way.as_ref()?.report_by
    }

    /// What the end of the conversation means. Carriers end the media of a transfer before they have answered the request; those
    /// that report its end are waited for.
    pub(super) fn talk_ended(&mut self, end: TalkEnd) -> Option<TalkEnd> {
        match (&mut self.under_way, end) {
            (Some(transfer), TalkEnd::MediaLost) if transfer.reported => {
                transfer.media_lost = true;
                None
            }
            (Some(transfer), TalkEnd::MediaLost) => Some(TalkEnd::Transferred { by: transfer.by }),
            (_, end) => Some(end),
        }
    }
}

impl Runner {
    /// Has the carrier transfer the call, one transfer at a time. The agent is silent until it is known how that ended.
    pub(super) fn transfer(&mut self, to: &str, by: EndedBy) {
        let (Ok(carrier), leg) = (self.carrier.clone(), self.leg()) else { return };
        let Ok(to) = to.parse::<PhoneNumber>() else {
            tracing::error!("a command names a number that cannot be dialled");
            self.talk.tell(talk::Command::TransferFailed);
            return;
        };
        if self.transfers.under_way.is_some() {
            tracing::warn!("a transfer was asked for while another one is under way");
            return;
        }
        let reported = carrier.control.reports_transfers();
        self.transfers.under_way = Some(Transfer { by, reported, report_by: None, media_lost: false });
        self.talk.tell(talk::Command::TransferStarted);
        let (store, tenant, now) = (self.context.store.clone(), self.row.tenant(), self.context.clock.now());
        let counted = registry::rings_phones(&self.row.provider);
        self.ask_carrier(async move {
            if !may_transfer(&store, tenant, &to, counted, now).await {
                return TaskOutcome::Transfer { answer: TransferAnswer::Refused };
            }
            let answer = match answer_of(carrier.control.transfer(&leg, &to)).await {
                Some(Ok(())) => TransferAnswer::Accepted,
                Some(Err(error @ TransferError::Refused(_))) => {
                    tracing::warn!(%error, "the carrier refused a transfer");
                    TransferAnswer::Refused
                }
                Some(Err(error @ TransferError::Unknown { .. })) => {
                    tracing::warn!(%error, "the answer to a transfer was lost: what becomes of it is awaited");
                    TransferAnswer::Unknown
                }
                None => {
                    tracing::warn!(
                        "the carrier did not respond to a request to transfer: what becomes of it is awaited"
                    );
                    TransferAnswer::Unknown
                }
            };
            TaskOutcome::Transfer { answer }
        });
    }

    /// What the carrier's answer to a transfer means for the call. Its end may have been reported already.
    pub(super) fn transfer_answered(&mut self, answer: TransferAnswer) -> Option<CallInput> {
        let transfer = self.transfers.under_way.as_mut()?;
        let patience = match (answer, transfer.reported) {
            (TransferAnswer::Refused, _) => return self.transfer_failed(),
            (TransferAnswer::Accepted, false) => return self.bridged(),
            (TransferAnswer::Accepted | TransferAnswer::Unknown, true) => REPORT_OF_TRANSFER,
            (TransferAnswer::Unknown, false) => MEDIA_OF_TRANSFER,
        };
        transfer.report_by = Some(Instant::now() + patience);
        None
    }

    /// The far end is connected to the number.
    pub(super) fn bridged(&mut self) -> Option<CallInput> {
        let Transfer { by, .. } = self.transfers.under_way.take()?;
        Some(CallInput::TalkEnded(TalkEnd::Transferred { by }))
    }

    /// A leg that is not ours has ended. During a transfer whose end the carrier reports, it is the one to the number.
    pub(super) fn other_leg_ended(&mut self, carrier_call_id: String) -> Option<CallInput> {
        if self.transfers.ended_legs.contains(&carrier_call_id) {
            return None;
        }
        self.transfers.under_way.as_ref().filter(|transfer| transfer.reported)?;
        tracing::info!("a transfer was not answered");
        self.transfers.ended_legs.push(carrier_call_id);
        self.transfer_failed()
    }

    /// The carrier has not reported how a transfer ended.
    pub(super) fn transfer_unreported(&mut self) -> Option<CallInput> {
        tracing::warn!("the carrier did not report how a transfer ended: the agent takes the call back");
        self.transfer_failed()
    }

    /// The agent is back, if there is a line to talk on.
    fn transfer_failed(&mut self) -> Option<CallInput> {
        let transfer = self.transfers.under_way.take()?;
        if transfer.media_lost {
            return Some(CallInput::TalkEnded(TalkEnd::MediaLost));
        }
        self.talk.tell(talk::Command::TransferFailed);
        None
    }
}

/// Whether the tenant's dial policy allows a transfer to `to`, which then counts as a call to it. Without a database that
/// could say so, it does not.
async fn may_transfer(store: &Store, tenant: TenantId, to: &PhoneNumber, counted: bool, now: Timestamp) -> bool {
    let attempt = DialAttempt { to, plan: numbering_plan(to), counts_at: counted.then_some(now) };
    let decide = async {
        let mut tx = store.begin().await?;
        tenants::lock(&mut tx, tenant).await?;
        let decision = dial_policy::judge(&mut tx, tenant, attempt, now).await?;
        if decision.is_ok() && counted {
            dial_policy::count(&mut tx, tenant, &[(to.clone(), now)]).await?;
        }
        tx.commit().await?;
        Ok::<_, sqlx::Error>(decision)
    };
    match tokio::time::timeout(CARRIER_ANSWER, decide).await {
        Ok(Ok(Ok(()))) => true,
        Ok(Ok(Err(refused))) => {
            tracing::warn!("a transfer was not made: the number {refused}");
            false
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "a transfer was not made: its number could not be checked");
            false
        }
        Err(_) => {
            tracing::error!("a transfer was not made: the database did not respond");
            false
        }
    }
}
