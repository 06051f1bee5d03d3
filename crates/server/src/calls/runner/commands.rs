//! What is asked of the running conversation: by clients and by what the carrier told another node, taken from the database once,
//! and done once or not at all; and by the agent itself.

use switchhook_core::Timestamp;
use switchhook_core::call::{CallInput, EndedBy, TalkEnd};
use switchhook_core::id::TenantId;
use switchhook_core::phone_number::PhoneNumber;

use super::acts::CARRIER_ANSWER;
use super::{Outcome, Runner, Stopped};
use crate::carrier::simulator;
use crate::store::calls::commands::{self, Command};
use crate::store::{Store, dial_policy, tenants};
use crate::talk::{self, Wish};

impl Runner {
    /// Does what waits in the database. What could not be read waits on; what comes after the end was decided stays undone.
    pub(super) async fn obey(&mut self) -> Result<(), Stopped> {
        let taken = match self.take_commands().await {
            Ok(taken) => taken,
            Err(error) => {
                tracing::warn!(%error, "commands to this call could not be taken; trying again");
                return Ok(());
            }
        };
        for command in taken {
            if let Command::Told { told } = command {
                if let Some(input) = self.told(told) {
                    self.handle(input).await?;
                }
                continue;
            }
            if !self.call.is_in_conversation() {
                tracing::warn!("a command came after the end of the call was decided: it is not carried out");
                continue;
            }
            match command {
                Command::Say { text, interrupt } => self.talk.tell(talk::Command::Say { text, interrupt }),
                Command::Dtmf { digits } => self.press(&digits),
                Command::Transfer { to } => self.transfer(&to, EndedBy::Api),
                Command::Told { .. } => {}
            }
        }
        Ok(())
    }

    /// Does what the agent wants of the carrier.
    pub(super) fn fulfil(&mut self, wish: Wish) {
        if !self.call.is_in_conversation() {
            return;
        }
        match wish {
            Wish::Press(digits) => self.press(&digits),
            Wish::Transfer(to) => self.transfer(&to, EndedBy::Agent),
        }
    }

    /// Starts a request to the carrier. It outlives the runner: what was accepted and taken once is not broken off halfway.
    fn ask_carrier(&self, request: impl Future<Output = Outcome> + Send + 'static) {
        let outcomes = self.outcomes.0.clone();
        self.context.runners.spawn(async move {
            // A runner that has gone needs no outcome.
            let _ = outcomes.send(request.await);
        });
    }

    async fn take_commands(&self) -> Result<Vec<Command>, sqlx::Error> {
        let mut tx = self.context.store.begin().await?;
        let taken = commands::take_for_runner(&mut tx, &self.row).await?;
        tx.commit().await?;
        Ok(taken)
    }

    /// Has the carrier press keys, or the conversation where the carrier leaves it to us; in their order.
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
            let in_sound = match tokio::time::timeout(CARRIER_ANSWER, carrier.send_dtmf(&leg, &keys)).await {
                Ok(None) => Some(keys),
                Ok(Some(Ok(()))) => None,
                Ok(Some(Err(error))) => {
                    tracing::warn!(%error, "the carrier did not press keys");
                    None
                }
                Err(_) => {
                    tracing::warn!("the carrier did not answer a request to press keys");
                    None
                }
            };
            Outcome::Keys { in_sound }
        });
    }

    /// The carrier has answered for some keys: the next ones may follow.
    pub(super) fn pressed(&mut self, in_sound: Option<String>) {
        self.pressing = false;
        if let Some(keys) = in_sound {
            self.talk.tell(talk::Command::Dtmf(keys));
        }
        if self.call.is_in_conversation() {
            self.press_next();
        }
    }

    /// Has the carrier pass the caller on, once at a time. The agent is silent until it has answered.
    fn transfer(&mut self, to: &str, by: EndedBy) {
        let (Ok(carrier), leg) = (self.carrier.clone(), self.leg()) else { return };
        let Ok(to) = to.parse::<PhoneNumber>() else {
            tracing::error!("a command names a number that cannot be dialled");
            return;
        };
        if self.transferring.is_some() {
            tracing::warn!("a transfer was asked for while another one is under way");
            return;
        }
        self.transferring = Some(by);
        self.talk.tell(talk::Command::TransferStarted);
        let (store, tenant, now) = (self.context.store.clone(), self.row.tenant(), self.context.clock.now());
        let counted = self.row.provider != simulator::PROVIDER;
        self.ask_carrier(async move {
            if !may_transfer(&store, tenant, &to, counted, now).await {
                return Outcome::Transfer { accepted: false, by };
            }
            let accepted = match tokio::time::timeout(CARRIER_ANSWER, carrier.transfer(&leg, &to)).await {
                Ok(Ok(())) => true,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the carrier refused a transfer");
                    false
                }
                Err(_) => {
                    tracing::warn!("the carrier did not answer a request to transfer");
                    false
                }
            };
            Outcome::Transfer { accepted, by }
        });
    }

    /// What the carrier's answer to a transfer means for the call.
    pub(super) fn transferred(&mut self, accepted: bool, by: EndedBy) -> Option<CallInput> {
        self.transferring = None;
        if accepted {
            return Some(CallInput::TalkEnded(TalkEnd::Transferred { by }));
        }
        self.talk.tell(talk::Command::TransferRefused);
        None
    }
}

/// Whether the tenant's dial policy lets a caller be passed on to `to`, which then counts as a call to it. Without a database that
/// could say so, it does not.
async fn may_transfer(store: &Store, tenant: TenantId, to: &PhoneNumber, counted: bool, now: Timestamp) -> bool {
    let decide = async {
        let mut tx = store.begin().await?;
        tenants::lock(&mut tx, tenant).await?;
        let decision = dial_policy::judge(&mut tx, tenant, to, counted, now).await?;
        if decision.is_ok() && counted {
            dial_policy::count(&mut tx, tenant, &[to.reveal()], now).await?;
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
            tracing::error!("a transfer was not made: the database did not answer");
            false
        }
    }
}
