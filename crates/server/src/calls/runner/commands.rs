//! Commands to the running conversation: from clients, and carrier events that reached another node, both read from the database,
//! applied once and then deleted; and the agent's own requests to the carrier.

use std::collections::HashSet;
use std::time::Duration;

use switchhook_core::call::{CallInput, CarrierEvent, EndedBy};
use switchhook_runtime::panics::caught;
use tracing::Instrument as _;
use uuid::Uuid;

use super::effects::answer_of;
use super::{Runner, Stopped, TaskOutcome, talking};
use crate::store;
use crate::store::calls::commands::{self, CallCommand, WaitingCommand};
use crate::talk::{self, CarrierRequest};

/// How long recovery waits for the carrier events that reached other nodes.
const CARRIER_EVENTS_WAIT: Duration = Duration::from_secs(3);

/// Commands on their way from the database.
#[derive(Default)]
pub(super) struct Commands {
    under_way: bool,
    /// Carried out, and perhaps still in the database: they are not carried out again.
    done: HashSet<Uuid>,
}

/// The commands found in the database.
pub(super) struct FetchedCommands {
    deleted: Vec<Uuid>,
    waiting: Vec<WaitingCommand>,
}

impl Runner {
    /// Looks for what waits in the database, unless that is under way: beside everything else, since a database that is slow delays no
    /// deadline.
    pub(super) fn look_for_commands(&mut self) {
        if std::mem::replace(&mut self.commands.under_way, true) {
            return;
        }
        let looking = self.looking_for_commands();
        self.start(async move { Some(TaskOutcome::Commands(store::in_time(looking).await)) });
    }

    /// Deletes those that were carried out, then reads those that wait.
    fn looking_for_commands(&self) -> impl Future<Output = Result<FetchedCommands, sqlx::Error>> + Send + use<> {
        let (store, row) = (self.context.store.clone(), self.row.clone());
        let done: Vec<Uuid> = self.commands.done.iter().copied().collect();
        async move {
            if !done.is_empty() {
                let mut tx = store.begin().await?;
                commands::delete_for_runner(&mut tx, row.call_id(), &done).await?;
                tx.commit().await?;
            }
            let waiting = commands::waiting_for_runner(&mut store.read().await?, &row).await?;
            Ok(FetchedCommands { deleted: done, waiting })
        }
    }

    /// Does what waited in the database, once. It is deleted when it was done: what could not be deleted or read waits on.
    pub(super) async fn apply_commands(&mut self, looked: Result<FetchedCommands, sqlx::Error>) -> Result<(), Stopped> {
        self.commands.under_way = false;
        let FetchedCommands { deleted, waiting } = match looked {
            Ok(looked) => looked,
            Err(error) => {
                // The dispatcher asks again as long as any wait.
                tracing::warn!(%error, "could not read the commands to this call; retrying");
                return Ok(());
            }
        };
        for id in deleted {
            self.commands.done.remove(&id);
        }
        for WaitingCommand { id, command } in waiting {
            if self.commands.done.insert(id) {
                self.apply_command(command).await?;
            }
        }
        if !self.commands.done.is_empty() && !self.call.status().is_terminal() {
            self.look_for_commands();
        }
        Ok(())
    }

    /// Returns whether the carrier reported, while no node owned the call, that the caller was transferred.
    pub(super) async fn was_bridged(&self) -> bool {
        let looked = tokio::time::timeout(CARRIER_EVENTS_WAIT, self.looking_for_commands()).await;
        let Ok(Ok(FetchedCommands { waiting, .. })) = looked else { return false };
        let events: Vec<_> = waiting.iter().filter_map(|waiting| waiting.command.carrier_event()).collect();
        let has_ended = |leg: &String| {
            events
                .iter()
                .any(|event| matches!(event, CarrierEvent::OtherLegEnded { carrier_call_id } if carrier_call_id == leg))
        };
        events.iter().any(|event| match event {
            CarrierEvent::Bridged
            | CarrierEvent::OtherLegBridged { .. }
            | CarrierEvent::TransferEnded { bridged: true, .. } => true,
            CarrierEvent::OtherLegAnswered { carrier_call_id } => !has_ended(carrier_call_id),
            _ => false,
        })
    }

    /// Applies the carrier events that arrived while no node owned the call.
    pub(super) async fn apply_pending_commands(&mut self) -> Result<(), Stopped> {
        let looked = tokio::time::timeout(CARRIER_EVENTS_WAIT, self.looking_for_commands()).await;
        self.apply_commands(looked.unwrap_or(Err(sqlx::Error::PoolTimedOut))).await
    }

    /// Applies a command. Once the call's end has been decided, only carrier events are applied.
    async fn apply_command(&mut self, command: CallCommand) -> Result<(), Stopped> {
        let in_conversation = self.call.is_in_conversation();
        match command {
            CallCommand::CarrierEvent { event } => {
                if let Some(input) = self.carrier_event(event) {
                    self.handle(input).await?;
                }
            }
            _ if !in_conversation => {
                tracing::warn!("a command came after the end of the call was decided: it is not carried out");
            }
            CallCommand::Say { text, interrupt } => self.talk.send(talk::Command::Say { text, interrupt }),
            CallCommand::Dtmf { digits } => self.press(&digits),
            CallCommand::Transfer { to } => self.transfer(&to, EndedBy::Api),
        }
        Ok(())
    }

    /// Performs the agent's request to the carrier.
    pub(super) fn carrier_request(&mut self, request: CarrierRequest) {
        if !self.call.is_in_conversation() {
            return;
        }
        match request {
            CarrierRequest::SendDtmf(digits) => self.press(&digits),
            CarrierRequest::Transfer(to) => self.transfer(&to, EndedBy::Agent),
        }
    }

    /// Starts a request to the carrier. It outlives the runner: what was accepted and taken once is not broken off halfway.
    pub(super) fn ask_carrier(&self, request: impl Future<Output = TaskOutcome> + Send + 'static) {
        let outcomes = self.outcomes.0.clone();
        self.context.runners.spawn(
            async move {
                let panicked = || TaskOutcome::Input(CallInput::TalkEnded(talking::panicked()));
                // A runner that has gone needs no outcome.
                let _ = outcomes.send(caught(request).await.unwrap_or_else(|_| panicked()));
            }
            .in_current_span(),
        );
    }

    /// Sends DTMF through the carrier, or in band where the carrier has no call for it; in order.
    fn press(&mut self, digits: &str) {
        self.keys.push_str(digits);
        self.press_next();
    }

    fn press_next(&mut self) {
        let (Ok(carrier), leg) = (self.carrier.clone(), self.leg()) else { return };
        if self.keys.is_empty() || std::mem::replace(&mut self.pressing, true) {
            return;
        }
        let keys = std::mem::take(&mut self.keys);
        self.ask_carrier(async move {
            let in_band = match answer_of(carrier.control.send_dtmf(&leg, &keys)).await {
                Some(None) => Some(keys),
                Some(Some(Ok(()))) => None,
                Some(Some(Err(error))) => {
                    tracing::warn!(%error, "the carrier did not press keys");
                    None
                }
                None => {
                    tracing::warn!("the carrier did not respond to a request to send DTMF");
                    None
                }
            };
            TaskOutcome::Keys { in_band }
        });
    }

    /// The carrier has answered for some keys: the next ones may follow.
    pub(super) fn pressed(&mut self, in_band: Option<String>) {
        self.pressing = false;
        if let Some(keys) = in_band {
            self.talk.send(talk::Command::Dtmf(keys));
        }
        if self.call.is_in_conversation() {
            self.press_next();
        }
    }
}
