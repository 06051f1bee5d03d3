//! Calls that arrive: written down with their first event, owned by the node they arrived at, and answered.

use switchhook_core::call::{Call, Direction, Timing};
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, CallId, ConnectionId, NumberId, TenantId};

use super::runner::{self, Takeover};
use super::{Context, LEASE};
use crate::store::agents;
use crate::store::calls::{self, CallRequest, CallRow, NewCall};
use crate::store::numbers::NumberRow;

/// Who calls whom.
pub struct Arrival {
    /// Our id of the call, which the carrier already knows.
    pub call: CallId,
    /// The carrier's own id.
    pub carrier_call_id: String,
    /// The number that is called.
    pub number: NumberRow,
    /// The provider of the number's connection.
    pub provider: String,
    /// Who calls.
    pub from: String,
    /// The agent that answers.
    pub agent: AgentId,
}

/// Takes a call in and starts to answer it. Nothing when its agent is gone.
///
/// # Errors
/// When the database fails; nobody answers then, and the carrier gives up.
pub async fn take_in(context: &Context, arrival: Arrival) -> Result<Option<CallRow>, sqlx::Error> {
    let now = context.clock.now();
    let mut tx = context.store.begin().await?;
    let tenant = TenantId::from_uuid(arrival.number.tenant_id);
    let Some(agent) = agents::get(&mut tx, tenant, arrival.agent).await? else { return Ok(None) };
    let new = NewCall {
        id: arrival.call,
        tenant,
        direction: Direction::Inbound,
        agent: arrival.agent,
        agent_version: agent.version,
        number: Some(NumberId::from_uuid(arrival.number.id)),
        connection: ConnectionId::from_uuid(arrival.number.connection_id),
        provider: arrival.provider,
        from: arrival.from,
        to: arrival.number.number,
        request: CallRequest::default(),
        created_at: now,
        due_at: now,
    };
    let row = new.row(Call::inbound(now, arrival.carrier_call_id, Timing::default()));
    calls::create(&mut tx, tenant, &[row], EventKind::CallReceived).await?;
    let row = calls::own_for_arrival(&mut tx, arrival.call, context.node, now + LEASE).await?;
    tx.commit().await?;
    context.hints.webhooks.notify_one();
    if let Some(entered) = context.live.enter(arrival.call) {
        context.runners.spawn(runner::run(context.clone(), row.clone(), Takeover::Arrived, entered));
    }
    Ok(Some(row))
}
