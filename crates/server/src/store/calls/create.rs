//! Inserts new calls with their first events and deliveries.

use std::collections::BTreeMap;

use sqlx::QueryBuilder;
use sqlx::types::Json;
use switchhook_core::Timestamp;
use switchhook_core::call::{Call, CallEffect, Change, Direction};
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, CallId, ConnectionId, NumberId, TenantId};
use switchhook_core::quota;

use super::{CallRequest, CallRow};
use crate::store::events::{self, Happened};
use crate::store::{Tx, chunks, execute, on};

/// A new call.
pub struct NewCall {
    /// Its id.
    pub id: CallId,
    /// Its tenant.
    pub tenant: TenantId,
    /// Its direction.
    pub direction: Direction,
    /// The agent.
    pub agent: AgentId,
    /// The agent's version.
    pub agent_version: i64,
    /// The tenant's number, if known.
    pub number: Option<NumberId>,
    /// The carrier connection.
    pub connection: ConnectionId,
    /// Its provider.
    pub provider: String,
    /// The caller.
    pub from: String,
    /// The callee.
    pub to: String,
    /// The request's other fields.
    pub request: CallRequest,
    /// The current time.
    pub created_at: Timestamp,
    /// When to dial.
    pub due_at: Timestamp,
    /// Retention of its transcript and other words; `None` keeps them indefinitely.
    pub retention_days: Option<u32>,
}

impl NewCall {
    /// Builds the call's first row from [`Call::outbound`] or [`Call::inbound`].
    #[must_use]
    pub fn row(self, begun: (Call, Vec<CallEffect>)) -> CallRow {
        let commit = |effect| if let CallEffect::Commit(change) = effect { Some(change) } else { None };
        let change: Change = begun.1.into_iter().find_map(commit).expect("a new call is a commit");
        CallRow {
            id: self.id.uuid(),
            tenant_id: self.tenant.uuid(),
            status: change.status.as_str().to_owned(),
            direction: self.direction.as_str().to_owned(),
            agent_id: self.agent.uuid(),
            agent_version: self.agent_version,
            number_id: self.number.map(NumberId::uuid),
            connection_id: self.connection.uuid(),
            provider: self.provider,
            from_number: self.from,
            to_number: self.to,
            request: Json(self.request),
            created_at: self.created_at.as_micros(),
            due_at: self.due_at.as_micros(),
            deadline: change.deadline.map(Timestamp::as_micros),
            dialing_at: change.dialing_at.map(Timestamp::as_micros),
            ringing_at: None,
            answered_at: None,
            ended_at: None,
            end_reason: None,
            ended_by: None,
            answered_by: None,
            error_code: None,
            error: None,
            carrier_call_id: change.carrier_call_id,
            carrier_cause: None,
            carrier_code: None,
            sip_code: None,
            hung_up_by: None,
            hangup_reported: false,
            hangup_requested_at: None,
            duration_seconds: 0,
            turns: 0,
            summary: None,
            outcome: None,
            analysis: None,
            latency: None,
            usage: None,
            recording: None,
            retention_days: self.retention_days.map(i64::from),
            event_count: 1,
            lease_owner: None,
            lease_token: 0,
        }
    }
}

/// Inserts new calls of one tenant, each with its first event, `kind`.
///
/// # Errors
/// When the database fails.
pub async fn create(tx: &mut Tx, tenant: TenantId, rows: &[CallRow], kind: EventKind) -> Result<(), sqlx::Error> {
    for chunk in chunks(rows) {
        insert(tx, chunk).await?;
    }
    count_placed(tx, tenant, rows).await?;
    let happened: Result<Vec<_>, _> = rows.iter().map(|row| first_event(row, kind)).collect();
    events::write(tx, tenant, &happened?).await
}

/// Adds new calls that the tenant placed to the tenant's monthly count.
async fn count_placed(tx: &mut Tx, tenant: TenantId, rows: &[CallRow]) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO monthly_calls (tenant_id, month, calls) VALUES ($1, $2, $3) \
        ON CONFLICT (tenant_id, month) DO UPDATE SET calls = monthly_calls.calls + excluded.calls";
    let mut months: BTreeMap<i64, i64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.direction != Direction::Inbound.as_str()) {
        let month = quota::month_start(Timestamp::from_micros(row.created_at));
        *months.entry(month.as_micros()).or_default() += 1;
    }
    for (month, calls) in months {
        execute!(tx, SQL; tenant.uuid(), month, calls)?;
    }
    Ok(())
}

fn first_event(row: &CallRow, kind: EventKind) -> Result<Happened, sqlx::Error> {
    Ok(Happened { at: Timestamp::from_micros(row.created_at), facts: row.facts()?, kind, sequence: 1 })
}

async fn insert(tx: &mut Tx, rows: &[CallRow]) -> Result<(), sqlx::Error> {
    on!(tx, |c| {
        let mut query = QueryBuilder::new(
            "INSERT INTO calls (id, tenant_id, status, direction, agent_id, agent_version, number_id, connection_id, \
             provider, from_number, to_number, request, created_at, due_at, deadline, dialing_at, carrier_call_id, \
             retention_days, hangup_reported, duration_seconds, turns, event_count, lease_token) ",
        );
        query.push_values(rows, |mut values, row| {
            values.push_bind(row.id).push_bind(row.tenant_id).push_bind(&row.status).push_bind(&row.direction);
            values.push_bind(row.agent_id).push_bind(row.agent_version).push_bind(row.number_id);
            values.push_bind(row.connection_id).push_bind(&row.provider).push_bind(&row.from_number);
            values.push_bind(&row.to_number).push_bind(&row.request).push_bind(row.created_at).push_bind(row.due_at);
            values.push_bind(row.deadline).push_bind(row.dialing_at).push_bind(&row.carrier_call_id);
            values.push_bind(row.retention_days).push("FALSE").push("0").push("0").push_bind(row.event_count).push("0");
        });
        query.build().execute(c).await.map(drop)
    })
}
