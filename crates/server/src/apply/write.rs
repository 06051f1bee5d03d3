//! Writes a plan in a transaction, as the API would write each of its parts.

use switchhook_core::id::{AgentId, ConnectionId, WebhookId};
use switchhook_core::webhook::SigningSecret;
use uuid::Uuid;

use super::ApplyError;
use super::document::Kind;
use super::plan::{Plan, Step};
use super::problem::{Place, Problem, warning_in_files};
use crate::http::HttpState;
use crate::http::agents::{self, WantedAgent};
use crate::http::connections::{self, CreateConnection, change};
use crate::http::error::ApiError;
use crate::http::numbers::{self, CreateNumber};
use crate::http::webhooks::{self, Endpoint};
use crate::store::Tx;
use crate::store::agents::AgentRow;
use crate::store::connections::ConnectionRow;
use crate::store::numbers::NumberRow;
use crate::store::tenants::TenantRow;
use crate::store::webhooks::{self as stored_webhooks, WebhookRow};

/// A resource that has been written.
pub(super) struct Written {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) id: Uuid,
    /// The version of an agent.
    pub(super) version: Option<i64>,
    pub(super) is_new: bool,
    /// The paths of changed fields and what they were and are.
    pub(super) changes: Vec<(String, String)>,
    /// The signing secret of a new webhook.
    pub(super) secret: Option<SigningSecret>,
}

/// The result of writing, before the commit.
#[derive(Default)]
pub(super) struct Done {
    pub(super) written: Vec<Written>,
    pub(super) unchanged: usize,
    /// Warnings that the API would return.
    pub(super) warnings: Vec<Problem>,
    /// Notes on surprises, such as credentials that were kept.
    pub(super) notes: Vec<Problem>,
    pub(super) after: After,
}

/// Work that remains after the commit.
#[derive(Default)]
pub(super) struct After {
    /// Numbers to register with their carriers.
    pub(super) carriers: Vec<(Place, NumberRow)>,
    /// Endpoints that no longer receive anything.
    pub(super) disabled: Vec<(Place, WebhookId)>,
}

/// A transaction of a locked tenant.
pub(super) struct Writer<'a> {
    pub(super) state: &'a HttpState,
    pub(super) tx: &'a mut Tx,
    pub(super) owner: &'a TenantRow,
    pub(super) done: Done,
    pub(super) problems: Vec<Problem>,
}

impl Writer<'_> {
    /// Writes everything.
    ///
    /// # Errors
    /// The problems with it; when the database fails.
    pub(super) async fn write(mut self, plan: Plan) -> Result<Done, ApplyError> {
        for step in plan.connections {
            self.connection(step).await?;
        }
        // What follows refers to connections; without them it would seem wrong, too.
        self.check()?;
        for step in plan.agents {
            self.agent(step).await?;
        }
        self.check()?;
        for step in plan.numbers {
            self.number(step).await?;
        }
        for step in plan.webhooks {
            self.webhook(step).await?;
        }
        self.check()?;
        Ok(self.done)
    }

    fn check(&mut self) -> Result<(), ApplyError> {
        match std::mem::take(&mut self.problems) {
            none if none.is_empty() => Ok(()),
            problems => Err(ApplyError::Wrong(problems)),
        }
    }

    /// Notes what stays as it is, and returns what does not.
    fn changed<T, R>(&mut self, step: Step<T, R>) -> Option<Step<T, R>> {
        self.done.notes.extend(step.notes.iter().map(|note| step.place.problem(note.as_str())));
        if step.is_unchanged() {
            self.done.unchanged += 1;
            return None;
        }
        Some(step)
    }

    /// Returns the result; adds problems and returns `None` if it was refused.
    fn unless_refused<T>(&mut self, place: &Place, result: Result<T, ApiError>) -> Result<Option<T>, ApplyError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_of_service() => Err(failed(&error)),
            Err(error) => {
                self.problems.extend(place.problems(&error));
                Ok(None)
            }
        }
    }

    async fn connection(&mut self, step: Step<CreateConnection, ConnectionRow>) -> Result<(), ApplyError> {
        let Some(step) = self.changed(step) else { return Ok(()) };
        let (record, place) = (Written::of(&step, Kind::Connection), step.place);
        let (row, result) = match step.stored {
            None => {
                let id = ConnectionId::from_uuid(step.id);
                let row =
                    connections::new_row(self.state, self.owner.tenant(), id, step.wanted, self.state.clock.now());
                let result = connections::insert(self.tx, self.owner, &row).await;
                (row, result)
            }
            Some(mut row) => {
                change::replace(&mut row, step.wanted, self.state);
                let result = connections::write_changed(self.tx, &row).await;
                (row, result)
            }
        };
        if self.unless_refused(&place, result)?.is_some() {
            self.done.warnings.extend(change::warnings(&row).map(|words| place.problem(words)));
            self.done.written.push(record);
        }
        Ok(())
    }

    async fn agent(&mut self, step: Step<WantedAgent, AgentRow>) -> Result<(), ApplyError> {
        let Some(step) = self.changed(step) else { return Ok(()) };
        let (mut record, place) = (Written::of(&step, Kind::Agent), step.place);
        let result = match step.stored {
            None => {
                let id = AgentId::from_uuid(step.id);
                let row = agents::new_row(self.owner.tenant(), id, step.wanted, self.state.clock.now());
                let inserted = agents::insert(self.state, self.tx, self.owner, &row).await;
                inserted.map(|warnings| (row, warnings))
            }
            Some(row) => agents::change(self.state, self.tx, self.owner, row, step.wanted).await,
        };
        if let Some((row, warnings)) = self.unless_refused(&place, result)? {
            self.done.warnings.extend(warnings.iter().map(|words| place.problem(warning_in_files(words))));
            record.version = Some(row.version);
            self.done.written.push(record);
        }
        Ok(())
    }

    async fn number(&mut self, step: Step<CreateNumber, NumberRow>) -> Result<(), ApplyError> {
        let Some(step) = self.changed(step) else { return Ok(()) };
        let (mut record, place) = (Written::of(&step, Kind::Number), step.place);
        let (now, configures_carrier) = (self.state.clock.now(), step.wanted.configure_carrier);
        let result = match step.stored {
            None => numbers::insert(self.tx, self.owner, step.wanted, now).await,
            Some(mut row) => numbers::change(self.tx, &mut row, step.wanted, now).await.map(|()| row),
        };
        if let Some(row) = self.unless_refused(&place, result)? {
            record.id = row.id;
            self.done.written.push(record);
            if configures_carrier {
                self.done.after.carriers.push((place, row));
            }
        }
        Ok(())
    }

    async fn webhook(&mut self, step: Step<Endpoint, WebhookRow>) -> Result<(), ApplyError> {
        let Some(step) = self.changed(step) else { return Ok(()) };
        let (mut record, place) = (Written::of(&step, Kind::Webhook), step.place);
        let result = match step.stored {
            None => {
                let (row, secret) = webhooks::new_row(self.state, self.owner.tenant(), step.wanted);
                record.secret = Some(secret);
                webhooks::insert(self.tx, self.owner, &row).await.map(|()| row)
            }
            Some(row) => self.change_webhook(&row, step.wanted).await,
        };
        if let Some(row) = self.unless_refused(&place, result)? {
            record.id = row.id;
            if !row.enabled && !record.is_new {
                self.done.after.disabled.push((place, WebhookId::from_uuid(row.id)));
            }
            self.done.written.push(record);
        }
        Ok(())
    }

    async fn change_webhook(&mut self, row: &WebhookRow, wanted: Endpoint) -> Result<WebhookRow, ApiError> {
        let (tenant, id) = (self.owner.tenant(), WebhookId::from_uuid(row.id));
        // Deliveries and rotations change endpoints without the tenant's lock.
        let row = stored_webhooks::lock(self.tx, tenant, id).await?;
        let mut row = row.ok_or_else(|| ApiError::invalid_field("url", "has just been deleted: apply again"))?;
        webhooks::change(self.tx, &mut row, wanted.events, wanted.enabled, self.state.clock.now()).await?;
        Ok(row)
    }
}

/// A failure of the service, whose reason is in the log.
pub(super) fn failed(error: &ApiError) -> ApplyError {
    ApplyError::Failed(anyhow::anyhow!("{}", error.body(None).detail.trim_end_matches('.')))
}

impl Written {
    fn of<T, R>(step: &Step<T, R>, kind: Kind) -> Self {
        Self {
            kind,
            name: step.name.clone(),
            id: step.id,
            version: None,
            is_new: step.is_new(),
            changes: step.changes.iter().map(|change| (change.path.clone(), change.to_string())).collect(),
            secret: None,
        }
    }
}
