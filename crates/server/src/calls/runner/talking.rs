//! The conversation of a live call: started, stopped, written down and looked back upon.

use std::time::Duration;

use serde_json::json;
use switchhook_core::agent::MachineDetection;
use switchhook_core::call::{CallInput, TalkEnd, TalkFailure};
use switchhook_core::conversation::{End, Failure, FailureCode, Role};
use switchhook_core::event::NO_CONVERSATION;
use switchhook_core::privacy::{Redactor, pressed_in};
use tokio::sync::mpsc;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use super::look_back::{LookBack, look_back};
use super::{Outcome, Runner};
use crate::calls::setup::CallPlan;
use crate::store::calls::{TranscriptEntry, WrapUp};
use crate::talk::{Command, Ended, Line, Note, Report, Wish};

/// How long a stopped conversation may take to say how it went.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Commands that may wait for the conversation, which takes them within a frame.
const COMMANDS: usize = 64;
/// Lines that may wait to be written.
const WAITING: usize = 256;

/// The conversation of a call, from before it begins until after it is over.
pub(super) struct Talk {
    notes: Option<mpsc::Receiver<Note>>,
    stage: Stage,
    /// Everything that leaves the conversation goes through it. It knows what the caller has pressed so far.
    redactor: Redactor,
    /// Whether a machine answered before the conversation began, and whether its greeting was over.
    machine: Option<bool>,
}

/// What came of the conversation.
pub(super) enum Happened {
    /// Something was said.
    Line(TranscriptEntry),
    /// The agent wants something of the carrier.
    Wish(Wish),
    /// It is over.
    Ended(TalkEnd),
}

enum Stage {
    NotBegun,
    Running { commands: mpsc::Sender<Command>, task: AbortOnDropHandle<Report> },
    Ended(Option<Box<Report>>),
}

impl Talk {
    pub(super) fn none() -> Self {
        Self { notes: None, stage: Stage::NotBegun, redactor: Redactor::default(), machine: None }
    }

    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.stage, Stage::NotBegun)
    }

    /// The next line of the transcript, or how the conversation ended by itself. Never, when nobody talks.
    pub(super) async fn next(&mut self) -> Happened {
        tokio::select! {
            biased;
            note = next_note(&mut self.notes) => match note {
                Note::Line(line) => Happened::Line(self.entry(line)),
                Note::Wish(wish) => Happened::Wish(wish),
            },
            report = report(&mut self.stage) => {
                self.stage = Stage::Ended(report.ok().map(Box::new));
                Happened::Ended(self.end())
            }
        }
    }

    fn end(&self) -> TalkEnd {
        if let Stage::Ended(Some(report)) = &self.stage {
            return talk_end(&report.end, &self.redactor);
        }
        let error = "The conversation stopped unexpectedly. The service's log has the reason.".to_owned();
        TalkEnd::Failed { failure: TalkFailure::PipelineError, error: error.into() }
    }

    /// Tells the conversation something, if it runs.
    pub(super) fn tell(&self, command: Command) {
        if let Stage::Running { commands, .. } = &self.stage
            && commands.try_send(command).is_err()
        {
            tracing::warn!("a conversation that is ending, or is told too much at once, did not hear a command");
        }
    }

    /// A machine answered. Told before the conversation begins, it is told again then.
    pub(super) fn machine(&mut self, greeting_ended: bool) {
        match self.stage {
            Stage::NotBegun => self.machine = Some(greeting_ended),
            _ => self.tell(Command::Machine { greeting_ended }),
        }
    }

    /// A line that has been said and not been written.
    pub(super) fn line_at_hand(&mut self) -> Option<TranscriptEntry> {
        loop {
            // Wishes of a conversation that is over come too late.
            if let Note::Line(line) = self.notes.as_mut()?.try_recv().ok()? {
                return Some(self.entry(line));
            }
        }
    }

    /// What is written down of a line: agents repeat what they were told, keys included.
    fn entry(&mut self, line: Line) -> TranscriptEntry {
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
        }
    }

    /// Ends the conversation if it still runs, and says how it went.
    fn stop(&mut self) -> impl Future<Output = Option<Box<Report>>> + Send + use<> {
        let stage = std::mem::replace(&mut self.stage, Stage::Ended(None));
        async move {
            match stage {
                Stage::NotBegun => None,
                Stage::Ended(report) => report,
                Stage::Running { commands, task } => {
                    // Full or closed, it is about to end anyway.
                    let _ = commands.try_send(Command::HangUp);
                    tokio::time::timeout(LAST_WORDS, task).await.ok()?.ok().map(Box::new)
                }
            }
        }
    }
}

async fn next_note(notes: &mut Option<mpsc::Receiver<Note>>) -> Note {
    if let Some(open) = notes {
        if let Some(note) = open.recv().await {
            return note;
        }
        *notes = None;
    }
    std::future::pending().await
}

async fn report(stage: &mut Stage) -> Result<Report, JoinError> {
    match stage {
        Stage::Running { task, .. } => task.await,
        _ => std::future::pending().await,
    }
}

impl Runner {
    pub(super) fn start_talk(&mut self) {
        let (Some(prepared), Some(media)) = (self.prepared.take(), self.media.take()) else {
            // Nobody is left on a line on which nobody talks.
            let words = self.plan.as_ref().err().cloned();
            let words = words.unwrap_or_else(|| "The conversation could not be taken up.".to_owned());
            let failed = failed(&Failure::new(FailureCode::Config, words));
            return self.start(async move { Some(Outcome::Input(CallInput::TalkEnded(failed))) });
        };
        let (commands, orders) = mpsc::channel(COMMANDS);
        let (notes, written) = mpsc::channel(WAITING);
        let task = AbortOnDropHandle::new(tokio::spawn(prepared.talk(media, orders, notes)));
        let redactor = self.plan.as_ref().map_or_else(|_| Redactor::default(), |plan| redactor_of(plan));
        let machine = self.talk.machine.take();
        self.talk = Talk { notes: Some(written), stage: Stage::Running { commands, task }, redactor, machine: None };
        if let Some(greeting_ended) = machine {
            self.talk.machine(greeting_ended);
        }
    }

    pub(super) fn stop_talk(&mut self) {
        let stopping = self.talk.stop();
        let plan = self.plan.clone();
        let recording = self.context.setup.recording_name(&self.row);
        self.start(async move {
            let report = stopping.await;
            let plan = plan.ok()?;
            Some(Outcome::WrappedUp(Box::new(wrap_up(report.as_deref(), &plan, recording).await)))
        });
    }
}

fn redactor_of(plan: &CallPlan) -> Redactor {
    Redactor::new(&plan.talk.agent.privacy.redact)
}

async fn wrap_up(report: Option<&Report>, plan: &CallPlan, recording: String) -> WrapUp {
    let agent = &plan.talk.agent;
    let detects = agent.answering_machine.mode == MachineDetection::Detect;
    let Some(report) = report else {
        return WrapUp { summary: Some(NO_CONVERSATION.to_owned()), ..WrapUp::default() };
    };
    // Models repeat what they were told, keys included.
    let caller = report.history.iter().filter(|message| message.role == Role::User);
    let redactor = redactor_of(plan).knowing(caller.flat_map(|message| pressed_in(&message.text)));
    let LookBack { summary, outcome, usage } = look_back(report, plan).await;
    let (summary, outcome) = (redactor.text(&summary), outcome.map(|outcome| redactor.json(outcome)));
    let answered_by = match report.end {
        Ended::By(End::VoicemailHungUp | End::VoicemailMessageLeft) => Some("voicemail"),
        // Who answers is only known where machines were looked for.
        _ if report.turns > 0 && detects => Some("human"),
        _ => None,
    };
    WrapUp {
        turns: i64::from(report.turns),
        summary: Some(summary),
        outcome: outcome.filter(|outcome| !outcome.is_null()),
        latency: Some(json!(report.latency)),
        usage: Some(json!(report.usage + usage)),
        recording: report.recorded.then_some(recording),
        answered_by,
    }
}

fn talk_end(end: &Ended, redactor: &Redactor) -> TalkEnd {
    let end = match end {
        Ended::By(end) => end,
        Ended::MediaLost => return TalkEnd::MediaLost,
    };
    match end {
        // Asked for by the runner, which has its own reasons.
        End::AgentHungUp | End::Requested => TalkEnd::AgentHungUp,
        End::Silence => TalkEnd::Silence,
        End::MaxDuration => TalkEnd::MaxDuration,
        End::VoicemailHungUp | End::VoicemailMessageLeft => TalkEnd::Voicemail,
        // A provider's words may repeat the caller's.
        End::Failed(failure) => failed(&Failure::new(failure.code, redactor.text(&failure.words))),
    }
}

/// The end of a call whose conversation failed, or could not begin.
pub(super) fn failed(failure: &Failure) -> TalkEnd {
    TalkEnd::Failed {
        failure: match failure.code {
            FailureCode::ProviderTimeout => TalkFailure::ProviderTimeout,
            FailureCode::Config => TalkFailure::ConfigError,
            FailureCode::Refused | FailureCode::Pipeline => TalkFailure::PipelineError,
        },
        error: failure.words.clone().into(),
    }
}

#[cfg(test)]
mod tests {
    use switchhook_core::privacy::Redact;

    use super::*;

    #[test]
    fn keys_stay_out_of_the_transcript_also_where_the_agent_repeats_them() {
        let mut talk = Talk { redactor: Redactor::new(&[Redact::Dtmf]), ..Talk::none() };
        let mut written = |by_agent, text: &str| {
            let text = text.to_owned();
            talk.entry(Line { by_agent, text, start_ms: 0, end_ms: 0, interrupted: false, latency_ms: None }).text
        };
        assert_eq!(written(true, "Is it order 4711?"), "Is it order 4711?", "nobody has pressed it");
        assert_eq!(written(false, "[keys] 4711"), "[keys] [dtmf]");
        assert_eq!(written(true, "You typed 4711, right?"), "You typed [dtmf], right?");
    }
}
