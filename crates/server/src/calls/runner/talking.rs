//! The conversation of a live call: started, stopped, recorded in the transcript and analysed.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::types::Json;
use switchhook_core::Timestamp;
use switchhook_core::agent::MachineDetection;
use switchhook_core::call::{CallInput, TalkEnd, TalkFailure};
use switchhook_core::conversation::{End, Failure, FailureCode, Role};
use switchhook_core::event::NO_CONVERSATION;
use switchhook_core::privacy::{Redactor, pressed_in};
use switchhook_core::replay::{Header, InputLog, InputLogWriter, TurnStrategy};
use switchhook_providers::UsageMeter;
use switchhook_runtime::panics::caught;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::analysis::{self, Analysis, analyse};
use super::recovery;
use super::{Runner, TaskOutcome};
use crate::calls::setup::CallSetup;
use crate::recordings::{Recording, Recordings};
use crate::store::calls::decisions::DecisionEntry;
use crate::store::calls::inputs::PackedLog;
use crate::store::calls::tool_calls::ToolCallEntry;
use crate::store::calls::{TranscriptEntry, WrapUp};
use crate::talk::strip_nul::{strip_nul, strip_nul_value};
use crate::talk::tools::CUT_OFF;
use crate::talk::{CarrierRequest, Command, Ended, Note, Report, ToolCallNote, TranscriptLine};

/// The error of a transfer that was under way when the call ended.
const CALL_ENDED: &str = "The call ended before the number was connected.";
/// The error of a transfer that was under way when its node died, unless the carrier has reported that it succeeded.
pub(super) const TRANSFER_UNKNOWN: &str =
    "The service lost the call before it was known whether the number was connected.";
/// The error of another tool that was running when its node died.
pub(super) const TOOL_UNKNOWN: &str =
    "The service lost the call before it was known whether the tool had done its work.";
/// How long a stopped conversation may take to report.
const FINAL_TRANSCRIPT_TIMEOUT: Duration = Duration::from_secs(3);

/// The conversation of a call, from before it begins until after it is over.
pub(super) struct Talk {
    notes: Option<mpsc::UnboundedReceiver<Note>>,
    stage: TalkState,
    /// Its usage, which is updated while it runs.
    usage: UsageMeter,
    /// Redacts everything that leaves the conversation. Knows the keys that the caller has pressed so far.
    redactor: Redactor,
    /// The carrier's verdict, if it came before the conversation began.
    verdict: Option<Verdict>,
    /// Tool calls whose transfer has not failed.
    transfers: Vec<ToolCallNote>,
    /// Tool calls whose request to a service is open.
    services: Vec<ToolCallNote>,
    /// Whether the carrier has connected the caller to the number of a transfer.
    is_transferred: bool,
}

/// The carrier's verdict on the answering party.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    /// A person.
    Human,
    /// A machine.
    Machine {
        /// Whether its greeting is over.
        greeting_ended: bool,
    },
}

impl From<Verdict> for Command {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Human => Self::Human,
            Verdict::Machine { greeting_ended } => Self::Machine { greeting_ended },
        }
    }
}

/// An event of the conversation.
pub(super) enum TalkEvent {
    /// Something was said.
    Line(TranscriptEntry),
    /// A tool call has ended.
    ToolCall(ToolCallEntry),
    /// A tool call is about to request something from the carrier or a service; with what is true of it if its end never follows. A service
    /// is asked once the sender has been used.
    ToolRequested(ToolCallEntry, Option<oneshot::Sender<()>>),
    /// The agent requests something from the carrier.
    Request(CarrierRequest),
    /// The line is gone, during a transfer.
    LineGone,
    /// It is over.
    Ended(TalkEnd),
}

enum TalkState {
    NotBegun,
    Running {
        commands: mpsc::UnboundedSender<Command>,
        task: AbortOnDropHandle<Report>,
    },
    /// Without a report when it panicked.
    Ended(Option<Box<Report>>),
}

/// The results of a conversation that is over.
enum StoppedTalk {
    /// No conversation took place.
    Nothing,
    /// Its report.
    Report(Box<Report>),
    /// It panicked in reporting, or did not end in time: its usage; the rest comes from the transcript.
    Partial(UsageMeter),
}

impl Talk {
    pub(super) fn none() -> Self {
        Self {
            notes: None,
            stage: TalkState::NotBegun,
            usage: UsageMeter::default(),
            redactor: Redactor::default(),
            verdict: None,
            transfers: Vec::new(),
            services: Vec::new(),
            is_transferred: false,
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.stage, TalkState::NotBegun)
    }

    /// Returns the next event, or the end of the conversation; pends forever if none is running.
    pub(super) async fn next(&mut self) -> TalkEvent {
        loop {
            let event = tokio::select! {
                biased;
                note = next_note(&mut self.notes) => match note {
                    Note::Transcript(line) => Some(TalkEvent::Line(self.entry(*line))),
                    Note::ToolRequested(note, stored) => Some(self.service_requested(*note, stored)),
                    Note::ToolCall(note) => self.tool_event(*note),
                    Note::CarrierRequest(request) => Some(TalkEvent::Request(request)),
                    Note::LineGone => Some(TalkEvent::LineGone),
                },
                report = report(&mut self.stage) => {
                    self.stage = TalkState::Ended(report.ok().map(Box::new));
                    Some(TalkEvent::Ended(self.end()))
                }
            };
            if let Some(event) = event {
                return event;
            }
        }
    }

    /// Returns the event of a tool call. A transfer is kept until it has failed, or it is known how the call ended.
    fn tool_event(&mut self, note: ToolCallNote) -> Option<TalkEvent> {
        // Models repeat ids.
        let same = |open: &ToolCallNote| open.call == note.call && open.start_ms == note.start_ms;
        let known = self.transfers.iter().position(same).map(|place| self.transfers.remove(place));
        if note.result.is_some() {
            if let Some(place) = self.services.iter().position(same) {
                self.services.remove(place);
            }
            return Some(TalkEvent::ToolCall(self.tool_call(note)));
        }
        self.transfers.push(note.clone());
        if known.is_some() {
            return None;
        }
        Some(TalkEvent::ToolRequested(self.unknown(note, TRANSFER_UNKNOWN), None))
    }

    /// Returns the event of a request to a service, which is open until its end is noted.
    fn service_requested(&mut self, note: ToolCallNote, stored: oneshot::Sender<()>) -> TalkEvent {
        self.services.push(note.clone());
        TalkEvent::ToolRequested(self.unknown(note, TOOL_UNKNOWN), Some(stored))
    }

    /// Returns the tool call as it is stored in case its end never follows.
    fn unknown(&self, note: ToolCallNote, error: &str) -> ToolCallEntry {
        let (status, error) = ("failed".to_owned(), Some(error.to_owned()));
        ToolCallEntry { status, error, ..self.tool_call(note) }
    }

    /// Records that the carrier has connected the caller to the number of a transfer.
    pub(super) fn transferred(&mut self) {
        self.is_transferred = true;
    }

    /// Returns the tools during which the conversation ended, once the call is over: transfers, and requests whose end a conversation that
    /// stopped unexpectedly did not note.
    fn take_open(&mut self) -> Vec<ToolCallEntry> {
        let (transfers, services) = (std::mem::take(&mut self.transfers), std::mem::take(&mut self.services));
        let transfer = |note: ToolCallNote| {
            let result = (!self.is_transferred).then(|| json!({ "error": CALL_ENDED }));
            self.tool_call(ToolCallNote { result, ..note })
        };
        let cut_off = |note: ToolCallNote| {
            let result = Some(json!({ "error": CUT_OFF }));
            self.tool_call(ToolCallNote { result, ..note })
        };
        transfers.into_iter().map(transfer).chain(services.into_iter().map(cut_off)).collect()
    }

    fn end(&self) -> TalkEnd {
        if let TalkState::Ended(Some(report)) = &self.stage {
            return talk_end(&report.end, &self.redactor);
        }
        panicked()
    }

    /// Returns whether it is running.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, TalkState::Running { .. })
    }

    /// Sends a command to the conversation if it is running.
    pub(super) fn send(&self, command: Command) {
        if let TalkState::Running { commands, .. } = &self.stage
            && commands.send(command).is_err()
        {
            tracing::warn!("a conversation that is ending ignored a command");
        }
    }

    /// Handles the carrier's report of who answered, which is stored until the conversation begins.
    pub(super) fn answered_by(&mut self, verdict: Verdict) {
        match self.stage {
            TalkState::NotBegun => self.verdict = Some(verdict),
            _ => self.send(verdict.into()),
        }
    }

    /// Returns the next event that has arrived and was not handled yet.
    pub(super) fn try_next(&mut self) -> Option<TalkEvent> {
        loop {
            match self.notes.as_mut()?.try_recv().ok()? {
                Note::Transcript(line) => return Some(TalkEvent::Line(self.entry(*line))),
                Note::ToolRequested(note, stored) => return Some(self.service_requested(*note, stored)),
                Note::ToolCall(note) => {
                    if let Some(event) = self.tool_event(*note) {
                        return Some(event);
                    }
                }
                // Requests of a conversation that is over come too late.
                Note::CarrierRequest(_) | Note::LineGone => {}
            }
        }
    }

    /// Redacts a tool call for storage: its arguments and its result contain what callers said.
    fn tool_call(&self, note: ToolCallNote) -> ToolCallEntry {
        let ToolCallNote { call, result, start_ms, duration_ms } = note;
        let written = |value: Value| Json(bounded(self.redactor.json(strip_nul_value(value))));
        let error = result.as_ref().and_then(|result| result.get("error")).filter(|error| !error.is_null());
        let error = error.map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
        ToolCallEntry {
            id: strip_nul(call.id),
            name: strip_nul(call.name),
            arguments: written(call.arguments),
            status: if error.is_some() { "failed" } else { "succeeded" }.to_owned(),
            error: error.map(|words| self.redactor.text(&strip_nul(words))),
            result: result.map(written),
            start_ms,
            duration_ms,
        }
    }

    /// Redacts a line for storage: agents repeat what callers said, DTMF included.
    fn entry(&mut self, line: TranscriptLine) -> TranscriptEntry {
        if !line.by_agent {
            self.redactor = std::mem::take(&mut self.redactor).knowing(pressed_in(&line.text));
        }
        TranscriptEntry {
            role: if line.by_agent { "agent" } else { "caller" }.to_owned(),
            text: self.redactor.text(&line.text),
            start_ms: line.start_ms,
            end_ms: line.end_ms,
            interrupted: line.interrupted,
            latency_ms: line.latency_ms,
            stages: line.stages.map(Json),
            turn: None,
        }
    }

    /// Ends the conversation if it is still running, and returns its results.
    fn stop(&mut self) -> impl Future<Output = StoppedTalk> + Send + use<> {
        let stage = std::mem::replace(&mut self.stage, TalkState::Ended(None));
        let usage = self.usage.clone();
        async move {
            let report = match stage {
                TalkState::NotBegun => return StoppedTalk::Nothing,
                TalkState::Ended(report) => report,
                TalkState::Running { commands, task } => {
                    // If the channel is closed, the conversation is ending anyway.
                    let _ = commands.send(Command::HangUp);
                    let ended = tokio::time::timeout(FINAL_TRANSCRIPT_TIMEOUT, task).await;
                    ended.ok().and_then(Result::ok).map(Box::new)
                }
            };
            report.map_or(StoppedTalk::Partial(usage), StoppedTalk::Report)
        }
    }
}

async fn next_note(notes: &mut Option<mpsc::UnboundedReceiver<Note>>) -> Note {
    if let Some(open) = notes {
        if let Some(note) = open.recv().await {
            return note;
        }
        *notes = None;
    }
    std::future::pending().await
}

async fn report(stage: &mut TalkState) -> Result<Report, JoinError> {
    match stage {
        TalkState::Running { task, .. } => task.await,
        _ => std::future::pending().await,
    }
}

impl Runner {
    pub(super) fn start_talk(&mut self) {
        let (Some(prepared), Some(media)) = (self.prepared.take(), self.media.take()) else {
            // A leg without a conversation is hung up.
            let words = self.plan.as_ref().err().cloned();
            let words = words.unwrap_or_else(|| "The conversation could not be taken up.".to_owned());
            let failed = failed(&Failure::new(FailureCode::Config, words));
            return self.start(async move { Some(TaskOutcome::Input(CallInput::TalkEnded(failed))) });
        };
        let (commands, orders) = mpsc::unbounded_channel();
        let (notes, written) = mpsc::unbounded_channel();
        let usage = prepared.usage();
        let task = AbortOnDropHandle::new(tokio::spawn(prepared.talk(media, orders, notes).in_current_span()));
        let redactor = self.plan.as_ref().map_or_else(|_| Redactor::default(), |plan| redactor_of(plan));
        let verdict = self.talk.verdict.take();
        let stage = TalkState::Running { commands, task };
        self.talk = Talk { notes: Some(written), stage, usage, redactor, ..Talk::none() };
        if let Some(verdict) = verdict {
            self.talk.answered_by(verdict);
        }
    }

    pub(super) fn stop_talk(&mut self) {
        let stopping = self.talk.stop();
        let plan = self.plan.clone();
        let recordings = Recordings::below(&self.context.config.data_dir);
        let recording = recordings.of(self.row.tenant_id, self.row.id);
        self.start(async move {
            let known = stopping.await;
            let plan = plan.ok()?;
            let (wrap_up, from_traces) = match known {
                StoppedTalk::Nothing => {
                    (WrapUp { summary: Some(NO_CONVERSATION.to_owned()), ..WrapUp::default() }, false)
                }
                StoppedTalk::Report(mut report) => {
                    let inputs = match report.inputs.take() {
                        Some(inputs) => packed(inputs, report.ended, &plan).await,
                        None => PackedLog::default(),
                    };
                    (WrapUp { inputs, ..wrap_up(&report, &plan, &recording).await }, false)
                }
                StoppedTalk::Partial(usage) => {
                    tracing::error!("a conversation did not report its result; using its transcript");
                    let recording = recording.repaired().await;
                    (WrapUp { usage: Some(json!(usage.usage())), recording, ..WrapUp::default() }, true)
                }
            };
            Some(TaskOutcome::WrappedUp { wrap_up: Box::new(wrap_up), from_traces })
        });
    }

    /// Stores the results of the conversation, once every line of its transcript has been received.
    pub(super) fn wrapped_up(&mut self, mut wrap_up: Box<WrapUp>, from_traces: bool) {
        self.take_received_events();
        wrap_up.answered_by = wrap_up.answered_by.or(self.answered_by);
        if from_traces {
            let said = self.transcript.lines();
            wrap_up.turns = recovery::answered_turns(said);
            wrap_up.summary = Some(analysis::extract_of_transcript(said));
            // A verdict that came after a response changed nothing.
            let answered = wrap_up.turns > 0 && wrap_up.answered_by.is_some();
            wrap_up.answered_by = if answered { Some("human") } else { wrap_up.answered_by };
        }
        self.wrap_up = Some(wrap_up);
    }

    /// Drains the events that have arrived and were not handled yet.
    pub(super) fn take_received_events(&mut self) {
        while let Some(event) = self.talk.try_next() {
            match event {
                TalkEvent::Line(line) => self.transcript.add(line),
                TalkEvent::ToolCall(tool_call) => self.transcript.add_tool_call(tool_call),
                // The request of a tool that is not stored by now is not sent.
                TalkEvent::ToolRequested(..) | TalkEvent::Request(_) | TalkEvent::LineGone | TalkEvent::Ended(_) => {}
            }
        }
        for tool_call in self.talk.take_open() {
            self.transcript.add_tool_call(tool_call);
        }
    }
}

/// Returns the value if it is small enough to be stored, otherwise the beginning of its text.
fn bounded(value: Value) -> Value {
    const LONGEST: usize = 16 * 1024;
    let text = value.to_string();
    if text.len() <= LONGEST {
        return value;
    }
    let end = text.floor_char_boundary(LONGEST);
    Value::String(format!("{}…", &text[..end]))
}

fn redactor_of(plan: &CallSetup) -> Redactor {
    Redactor::new(&plan.talk.agent.privacy.redact)
}

async fn wrap_up(report: &Report, plan: &CallSetup, recording: &Recording) -> WrapUp {
    let agent = &plan.talk.agent;
    let detects = agent.answering_machine.mode == MachineDetection::Detect;
    // Models repeat what callers said, DTMF included.
    let caller = report.history.iter().filter(|message| message.role == Role::User);
    let redactor = redactor_of(plan).knowing(caller.flat_map(|message| pressed_in(&message.text)));
    let analysed = caught(analyse(report, plan)).await;
    let Analysis { summary, outcome, result, usage } = analysed.unwrap_or_else(|_| Analysis::broken(&report.history));
    let (summary, outcome) = (redactor.text(&summary), outcome.map(|outcome| redactor.json(outcome)));
    let answered_by = match report.end {
        Ended::By(End::VoicemailHungUp | End::VoicemailMessageLeft) => Some("voicemail"),
        // The answering party is only known if machine detection was enabled.
        _ if report.turns > 0 && detects => Some("human"),
        _ => None,
    };
    WrapUp {
        turns: i64::from(report.turns),
        summary: Some(summary),
        outcome: outcome.filter(|outcome| !outcome.is_null()),
        analysis: Some(result),
        latency: Some(json!(report.latency)),
        usage: Some(json!(report.usage + usage)),
        recording: report.recorded.then(|| recording.name().to_owned()),
        answered_by,
        responses: report.responses.clone(),
        decisions: report.decisions.iter().map(DecisionEntry::from).collect(),
        inputs: PackedLog::default(),
    }
}

/// Packs the log of inputs, without private data. On a blocking thread: for a long log that takes longer than a frame.
async fn packed(inputs: InputLogWriter, ended: Timestamp, plan: &Arc<CallSetup>) -> PackedLog {
    let plan = Arc::clone(plan);
    let work = tokio::task::spawn_blocking(move || {
        let agent = &plan.talk.agent;
        let strategy = if agent.realtime.is_some() { TurnStrategy::Realtime } else { TurnStrategy::Cascade };
        let log = inputs.finish(&Header::new(env!("CARGO_PKG_VERSION"), strategy, agent), ended);
        if agent.privacy.redact.is_empty() {
            return PackedLog::pack(&log);
        }
        let redactor = redactor_of(&plan);
        InputLog::parse(&log).map_or_else(|_| PackedLog::default(), |log| PackedLog::pack(&log.masked(&redactor)))
    });
    work.await.unwrap_or_else(|error| {
        tracing::error!(%error, "could not pack the inputs of a call; it cannot be replayed");
        PackedLog::default()
    })
}

fn talk_end(end: &Ended, redactor: &Redactor) -> TalkEnd {
    let end = match end {
        Ended::By(end) => end,
        Ended::MediaLost => return TalkEnd::MediaLost,
    };
    match end {
        // Requested by the runner, which has its own reasons.
        End::AgentHungUp | End::Requested => TalkEnd::AgentHungUp,
        End::Silence => TalkEnd::Silence,
        End::MaxDuration => TalkEnd::MaxDuration,
        End::VoicemailHungUp | End::VoicemailMessageLeft => TalkEnd::Voicemail,
        // A provider's error message may quote the caller.
        End::Failed(failure) => failed(&Failure::new(failure.code, redactor.text(&failure.message))),
    }
}

/// Returns the end of a call in which something panicked.
pub(super) fn panicked() -> TalkEnd {
    let error = "A part of the call stopped unexpectedly. The service's log has the reason.".to_owned();
    TalkEnd::Failed { failure: TalkFailure::PipelineError, error: error.into() }
}

/// Returns the end of a call whose conversation failed or could not begin.
pub(super) fn failed(failure: &Failure) -> TalkEnd {
    TalkEnd::Failed {
        failure: match failure.code {
            FailureCode::ProviderTimeout => TalkFailure::ProviderTimeout,
            FailureCode::Config => TalkFailure::ConfigError,
            FailureCode::Refused | FailureCode::Pipeline => TalkFailure::PipelineError,
        },
        error: failure.message.clone().into(),
    }
}

#[cfg(test)]
mod tests {
    use switchhook_core::conversation::ToolCall;
    use switchhook_core::privacy::Redact;

    use super::*;

    #[test]
    fn keys_stay_out_of_the_transcript_also_where_the_agent_repeats_them() {
        let mut talk = Talk { redactor: Redactor::new(&[Redact::Dtmf]), ..Talk::none() };
        let mut written = |by_agent, text: &str| {
            let text = text.to_owned();
            talk.entry(TranscriptLine {
                by_agent,
                text,
                start_ms: 0,
                end_ms: 0,
                interrupted: false,
                latency_ms: None,
                stages: None,
            })
            .text
        };
        assert_eq!(written(true, "Is it order 4711?"), "Is it order 4711?", "nobody has pressed it");
        assert_eq!(written(false, "[keys] 4711"), "[keys] [dtmf]");
        assert_eq!(written(true, "You typed 4711, right?"), "You typed [dtmf], right?");
    }

    fn tool_note(id: &str, result: Option<Value>) -> Box<ToolCallNote> {
        let call = ToolCall { id: id.to_owned(), name: "a tool".to_owned(), arguments: json!({}), signature: None };
        Box::new(ToolCallNote { call, result, start_ms: 1_000, duration_ms: 900 })
    }

    fn transfer(id: &str, result: Option<Value>) -> Note {
        Note::ToolCall(tool_note(id, result))
    }

    #[test]
    fn a_transfer_has_succeeded_only_if_the_carrier_connected_the_caller() {
        for (is_transferred, status) in [(true, "succeeded"), (false, "failed")] {
            let (noting, notes) = mpsc::unbounded_channel();
            let mut talk = Talk { notes: Some(notes), ..Talk::none() };
            let busy = Some(json!({ "error": "The caller could not be transferred." }));
            for note in [transfer("a", busy), transfer("b", None)] {
                assert!(noting.send(note).is_ok());
            }
            let Some(TalkEvent::ToolCall(first)) = talk.try_next() else { panic!("its end is known") };
            assert_eq!((first.id.as_str(), first.status.as_str()), ("a", "failed"));
            let Some(TalkEvent::ToolRequested(other, _)) = talk.try_next() else { panic!("the other one's is not") };
            assert_eq!((other.id.as_str(), other.status.as_str()), ("b", "failed"));
            assert_eq!(other.error.as_deref(), Some(TRANSFER_UNKNOWN), "should nothing follow");
            assert!(talk.try_next().is_none());
            if is_transferred {
                talk.transferred();
            }
            let last = talk.take_open();
            let shown: Vec<_> = last.iter().map(|entry| (entry.id.as_str(), entry.status.as_str())).collect();
            assert_eq!(shown, [("b", status)]);
            assert_eq!(last[0].error.as_deref(), (!is_transferred).then_some(CALL_ENDED));
            assert!(talk.take_open().is_empty(), "once");
        }
    }

    #[test]
    fn a_request_to_a_service_that_is_open_when_the_call_ends_has_failed_also_if_the_caller_was_transferred() {
        let (noting, notes) = mpsc::unbounded_channel();
        let mut talk = Talk { notes: Some(notes), is_transferred: true, ..Talk::none() };
        for id in ["a", "b"] {
            assert!(noting.send(Note::ToolRequested(tool_note(id, None), oneshot::channel().0)).is_ok());
        }
        assert!(noting.send(Note::ToolCall(tool_note("a", Some(json!({ "ok": true }))))).is_ok());
        for id in ["a", "b"] {
            let Some(TalkEvent::ToolRequested(entry, Some(_))) = talk.try_next() else { panic!("it waits for that") };
            assert_eq!((entry.id.as_str(), entry.status.as_str()), (id, "failed"));
            assert_eq!(entry.error.as_deref(), Some(TOOL_UNKNOWN), "should nothing follow");
        }
        let Some(TalkEvent::ToolCall(ended)) = talk.try_next() else { panic!("its end is known") };
        assert_eq!((ended.id.as_str(), ended.status.as_str()), ("a", "succeeded"));
        let open = talk.take_open();
        let shown: Vec<_> = open.iter().map(|it| (it.id.as_str(), it.status.as_str(), it.error.as_deref())).collect();
        assert_eq!(shown, [("b", "failed", Some(CUT_OFF))]);
    }
}
