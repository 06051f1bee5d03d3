//! One live call: the only task that writes its row.
//!
//! It passes every input to [`Call`], commits the resulting change, and then acts; see the numbered rules there. When a commit finds that
//! the lease is lost, another node owns the call, and this task ends without any further effect.

mod analysis;
mod commands;
mod commit;
mod effects;
mod permit;
mod recovery;
mod talking;
mod transcript;
mod transfer;
mod transfer_legs;

use std::sync::Arc;
use std::time::Duration;

use switchhook_carriers::{Carrier, CarrierEvent, LegEvent, LegEvents, Media, TransferLeg};
use switchhook_core::call::{Call, CallEffect, CallInput, EndedBy, Phase, TalkEnd, Timing};
use switchhook_runtime::clock::SteadyClock;
use switchhook_runtime::panics::{Panicked, caught};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use self::commands::{Commands, FetchedCommands};
use self::commit::Committed;
use self::permit::DialPermit;
use self::talking::{Talk, TalkEvent, Verdict};
use self::transcript::{TranscriptWriter, Written};
use self::transfer::{TransferAnswer, Transfers};
use self::transfer_legs::OwnLeg;
use super::setup::{CallSetup, SetupError};
use super::{Context, LEASE, LiveEntry, RunnerSignal};
use crate::store::calls::{CallRow, WrapUp};
use crate::talk::prepared::{Preparation, Prepared};

/// How long loading a call may take, with its models, and an attempt to read it; less than a lease.
const LOADED_BY: Duration = Duration::from_secs(9);
const ONE_TRY: Duration = Duration::from_secs(3);
/// The pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// Why this node claimed the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimReason {
    /// It was queued: dial it.
    Queued,
    /// It arrived at this node: answer it.
    Arrived,
    /// Its node died after committing to dial: find out the outcome and clean up.
    Orphaned,
    /// Another node dialled it, and its media reached this one.
    MediaArrived,
}

/// Runs one call until it ends.
pub(super) async fn run(context: Context, row: CallRow, reason: ClaimReason, mut entry: LiveEntry) {
    let span = tracing::info_span!("call", id = %row.call_id());
    async {
        match Runner::new(context, row, reason, &entry).await {
            Ok(mut runner) => runner.run(reason, &mut entry).await,
            // The lease lapses, and a node claims the call again.
            Err(error) => tracing::error!(%error, "could not take up a call; retrying when its lease ends"),
        }
    }
    .instrument(span)
    .await;
}

/// Waits until the conversation is ready or cannot begin, so that no phone rings for a conversation that would fail.
async fn preparation_progress(prepared: &mut Option<Prepared>) -> Preparation {
    match prepared {
        Some(prepared) => prepared.progress().await,
        None => std::future::pending().await,
    }
}

/// The data needed before anything can be done about a call.
type Loaded = (Result<Arc<Carrier>, String>, Result<CallSetup, String>, DialPermit);

/// Loads the data, retrying while the database is unavailable, for less than a lease. The call's deadlines cannot be enforced earlier:
/// hanging up takes the carrier's credentials.
async fn load(context: &Context, row: &CallRow, reason: ClaimReason, give_up: Instant) -> Result<Loaded, sqlx::Error> {
    loop {
        // Boxed: most of its state is needed only briefly.
        let loading = Box::pin(async {
            let (store, setup) = (&context.store, &context.setup);
            let (carrier, plan) = tokio::join!(caught(setup.carrier(store, row)), caught(setup.plan(store, row)));
            let (carrier, mut plan) = (set_up(carrier)?, set_up(plan)?);
            if let (Ok(carrier), Ok(plan)) = (&carrier, &mut plan) {
                plan.set_format(carrier.format);
            }
            let fault =
                carrier.as_ref().ok().and_then(|carrier| carrier.simulation.as_ref()?.provider_fault(row.far_end()));
            if let (Some(fault), Ok(plan)) = (fault, &mut plan) {
                plan.inject(fault);
            }
            let refused = permit::check(context, row, reason).await?;
            Ok((carrier, plan, DialPermit { token: CancellationToken::new(), refused }))
        });
        match timeout(ONE_TRY, loading).await.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
            Err(error) if Instant::now() < give_up => {
                tracing::warn!(%error, "could not read a call; retrying");
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            loaded => return loaded,
        }
    }
}

/// Returns the result of setting something up, or one sentence that says why it failed.
fn set_up<T>(result: Result<Result<T, SetupError>, Panicked>) -> Result<Result<T, String>, sqlx::Error> {
    match result {
        Ok(result) => SetupError::apart(result),
        Err(_) => Ok(Err("The call could not be set up. The service's log has the reason.".to_owned())),
    }
}

/// The lease or the database is lost: nothing more may be written or done.
struct Stopped;

/// The outcome of a background task.
enum TaskOutcome {
    /// An input for the state machine.
    Input(CallInput),
    /// The conversation is over and analysed.
    WrappedUp {
        /// The results of the conversation.
        wrap_up: Box<WrapUp>,
        /// Whether it did not report, so that they come from the transcript.
        from_traces: bool,
    },
    /// Lines of the transcript were written.
    Transcript {
        /// The number of written lines; `None` if the lease is lost.
        written: Option<Written>,
    },
    /// The commands that wait in the database.
    Commands(Result<FetchedCommands, sqlx::Error>),
    /// The carrier was asked to send DTMF. Digits that it does not send are sent in band.
    Keys {
        /// The digits to send in band, if the carrier does not send DTMF.
        in_band: Option<String>,
    },
    /// The carrier's response to a transfer.
    Transfer {
        /// The number of the transfer.
        number: u32,
        /// The response.
        answer: TransferAnswer,
    },
    /// The legs of a transfer were looked up, since its end was not reported.
    Transferred {
        /// The number of the transfer.
        number: u32,
        /// The call's own leg.
        own: OwnLeg,
        /// The leg to the number.
        other: TransferLeg,
    },
}

/// When to answer an inbound call: it is better to ring a moment longer than to answer with silence.
#[derive(Default)]
struct Answering {
    /// Whether the conversation can begin.
    ready: bool,
    /// The latest time to answer; earlier if the conversation is ready.
    by: Option<Instant>,
}

struct Runner {
    context: Context,
    /// The clock of the call's deadlines and of the times in its row: it runs from the time of day at which this node took the call up, so
    /// that they add up if the machine's clock is set.
    clock: SteadyClock,
    row: CallRow,
    call: Call,
    timing: Timing,
    /// One sentence instead if it could not be set up.
    carrier: Result<Arc<Carrier>, String>,
    plan: Result<Arc<CallSetup>, String>,
    events: LegEvents,
    prepared: Option<Prepared>,
    /// A conversation that cannot begin, but has a cost.
    unused: Option<Prepared>,
    answering: Answering,
    media: Option<Media>,
    talk: Talk,
    transcript: TranscriptWriter,
    commands: Commands,
    wrap_up: Option<Box<WrapUp>>,
    /// The answering party, if the carrier detects it.
    answered_by: Option<&'static str>,
    /// Cancelled when the call must no longer be dialled, even if another dial attempt is pending.
    dial_permit: DialPermit,
    /// Keys that wait until the carrier has responded to those before them.
    keys: String,
    pressing: bool,
    transfers: Transfers,
    outcomes: (mpsc::UnboundedSender<TaskOutcome>, mpsc::UnboundedReceiver<TaskOutcome>),
    /// Tasks that are cancelled when the runner is dropped.
    work: Vec<AbortOnDropHandle<()>>,
}

impl Runner {
    async fn new(context: Context, row: CallRow, reason: ClaimReason, entry: &LiveEntry) -> Result<Self, sqlx::Error> {
        let (loaded_by, clock) = (Instant::now() + LOADED_BY, context.clock.steady());
        let (carrier, mut plan, dial_permit) = load(&context, &row, reason, loaded_by).await?;
        if let Ok(plan) = &mut plan {
            plan.talk.audience = entry.audience.clone();
        }
        let timing = super::setup::timing(&context.config, plan.as_ref().ok());
        let call = Call::restore(row.snapshot()?, timing);
        // The greeting is synthesised and the STT connected while the phone rings.
        let browser_is_gone = carrier.as_ref().is_ok_and(|carrier| carrier.browser_is_gone(row.call_id()));
        let prepared = match (&plan, reason) {
            // Nothing would play the greeting.
            _ if browser_is_gone || dial_permit.refused.is_some() => None,
            // An orphaned call may still be answered.
            (Ok(plan), _) if reason != ClaimReason::Orphaned || matches!(call.phase(), Phase::Dialing { .. }) => {
                // Read by the conversation, they would count against the provider's deadline.
                let _ = timeout_at(loaded_by, context.setup.load_local_speech(&plan.talk.agent)).await;
                Some(Prepared::new(plan.talk.clone(), plan.pipeline.clone(), plan.realtime.clone()))
            }
            _ => None,
        };
        Ok(Self {
            context,
            clock,
            row,
            call,
            timing,
            carrier,
            plan: plan.map(Arc::new),
            events: entry.events.clone(),
            prepared,
            unused: None,
            answering: Answering::default(),
            media: None,
            talk: Talk::none(),
            transcript: TranscriptWriter::default(),
            commands: Commands::default(),
            wrap_up: None,
            answered_by: None,
            dial_permit,
            keys: String::new(),
            pressing: false,
            transfers: Transfers::default(),
            outcomes: mpsc::unbounded_channel(),
            work: Vec::new(),
        })
    }

    /// Runs the call. A panic ends it with what is known of it; if that panics too, the lease lapses.
    async fn run(&mut self, reason: ClaimReason, entry: &mut LiveEntry) {
        // Boxed: it lives as long as the call, and most of its state is needed only briefly.
        if caught(Box::pin(self.live(reason, entry))).await.is_err() {
            tracing::error!("the runner of a call panicked: ending the call");
            if caught(Box::pin(self.end_after_panic(entry))).await.is_err() {
                tracing::error!("the runner of a call panicked again; the call is looked at again when its lease ends");
            }
        }
    }

    /// Ends the call from the state in its row: what was not committed has not happened.
    async fn end_after_panic(&mut self, entry: &mut LiveEntry) -> Result<(), Stopped> {
        let snapshot = self.row.snapshot().map_err(|_| Stopped)?;
        self.call = Call::restore(snapshot, self.timing);
        match self.call.phase() {
            Phase::Queued { .. } => return Err(Stopped), // It is claimed and dialled again.
            Phase::Closing(_) => {
                // It is unknown whether that was done. Twice is harmless.
                self.hang_up();
                if self.talk.is_running() {
                    self.stop_talk();
                }
            }
            _ => self.handle(CallInput::TalkEnded(talking::panicked())).await?,
        }
        self.until_ended(entry).await
    }

    async fn live(&mut self, reason: ClaimReason, entry: &mut LiveEntry) -> Result<(), Stopped> {
        match reason {
            ClaimReason::Queued if self.row.hangup_requested_at.is_some() => {
                self.handle(CallInput::HangUpRequested).await?;
            }
            ClaimReason::Queued => self.handle(CallInput::Dial).await?,
            ClaimReason::Orphaned => {
                Box::pin(self.recover_conversation()).await;
                if !self.call.is_in_conversation() {
                    Box::pin(self.apply_pending_commands()).await?; // Carrier events that came meanwhile wait in the database.
                } else if Box::pin(self.was_bridged()).await {
                    // The caller is connected to another phone, and must not be hung up on.
                    self.handle(CallInput::TalkEnded(TalkEnd::Transferred { by: EndedBy::Agent })).await?;
                }
                self.handle(CallInput::Abandoned).await?;
            }
            ClaimReason::Arrived => self.pick_up().await?,
            ClaimReason::MediaArrived => {}
        }
        self.until_ended(entry).await
    }

    async fn until_ended(&mut self, entry: &mut LiveEntry) -> Result<(), Stopped> {
        while !self.call.status().is_terminal() {
            let until_due = self.call.next_deadline().map_or(LEASE, |at| at.since(self.clock.now()));
            let transfer_waits = self.transfers.wait_until();
            let answer_by = self.answering.by.filter(|_| self.is_unanswered());
            let input = tokio::select! {
                biased;
                // First: no call outlives its deadline, however many other events there are.
                () = tokio::time::sleep(until_due) => Some(CallInput::Tick),
                // Then: a conversation that ends closes its media. The carrier takes that for the end of the call and reports it, but the
                // conversation knows why the call ended.
                event = self.talk.next() => match event {
                    TalkEvent::Line(line) => {
                        self.transcript.add(line);
                        self.write_transcript();
                        None
                    }
                    TalkEvent::ToolCall(tool_call) => {
                        self.transcript.add_tool_call(tool_call);
                        self.write_transcript();
                        None
                    }
                    TalkEvent::ToolRequested(tool_call, stored) => {
                        self.write_request(tool_call, stored);
                        None
                    }
                    TalkEvent::Request(request) => {
                        self.carrier_request(request);
                        None
                    }
                    TalkEvent::LineGone | TalkEvent::Ended(TalkEnd::MediaLost) => self.line_gone(),
                    TalkEvent::Ended(end) => Some(CallInput::TalkEnded(end)),
                },
                Some(signal) = entry.signals.recv() => match signal {
                    RunnerSignal::HangUp => Some(CallInput::HangUpRequested),
                    RunnerSignal::Commands => {
                        self.look_for_commands();
                        None
                    }
                    RunnerSignal::Drain => Some(CallInput::Drain),
                    RunnerSignal::Abandon => return Err(Stopped),
                },
                Some(event) = entry.received.recv() => self.leg_event(event),
                progress = preparation_progress(&mut self.prepared) => match progress {
                    Preparation::Ready => {
                        self.answering.ready = true;
                        self.answer_if_due();
                        None
                    }
                    Preparation::Failed(failure) => {
                        self.unused = self.prepared.take(); // It has failed once and for all.
                        Some(CallInput::TalkEnded(talking::failed(&failure)))
                    }
                },
                () = tokio::time::sleep_until(answer_by.unwrap_or_else(Instant::now)), if answer_by.is_some() => {
                    self.answering.ready = true; // As ready as it will be.
                    self.answer_if_due();
                    None
                }
                () = tokio::time::sleep_until(transfer_waits.unwrap_or_else(Instant::now)), if transfer_waits.is_some() => {
                    self.transfer_waited_out()
                }
                Some(outcome) = self.outcomes.1.recv() => self.task_finished(outcome).await?,
            };
            if let Some(input) = input {
                self.handle(input).await?;
            }
        }
        Ok(())
    }

    fn is_unanswered(&self) -> bool {
        matches!(self.call.phase(), Phase::Dialing { .. })
    }

    fn leg_event(&mut self, event: LegEvent) -> Option<CallInput> {
        match event {
            LegEvent::Carrier(event) => self.carrier_event(event),
            LegEvent::Media(media) if self.media.is_none() && !self.talk.has_begun() => {
                self.media = Some(media);
                Some(CallInput::MediaStarted)
            }
            // After a failed transfer, Twilio and SignalWire open another stream. Otherwise no carrier reconnects one: they continue with the next
            // verb, and no verb follows; Telnyx starts another one only on request.
            LegEvent::Media(another) => {
                self.line_returned(another);
                None
            }
        }
    }

    fn carrier_event(&mut self, event: CarrierEvent) -> Option<CallInput> {
        match event {
            CarrierEvent::Id(carrier_call_id) => {
                Some(CallInput::DialAccepted { carrier_call_id, waits: Duration::ZERO })
            }
            CarrierEvent::Ringing => Some(CallInput::Ringing),
            CarrierEvent::Answered => Some(CallInput::Answered),
            CarrierEvent::NoMedia(words) => Some(CallInput::NoMedia { error: words.into() }),
            CarrierEvent::Hangup(hangup) => Some(CallInput::CarrierHangup(hangup)),
            CarrierEvent::Bridged => self.own_leg_bridged(),
            CarrierEvent::TransferEnded { number, bridged } => self.transfer_ended(number, bridged),
            CarrierEvent::OtherLegStarted { carrier_call_id } => self.other_leg_started(carrier_call_id),
            CarrierEvent::OtherLegAnswered { carrier_call_id } => self.other_leg_answered(carrier_call_id),
            CarrierEvent::OtherLegBridged { carrier_call_id } => self.other_leg_bridged(&carrier_call_id),
            CarrierEvent::OtherLegEnded { carrier_call_id } => self.other_leg_ended(carrier_call_id),
            CarrierEvent::Human => {
                self.answered_by = Some("human");
                self.talk.answered_by(Verdict::Human);
                None
            }
            CarrierEvent::Machine { greeting_ended } => {
                self.answered_by = Some("voicemail");
                self.talk.answered_by(Verdict::Machine { greeting_ended });
                None
            }
        }
    }

    async fn task_finished(&mut self, outcome: TaskOutcome) -> Result<Option<CallInput>, Stopped> {
        match outcome {
            TaskOutcome::Input(input) => Ok(Some(input)),
            TaskOutcome::Keys { in_band } => {
                self.pressed(in_band);
                Ok(None)
            }
            TaskOutcome::Transfer { number, answer } => Ok(self.transfer_answered(number, answer)),
            TaskOutcome::Transferred { number, own, other } => Ok(self.transfer_looked_up(number, own, other)),
            TaskOutcome::WrappedUp { wrap_up, from_traces } => {
                self.wrapped_up(wrap_up, from_traces);
                Ok(Some(CallInput::WrappedUp))
            }
            TaskOutcome::Transcript { written } => {
                self.transcript_written(written.ok_or(Stopped)?);
                Ok(None)
            }
            TaskOutcome::Commands(looked) => {
                Box::pin(self.apply_commands(looked)).await?;
                Ok(None)
            }
        }
    }

    async fn handle(&mut self, input: CallInput) -> Result<(), Stopped> {
        let mut next = Some(input);
        while let Some(input) = next {
            next = self.handle_one(input).await?;
        }
        Ok(())
    }

    /// Handles one input. Returns the input that replaces it if its change can never be written.
    async fn handle_one(&mut self, input: CallInput) -> Result<Option<CallInput>, Stopped> {
        let now = self.clock.now();
        let decided = Instant::now();
        let before = self.call.clone();
        let effects = self.call.handle(now, input);
        if !self.is_unanswered() {
            self.dial_permit.token.cancel();
        }
        for effect in effects {
            match effect {
                // Boxed, as below: it is short, but its state would be part of the call's future as long as the call lasts.
                CallEffect::Commit(change) => match Box::pin(self.commit(&change)).await? {
                    Committed::Written => {}
                    Committed::IdTaken => {
                        self.call = before;
                        return Ok(Some(effects::id_of_another_call()));
                    }
                },
                CallEffect::Dial => self.dial(decided),
                CallEffect::Answer => self.answer_when_ready(),
                CallEffect::LookUp => self.look_up(),
                CallEffect::HangUp => self.hang_up(),
                CallEffect::StartTalk => self.start_talk(),
                CallEffect::StopTalk => self.stop_talk(),
            }
        }
        Ok(None)
    }

    /// Starts a task whose outcome becomes an input. If it panics, the call ends.
    fn start(&mut self, work: impl Future<Output = Option<TaskOutcome>> + Send + 'static) {
        self.work.retain(|running| !running.is_finished());
        let outcomes = self.outcomes.0.clone();
        self.work.push(AbortOnDropHandle::new(tokio::spawn(
            async move {
                let panicked = || Some(TaskOutcome::Input(CallInput::TalkEnded(talking::panicked())));
                if let Some(outcome) = caught(work).await.unwrap_or_else(|_| panicked()) {
                    // A runner that is gone needs no outcome.
                    let _ = outcomes.send(outcome);
                }
            }
            .in_current_span(),
        )));
    }
}
