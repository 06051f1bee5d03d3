//! Transfers of a live call: by the API or the agent's tool, accepted by the carrier, and with some carriers answered by somebody.

use std::time::Duration;

use switchhook_carriers::{Media, TransferError, TransferLeg, TransferReports};
use switchhook_core::Timestamp;
use switchhook_core::call::{CallInput, EndedBy, TalkEnd, TransferLegState, TransferStep, TransferWatch};
use switchhook_core::id::TenantId;
use switchhook_core::phone_number::PhoneNumber;
use tokio::time::Instant;

use super::effects::{CARRIER_ANSWER, answer_of};
use super::transfer_legs::{OwnLeg, TransferLookup};
use super::{Runner, TaskOutcome};
use crate::calls::dial_permission::{self, CalledNumber};
use crate::store::Store;
use crate::talk;

/// How long a carrier that ends the media with a transfer may take to report how that ended: it rings the number for 30 s.
const REPORT_OF_TRANSFER: Duration = Duration::from_secs(45);
/// How long a carrier that ends the media with a transfer may take to do so, when its answer was lost: it does at once.
const MEDIA_OF_TRANSFER: Duration = Duration::from_secs(5);
/// How long a carrier may take to open media again after a transfer that failed.
const MEDIA_AGAIN: Duration = Duration::from_secs(10);
/// How often a number that rings for too long is looked up before the call is ended.
const LATE_LOOKS: u32 = 3;

/// The carrier's answer to a request to transfer.
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
    /// Counts the transfers of the call.
    number: u32,
    by: EndedBy,
    /// What the carrier reports of it. Until its end is known the leg is ours.
    reports: TransferReports,
    /// Until when what the carrier does next is waited for.
    wait_until: Option<Instant>,
    /// Whether the media has ended meanwhile.
    media_gone: bool,
    /// Whether it has failed, and the carrier is about to open media again.
    failed: bool,
    /// The carrier's id of the leg to the number, once that is known.
    leg: Option<String>,
    /// Decides about a transfer during which the call's own leg stays ours.
    watch: TransferWatch,
    /// How often the legs were looked up.
    looks: u32,
}

impl Transfer {
    fn wait(&mut self, patience: Duration) {
        self.wait_until = Some(Instant::now() + patience);
    }
}

/// Transfers of a call, one at a time.
#[derive(Default)]
pub(super) struct Transfers {
    under_way: Option<Transfer>,
    /// How many there were.
    count: u32,
    /// Legs of transfers that failed: what is reported about them again is of no transfer that follows.
    ended_legs: Vec<String>,
}

impl Transfers {
    /// Returns the transfer under way, if the carrier reports its end by events of this leg.
    fn of_leg(&mut self, carrier_call_id: &str) -> Option<&mut Transfer> {
        let is_over = self.ended_legs.iter().any(|ended| ended == carrier_call_id);
        self.under_way.as_mut().filter(|transfer| transfer.reports == TransferReports::MediaStays && !is_over)
    }
}

impl Transfers {
    /// Until when what the carrier does next about the one under way is waited for.
    pub(super) fn wait_until(&self) -> Option<Instant> {
        self.under_way.as_ref()?.wait_until
    }

    /// Returns the transfer with this number while its end is unknown.
    fn undecided(&mut self, number: u32) -> Option<&mut Transfer> {
        self.under_way.as_mut().filter(|transfer| transfer.number == number && !transfer.failed)
    }
}

impl Runner {
    /// Has the carrier transfer the call, one transfer at a time. The agent is silent until it is known how that ended.
    pub(super) fn transfer(&mut self, to: &str, by: EndedBy) {
        let (Ok(carrier), leg) = (self.carrier.clone(), self.leg()) else { return };
        let Ok(to) = to.parse::<PhoneNumber>() else {
            tracing::error!("a command names a number that cannot be dialled");
            self.talk.send(talk::Command::TransferFailed);
            return;
        };
        if self.transfers.under_way.is_some() {
            tracing::warn!("a transfer was asked for while another one is under way");
            return;
        }
        self.transfers.count += 1;
        let (number, reports) = (self.transfers.count, carrier.control.transfer_reports());
        self.transfers.under_way = Some(Transfer {
            number,
            by,
            reports,
            wait_until: None,
            media_gone: false,
            failed: false,
            leg: None,
            watch: TransferWatch::new(self.clock.now()),
            looks: 0,
        });
        self.talk.send(talk::Command::TransferStarted);
        let (store, tenant, now) = (self.context.store.clone(), self.row.tenant(), self.context.clock.now());
        let called = CalledNumber::over(&self.row.provider, to);
        // The commands of clients are stored already.
        let requested = (by == EndedBy::Agent).then(|| self.transcript.requests_written());
        self.ask_carrier(async move {
            if let Some(requested) = requested
                && !requested.await
            {
                tracing::error!("a transfer was not made: it could not be written");
                return TaskOutcome::Transfer { number, answer: TransferAnswer::Refused };
            }
            if !may_transfer(&store, tenant, &called, now).await {
                return TaskOutcome::Transfer { number, answer: TransferAnswer::Refused };
            }
            let answer = match answer_of(carrier.control.transfer(&leg, called.number(), number)).await {
                Some(Ok(())) => TransferAnswer::Accepted,
                Some(Err(error @ TransferError::Refused(_))) => {
                    tracing::warn!(%error, "the carrier refused a transfer");
                    TransferAnswer::Refused
                }
                Some(Err(error @ TransferError::Unknown { .. })) => {
                    tracing::warn!(%error, "the response to a transfer was lost; waiting for its outcome");
                    TransferAnswer::Unknown
                }
                None => {
                    tracing::warn!("the carrier did not respond to a request to transfer; waiting for its outcome");
                    TransferAnswer::Unknown
                }
            };
            TaskOutcome::Transfer { number, answer }
        });
    }

    /// Handles the carrier's answer to a transfer. Its end may have been reported already.
    pub(super) fn transfer_answered(&mut self, number: u32, answer: TransferAnswer) -> Option<CallInput> {
        let now = self.clock.now();
        let transfer = self.transfers.undecided(number)?;
        match (answer, transfer.reports) {
            (TransferAnswer::Refused, _) => return self.transfer_failed(),
            (TransferAnswer::Accepted, TransferReports::Nothing) => return self.bridged(),
            // The media ends where the request arrived.
            (TransferAnswer::Unknown, TransferReports::Nothing) => transfer.wait(MEDIA_OF_TRANSFER),
            (TransferAnswer::Unknown, TransferReports::MediaReturns) if !transfer.media_gone => {
                transfer.wait(MEDIA_OF_TRANSFER);
            }
            (_, TransferReports::MediaStays) => {
                let pause = transfer.watch.accepted(now);
                transfer.wait(pause);
            }
            _ => transfer.wait(REPORT_OF_TRANSFER),
        }
        None
    }

    /// Handles the report that the call's own leg was connected. After an earlier transfer it may be a late one of that, so the leg to the
    /// number is looked up, unless it has answered.
    pub(super) fn own_leg_bridged(&mut self) -> Option<CallInput> {
        let (now, earlier) = (self.clock.now(), !self.transfers.ended_legs.is_empty());
        let transfer = self.transfers.under_way.as_mut()?;
        if !earlier || transfer.watch.is_answered() {
            return self.bridged();
        }
        let pause = transfer.watch.answered(now);
        transfer.wait(pause);
        None
    }

    /// Handles the report that the carrier has created another leg.
    pub(super) fn other_leg_started(&mut self, carrier_call_id: String) -> Option<CallInput> {
        self.transfers.of_leg(&carrier_call_id)?.leg.get_or_insert(carrier_call_id);
        None
    }

    /// Handles the report that another leg was answered. It is connected at once, but it may also hang up at once.
    pub(super) fn other_leg_answered(&mut self, carrier_call_id: String) -> Option<CallInput> {
        let now = self.clock.now();
        let transfer = self.transfers.of_leg(&carrier_call_id)?;
        transfer.leg = Some(carrier_call_id);
        if !transfer.watch.is_answered() {
            let pause = transfer.watch.answered(now);
            transfer.wait(pause);
        }
        None
    }

    /// Handles the report that another leg was connected to the far end.
    pub(super) fn other_leg_bridged(&mut self, carrier_call_id: &str) -> Option<CallInput> {
        self.transfers.of_leg(carrier_call_id)?;
        self.bridged()
    }

    /// The far end is connected to the number.
    pub(super) fn bridged(&mut self) -> Option<CallInput> {
        let Transfer { by, .. } = self.transfers.under_way.take()?;
        self.talk.transferred();
        Some(CallInput::TalkEnded(TalkEnd::Transferred { by }))
    }

    /// The carrier reports how a transfer ended: the one under way, or one before it.
    pub(super) fn transfer_ended(&mut self, number: u32, bridged: bool) -> Option<CallInput> {
        let transfer = self.transfers.under_way.as_mut().filter(|transfer| transfer.number == number)?;
        if bridged {
            return self.bridged();
        }
        tracing::info!("a transfer was not answered");
        if transfer.reports != TransferReports::MediaReturns || !self.talk.is_running() {
            return self.transfer_failed();
        }
        if !std::mem::replace(&mut transfer.failed, true) {
            transfer.wait(MEDIA_AGAIN);
        }
        None
    }

    /// A leg that is not ours has ended. During a transfer whose end the carrier reports by that, it is the one to the number, unless that is
    /// known to be another.
    pub(super) fn other_leg_ended(&mut self, carrier_call_id: String) -> Option<CallInput> {
        let transfer = self.transfers.of_leg(&carrier_call_id)?;
        if transfer.leg.as_ref().is_some_and(|leg| *leg != carrier_call_id) {
            return None;
        }
        transfer.leg = Some(carrier_call_id);
        tracing::info!("a transfer was not answered");
        self.transfer_failed()
    }

    /// The media has ended. Carriers end that of a transfer before they have answered the request; those that report how it ends are
    /// waited for.
    pub(super) fn line_gone(&mut self) -> Option<CallInput> {
        let Some(transfer) = &mut self.transfers.under_way else {
            return Some(CallInput::TalkEnded(TalkEnd::MediaLost));
        };
        if transfer.reports == TransferReports::Nothing {
            return self.bridged();
        }
        transfer.media_gone = true;
        let is_watched = transfer.reports == TransferReports::MediaStays;
        if transfer.wait_until.is_some() && !transfer.failed && !is_watched {
            transfer.wait(REPORT_OF_TRANSFER);
        }
        None
    }

    /// The carrier has opened media again: the transfer under way has failed, whether that was reported or not. No other stream has a
    /// use: the end of the first one is the end of the conversation.
    pub(super) fn line_returned(&mut self, media: Media) {
        let of_transfer = |transfer: &mut Transfer| transfer.reports == TransferReports::MediaReturns;
        if self.talk.is_running() && self.transfers.under_way.take_if(of_transfer).is_some() {
            self.talk.send(talk::Command::LineReturned(Box::new(media)));
            self.talk.send(talk::Command::TransferFailed);
        }
    }

    /// Handles that the carrier did not take the next step of a transfer in time.
    pub(super) fn transfer_waited_out(&mut self) -> Option<CallInput> {
        let transfer = self.transfers.under_way.as_mut()?;
        match transfer.reports {
            TransferReports::MediaReturns if transfer.failed => {
                tracing::warn!("the carrier did not open media again after a transfer that failed");
                self.transfers.under_way = None;
                Some(CallInput::TalkEnded(TalkEnd::MediaLost))
            }
            TransferReports::MediaReturns if !transfer.media_gone => {
                tracing::warn!("the carrier did not report how a transfer ended: the agent takes the call back");
                self.transfer_failed()
            }
            TransferReports::Nothing => self.transfer_failed(),
            TransferReports::MediaReturns | TransferReports::MediaStays => {
                transfer.wait_until = None;
                transfer.looks += 1;
                let number = transfer.number;
                let (own_leg, other) = (transfer.media_gone, transfer.leg.clone());
                let over = self.transfers.ended_legs.clone();
                self.look_transfer_up(number, TransferLookup { own_leg, other, over });
                None
            }
        }
    }

    /// The legs of a transfer were looked up. Its end may have been reported meanwhile.
    pub(super) fn transfer_looked_up(&mut self, number: u32, own: OwnLeg, other: TransferLeg) -> Option<CallInput> {
        let now = self.clock.now();
        let transfer = self.transfers.undecided(number)?;
        if let OwnLeg::Ended(hangup) = own {
            return Some(CallInput::CarrierHangup(hangup));
        }
        if let Some(leg) = other.carrier_call_id {
            transfer.leg.get_or_insert(leg);
        }
        if transfer.reports == TransferReports::MediaReturns {
            return self.silent_transfer_looked_up(&own, other.state);
        }
        match transfer.watch.looked_up(now, other.state) {
            TransferStep::LookAgain(pause) => {
                transfer.wait(pause);
                None
            }
            TransferStep::Bridged => {
                tracing::warn!("the carrier did not report how a transfer ended: its number has answered");
                self.bridged()
            }
            TransferStep::Failed { hang_up } => {
                tracing::warn!("the carrier did not report how a transfer ended: the agent takes the call back");
                if let Some(leg) = transfer.leg.clone().filter(|_| hang_up) {
                    self.hang_up_other(leg);
                }
                self.transfer_failed()
            }
        }
    }

    /// Decides about a transfer that has ended the media, when its number rings no longer and nothing was reported. A leg that is up then is
    /// connected to the number, as far as the carrier does not say otherwise: without a report of its end, it would have been hung up.
    fn silent_transfer_looked_up(&mut self, own: &OwnLeg, other: TransferLegState) -> Option<CallInput> {
        let transfer = self.transfers.under_way.as_mut()?;
        match (other, own) {
            (TransferLegState::Connected | TransferLegState::Up, _) | (TransferLegState::Unknown, OwnLeg::Up) => {
                tracing::warn!("the carrier did not report how a transfer ended: its number has answered");
                self.bridged()
            }
            (TransferLegState::Ringing, _) if transfer.looks < LATE_LOOKS => {
                transfer.wait(MEDIA_AGAIN);
                None
            }
            (TransferLegState::Ended, _) => {
                tracing::warn!("the carrier did not report that a transfer was not answered");
                transfer.failed = true;
                transfer.wait(MEDIA_AGAIN);
                None
            }
            (TransferLegState::Unknown | TransferLegState::Ringing, _) => {
                Some(CallInput::TalkEnded(TalkEnd::MediaLost))
            }
        }
    }

    /// The agent is back, if there is a line to talk on.
    fn transfer_failed(&mut self) -> Option<CallInput> {
        let transfer = self.transfers.under_way.take()?;
        self.transfers.ended_legs.extend(transfer.leg);
        if transfer.media_gone {
            return Some(CallInput::TalkEnded(TalkEnd::MediaLost));
        }
        self.talk.send(talk::Command::TransferFailed);
        None
    }
}

/// Returns whether the tenant's dial policy allows a transfer to this number, which then counts as a call to it. It does not if the
/// database cannot be asked.
async fn may_transfer(store: &Store, tenant: TenantId, to: &CalledNumber, now: Timestamp) -> bool {
    let decide = dial_permission::check_and_count(store, tenant, to.attempt(now), now);
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
