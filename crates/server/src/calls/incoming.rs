//! Calls that arrive: written down with their first event, owned by the node they arrived at, and answered. And calls whose sound
//! arrives at another node than the one that dialled.

use std::time::Duration;

use switchhook_core::call::{Call, Direction, Timing};
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, CallId, ConnectionId, NumberId, TenantId};
use switchhook_core::quota::QuotaExceeded;

use super::Context;
use super::admission::Admission;
use super::runner::{self, Takeover};
use crate::carrier::callback::Decline;
use crate::carrier::{CarrierEvent, Media, Told};
use crate::clock;
use crate::store::calls::{self, CallRequest, CallRow, NewCall};
use crate::store::numbers::NumberRow;
use crate::store::{Tx, agents};

/// How long a call that another node dials is waited for, whose sound came before the carrier's answer to the dial was written.
const DIAL_WRITTEN: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::ZERO,
];

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

/// Why a call that arrives is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// Its agent, or its tenant, is gone.
    Nobody,
    /// It would be one too many.
    Quota(QuotaExceeded),
}

/// Takes a call in and starts to answer it.
///
/// # Errors
/// When the database fails; nobody answers then, and the carrier gives up.
pub async fn take_in(context: &Context, arrival: Arrival) -> Result<Result<CallRow, NotTaken>, sqlx::Error> {
    let mut tx = context.store.begin().await?;
    let tenant = TenantId::from_uuid(arrival.number.tenant_id);
    let admission = Admission::open(&mut tx, tenant, &context.config, context.clock.now()).await?;
    let Some(mut admission) = admission else { return Ok(Err(NotTaken::Nobody)) };
    let taken = write(context, &mut tx, &mut admission, arrival).await?;
    if let Ok(row) = &taken {
        tx.commit().await?;
        start(context, row.clone());
    }
    Ok(taken)
}

/// A call that a carrier announces.
pub struct Arrived {
    /// The carrier's own id.
    pub carrier_call_id: String,
    /// Who calls, as the carrier says.
    pub from: String,
    /// The number that is called.
    pub number: NumberRow,
    /// The provider of the number's connection.
    pub provider: String,
}

/// What becomes of a call that a carrier announces.
pub enum Taken {
    /// It is taken, now or when the carrier announced it before.
    Call(Box<CallRow>),
    /// It is not.
    Declined(Decline),
}

/// Takes in a call that a carrier announces: once, however often it does, and only as far as the tenant's quota allows. A node that
/// is `draining` takes in no new ones.
///
/// # Errors
/// When the database fails.
pub async fn take_in_from_carrier(context: &Context, arrived: Arrived, draining: bool) -> Result<Taken, sqlx::Error> {
    let connection = ConnectionId::from_uuid(arrived.number.connection_id);
    let tenant = TenantId::from_uuid(arrived.number.tenant_id);
    let now = context.clock.now();
    let mut tx = context.store.begin().await?;
    // Whoever else takes in a call of this tenant waits: the same one is not taken in twice.
    let admission = Admission::open(&mut tx, tenant, &context.config, now).await?;
    let Some(mut admission) = admission else { return Ok(Taken::Declined(Decline::NotServed)) };
    if let Some(row) = calls::by_carrier_call_id(&mut tx, connection, &arrived.carrier_call_id).await? {
        let over = row.status()?.is_terminal();
        return Ok(if over { Taken::Declined(Decline::NotServed) } else { Taken::Call(Box::new(row)) });
    }
    let Some(agent) = arrived.number.inbound_agent_id.filter(|_| admission.tenant.active) else {
        return Ok(Taken::Declined(Decline::NotServed));
    };
    if draining {
        return Ok(Taken::Declined(Decline::Busy));
    }
    let arrival = Arrival {
        call: CallId::new(now, clock::random()),
        carrier_call_id: arrived.carrier_call_id,
        number: arrived.number,
        provider: arrived.provider,
        from: arrived.from,
        agent: AgentId::from_uuid(agent),
    };
    let row = match write(context, &mut tx, &mut admission, arrival).await? {
        Ok(row) => row,
        Err(NotTaken::Nobody) => return Ok(Taken::Declined(Decline::NotServed)),
        Err(NotTaken::Quota(_)) => return Ok(Taken::Declined(Decline::Busy)),
    };
    tx.commit().await?;
    start(context, row.clone());
    Ok(Taken::Call(Box::new(row)))
}

async fn write(
    context: &Context,
    tx: &mut Tx,
    admission: &mut Admission,
    arrival: Arrival,
) -> Result<Result<CallRow, NotTaken>, sqlx::Error> {
    let now = context.clock.now();
    let tenant = TenantId::from_uuid(arrival.number.tenant_id);
    let Some(agent) = agents::get(tx, tenant, arrival.agent).await? else { return Ok(Err(NotTaken::Nobody)) };
    if let Err(exceeded) = admission.admit(Direction::Inbound) {
        return Ok(Err(NotTaken::Quota(exceeded)));
    }
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
        retention_days: agent.config.privacy.retention_days,
    };
    // Where the answer to the announcement answers the call, nothing is told before its sound comes.
    let timing = Timing { ring_timeout: context.config.media_timeout, ..Timing::default() };
    let row = new.row(Call::inbound(now, arrival.carrier_call_id, timing));
    calls::create(tx, tenant, &[row], EventKind::CallReceived).await?;
    calls::own_for_arrival(tx, arrival.call, context.node, context.lease()).await.map(Ok)
}

fn start(context: &Context, row: CallRow) {
    context.hints.webhooks.notify_one();
    if let Some(entered) = context.live.enter(row.call_id()) {
        context.runners.spawn(runner::run(context.clone(), row, Takeover::Arrived, entered));
    }
}

/// Takes over a call whose sound has come to this node, from the node that dialled it; whether it could be had. The other node
/// finds that its lease is lost.
pub async fn take_over(context: &Context, call: CallId, carrier_call_id: String, media: Media) -> bool {
    for pause in DIAL_WRITTEN {
        // It may have been claimed by this node meanwhile.
        if let Some(line) = context.live.line(call) {
            line.tell(CarrierEvent::Told(Told::Id(carrier_call_id)));
            line.tell(CarrierEvent::Media(media));
            return true;
        }
        match move_here(context, call, &carrier_call_id).await {
            Ok(Some(row)) => {
                let Some(entered) = context.live.enter(call) else { return false };
                entered.line.tell(CarrierEvent::Media(media));
                context.runners.spawn(runner::run(context.clone(), row, Takeover::Moved, entered));
                return true;
            }
            Ok(None) => tokio::time::sleep(pause).await,
            Err(error) => {
                tracing::error!(%error, "a call whose sound came to this node could not be taken over");
                return false;
            }
        }
    }
    tracing::warn!("sound came for a call that is not waiting for any");
    false
}

/// Takes the lease only of a call that the carrier knows by this id: the stream of another one costs nobody its call.
async fn move_here(context: &Context, call: CallId, carrier_call_id: &str) -> Result<Option<CallRow>, sqlx::Error> {
    let mut tx = context.store.begin().await?;
    let row = calls::move_for_media(&mut tx, call, carrier_call_id, context.node, context.lease()).await?;
    tx.commit().await?;
    Ok(row)
}
