//! Inbound calls: stored with their first event, owned by the node that receives them, and answered. Also calls whose media reaches
//! another node than the one that dialled, and calls whose browser connects.

use std::time::Duration;

use switchhook_carriers::callback::Decline;
use switchhook_carriers::{CarrierEvent, LegEvent, Media};
use switchhook_core::call::{Call, Direction, Timing};
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, CallId, ConnectionId, NumberId, TenantId};
use switchhook_core::quota::QuotaExceeded;
use switchhook_runtime::clock;

use super::Context;
use super::quota::Admission;
use super::runner::{self, ClaimReason};
use crate::store::calls::{self, CallRequest, CallRow, NewCall};
use crate::store::numbers::NumberRow;
use crate::store::{Tx, agents};

/// The retries of media that waits until another node has committed the carrier's response to the dial.
const DIAL_WRITTEN: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::ZERO,
];

/// An inbound call.
pub struct InboundCall {
    /// Our id of the call, which the carrier already knows.
    pub id: CallId,
    /// The carrier's own id.
    pub carrier_call_id: String,
    /// The number that was called.
    pub number: NumberRow,
    /// The provider of the number's connection.
    pub provider: String,
    /// The caller.
    pub from: String,
    /// The agent that answers.
    pub agent: AgentId,
}

/// Why an inbound call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboundRefusal {
    /// Its agent or its tenant no longer exists.
    NoAgent,
    /// A quota is reached.
    Quota(QuotaExceeded),
}

/// Accepts an inbound call and starts to answer it.
///
/// # Errors
/// If the database fails; the call is not answered then, and the carrier gives up.
pub async fn accept(context: &Context, call: InboundCall) -> Result<Result<CallRow, InboundRefusal>, sqlx::Error> {
    let mut tx = context.store.begin().await?;
    let tenant = TenantId::from_uuid(call.number.tenant_id);
    let admission = Admission::open(&mut tx, tenant, &context.config, context.clock.now()).await?;
    let Some(mut admission) = admission else { return Ok(Err(InboundRefusal::NoAgent)) };
    let accepted = write(context, &mut tx, &mut admission, call).await?;
    if let Ok(row) = &accepted {
        commit_lease(context, tx, row).await?;
        start(context, row.clone());
    }
    Ok(accepted)
}

/// A call that a carrier announces.
pub struct AnnouncedCall {
    /// The carrier's own id.
    pub carrier_call_id: String,
    /// The caller, as reported by the carrier.
    pub from: String,
    /// The number that was called.
    pub number: NumberRow,
    /// The provider of the number's connection.
    pub provider: String,
}

/// The decision on a call that a carrier announces.
pub enum InboundDecision {
    /// It is accepted, now or at an earlier announcement.
    Accepted(Box<CallRow>),
    /// It is declined.
    Declined(Decline),
}

/// Accepts a call that a carrier announces: once, however often it is announced, and only within the tenant's quotas. A node that is
/// `draining` accepts no new ones.
///
/// # Errors
/// If the database fails.
pub async fn accept_announced(
    context: &Context,
    announced: AnnouncedCall,
    draining: bool,
) -> Result<InboundDecision, sqlx::Error> {
    let connection = ConnectionId::from_uuid(announced.number.connection_id);
    let tenant = TenantId::from_uuid(announced.number.tenant_id);
    let now = context.clock.now();
    let mut tx = context.store.begin().await?;
    // Lock the tenant's row, so that the same call is not accepted twice.
    let admission = Admission::open(&mut tx, tenant, &context.config, now).await?;
    let Some(mut admission) = admission else { return Ok(InboundDecision::Declined(Decline::NotServed)) };
    if let Some(row) = calls::by_carrier_call_id(&mut tx, connection, &announced.carrier_call_id).await? {
        let over = row.status()?.is_terminal();
        return Ok(if over {
            InboundDecision::Declined(Decline::NotServed)
        } else {
            InboundDecision::Accepted(Box::new(row))
        });
    }
    let Some(agent) = announced.number.inbound_agent_id.filter(|_| admission.tenant.active) else {
        return Ok(InboundDecision::Declined(Decline::NotServed));
    };
    if draining {
        return Ok(InboundDecision::Declined(Decline::Busy));
    }
    let call = InboundCall {
        id: CallId::new(now, clock::random()),
        carrier_call_id: announced.carrier_call_id,
        number: announced.number,
        provider: announced.provider,
        from: announced.from,
        agent: AgentId::from_uuid(agent),
    };
    let row = match write(context, &mut tx, &mut admission, call).await? {
        Ok(row) => row,
        Err(InboundRefusal::NoAgent) => return Ok(InboundDecision::Declined(Decline::NotServed)),
        Err(InboundRefusal::Quota(_)) => return Ok(InboundDecision::Declined(Decline::Busy)),
    };
    commit_lease(context, tx, &row).await?;
    start(context, row.clone());
    Ok(InboundDecision::Accepted(Box::new(row)))
}

async fn write(
    context: &Context,
    tx: &mut Tx,
    admission: &mut Admission,
    call: InboundCall,
) -> Result<Result<CallRow, InboundRefusal>, sqlx::Error> {
    let now = context.clock.now();
    let tenant = TenantId::from_uuid(call.number.tenant_id);
    let agent = agents::for_call(tx, tenant, call.agent, None, call.id).await?;
    let Some(agent) = agent else { return Ok(Err(InboundRefusal::NoAgent)) };
    if let Err(exceeded) = admission.admit(Direction::Inbound) {
        return Ok(Err(InboundRefusal::Quota(exceeded)));
    }
    let new = NewCall {
        id: call.id,
        tenant,
        direction: Direction::Inbound,
        agent: call.agent,
        agent_version: agent.version,
        number: Some(NumberId::from_uuid(call.number.id)),
        connection: ConnectionId::from_uuid(call.number.connection_id),
        provider: call.provider,
        from: call.from,
        to: call.number.number,
        request: CallRequest::default(),
        created_at: now,
        due_at: now,
        retention_days: agent.config.privacy.retention_days,
    };
    // If the response to the announcement answers the call, no event comes before its media.
    let timing = Timing { ring_timeout: context.config.media_timeout, ..Timing::default() };
    let row = new.row(Call::inbound(now, call.carrier_call_id, timing));
    calls::create(tx, tenant, &[row], EventKind::CallReceived).await?;
    calls::own_for_arrival(tx, call.id, context.node, context.lease()).await.map(Ok)
}

fn start(context: &Context, row: CallRow) {
    context.wakeups.webhooks.notify_one();
    if let Some(entry) = context.live.register(row.call_id()) {
        context.runners.spawn(runner::run(context.clone(), row, ClaimReason::Arrived, entry));
    }
}

/// Takes over a call whose media reached this node, from the node that dialled it. Returns whether that worked. The other node finds its
/// lease lost.
pub async fn takeover(context: &Context, call: CallId, carrier_call_id: String, media: Media) -> bool {
    for pause in DIAL_WRITTEN {
        // This node may have claimed it meanwhile.
        if let Some(events) = context.live.events(call) {
            events.send(LegEvent::Carrier(CarrierEvent::Id(carrier_call_id)));
            events.send(LegEvent::Media(media));
            return true;
        }
        match move_here(context, call, &carrier_call_id).await {
            Ok(Some(row)) => {
                let Some(entry) = context.live.register(call) else { return false };
                entry.events.send(LegEvent::Media(media));
                context.runners.spawn(runner::run(context.clone(), row, ClaimReason::MediaArrived, entry));
                return true;
            }
            Ok(None) => tokio::time::sleep(pause).await,
            Err(error) => {
                tracing::error!(%error, "takeover of a call whose media reached this node failed");
                return false;
            }
        }
    }
    tracing::warn!("media arrived for a call that does not wait for any");
    false
}

/// Runs a call on this node whose browser has connected to it. Returns whether the call was still waiting for one.
pub async fn connect_browser(context: &Context, call: CallId) -> bool {
    let claimed = async {
        let mut tx = context.store.begin().await?;
        let row = calls::claim_for_browser(&mut tx, call, context.node, context.clock.now(), context.lease()).await?;
        if let Some(row) = &row {
            commit_lease(context, tx, row).await?;
        }
        Ok::<_, sqlx::Error>(row)
    };
    let row = match claimed.await {
        Ok(row) => row,
        Err(error) => {
            tracing::error!(%error, "could not claim a call whose browser connected");
            None
        }
    };
    let Some((row, entry)) = row.and_then(|row| Some((row, context.live.register(call)?))) else { return false };
    context.runners.spawn(runner::run(context.clone(), row, ClaimReason::Queued, entry));
    true
}

/// Takes the lease only if the carrier knows the call by this id, so that a stream of another call cannot steal it.
async fn move_here(context: &Context, call: CallId, carrier_call_id: &str) -> Result<Option<CallRow>, sqlx::Error> {
    let mut tx = context.store.begin().await?;
    let row = calls::move_for_media(&mut tx, call, carrier_call_id, context.node, context.lease()).await?;
    if let Some(row) = &row {
        commit_lease(context, tx, row).await?;
    }
    Ok(row)
}

/// Commits this node's lease of a call. If the database breaks off, asks it whether it has committed: the carrier or the browser waits
/// for this node, and no other node may run the call before the lease ends.
///
/// # Errors
/// If it has not committed, or does not answer.
async fn commit_lease(context: &Context, tx: Tx, row: &CallRow) -> Result<(), sqlx::Error> {
    let Err(error) = tx.commit().await else { return Ok(()) };
    let stored = calls::get_for_carrier(&mut context.store.read().await?, row.call_id()).await?;
    let lease = |row: &CallRow| (row.lease_owner, row.lease_token);
    if stored.as_ref().map(lease) == Some(lease(row)) { Ok(()) } else { Err(error) }
}
