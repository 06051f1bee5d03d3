//! `/carrier/<provider>/calls/<token>/<topic>`: a carrier's status callbacks about one call.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use switchhook_carriers::callback::Callback;
use switchhook_carriers::{Carrier, CarrierEvent, LegEvent, LegRef};
use switchhook_core::call::EndReason;
use switchhook_core::id::ConnectionId;
use tokio::time::Instant;

use super::{CarrierPath, CarrierRequest, of_provider, webhooks_of};
use crate::http::error::ApiError;
use crate::store::calls::commands::{self, CallCommand};
use crate::store::calls::{self, CallRow};
use crate::telemetry::Seldom;

/// Lines about legs that outlive their calls, which a signer of reports could otherwise cause without limit.
static NOT_HUNG_UP: Seldom = Seldom::new();

pub(super) async fn callback(
    Path(path): Path<CarrierPath>,
    request: CarrierRequest,
    body: Bytes,
) -> Result<Response, ApiError> {
    let row = request.call()?;
    let carrier = of_provider(request.setup.carrier(&request.store, &row).await)?;
    let webhooks = webhooks_of(&carrier)?;
    let callback = webhooks.read(&request.as_callback(&path.topic, &body)).and_then(Callback::checked)?;
    let mut events = callback.events;
    if is_late_leg(&row, &callback.carrier_call_id, &events)? {
        if !is_of_another_call(&request, &row, &callback.carrier_call_id).await? {
            hang_up(carrier, &row, callback.carrier_call_id);
        }
        return Ok(callback.reply.into_response());
    }
    match &row.carrier_call_id {
        Some(known) if *known != callback.carrier_call_id => events = of_other_leg(events, &callback.carrier_call_id),
        Some(_) => {}
        None => events.insert(0, CarrierEvent::Id(callback.carrier_call_id)),
    }
    forward(&request, &row, events).await?;
    if callback.wants_instructions && !row.status()?.is_terminal() {
        return Ok(webhooks.accept(&request.setup.addresses().for_call(&path.provider, row.call_id())).into_response());
    }
    Ok(callback.reply.into_response())
}

/// Returns the events of the call that follow from events of another leg, such as a transfer's.
pub(super) fn of_other_leg(events: Vec<CarrierEvent>, carrier_call_id: &str) -> Vec<CarrierEvent> {
    let carrier_call_id = carrier_call_id.to_owned();
    if events.is_empty() {
        return vec![CarrierEvent::OtherLegStarted { carrier_call_id }];
    }
    let about = |event| match event {
        CarrierEvent::Answered => Some(CarrierEvent::OtherLegAnswered { carrier_call_id: carrier_call_id.clone() }),
        CarrierEvent::Bridged => Some(CarrierEvent::OtherLegBridged { carrier_call_id: carrier_call_id.clone() }),
        CarrierEvent::Hangup(_) => Some(CarrierEvent::OtherLegEnded { carrier_call_id: carrier_call_id.clone() }),
        ended @ CarrierEvent::TransferEnded { .. } => Some(ended),
        _ => None,
    };
    events.into_iter().filter_map(about).collect()
}

/// Returns whether a leg outlives its call: its id came too late, hanging up failed, or the number of a transfer answers after the far end has
/// hung up. A transferred leg is meant to.
fn is_late_leg(row: &CallRow, carrier_call_id: &str, events: &[CarrierEvent]) -> Result<bool, ApiError> {
    let over = events.is_empty() || events.iter().any(|event| matches!(event, CarrierEvent::Hangup(_)));
    let other = row.carrier_call_id.as_deref().is_some_and(|known| known != carrier_call_id);
    let answered = || events.iter().any(|event| matches!(event, CarrierEvent::Answered | CarrierEvent::Bridged));
    let transferred = row.end_reason.as_deref() == Some(EndReason::Transferred.as_str());
    let ours = !row.hangup_reported || (other && answered());
    Ok(row.status()?.is_terminal() && ours && !over && !transferred)
}

/// Returns whether the carrier gave the leg's id to another call, which may continue.
async fn is_of_another_call(request: &CarrierRequest, row: &CallRow, carrier_call_id: &str) -> Result<bool, ApiError> {
    let connection = ConnectionId::from_uuid(row.connection_id);
    let owner = calls::by_carrier_call_id(&mut request.store.read().await?, connection, carrier_call_id).await?;
    Ok(owner.is_some_and(|owner| owner.id != row.id))
}

fn hang_up(carrier: Arc<Carrier>, row: &CallRow, carrier_call_id: String) {
    tracing::warn!(call = %row.call_id(), "a leg outlives its call: hanging up");
    let leg = LegRef {
        call: row.call_id(),
        carrier_call_id: Some(carrier_call_id),
        from: None,
        to: None,
        dialing_at: None,
        answered: true,
    };
    tokio::spawn(async move {
        if let Err(error) = carrier.control.hang_up(&leg).await {
            // The carrier's next report tries again.
            if let Some(left_out) = NOT_HUNG_UP.line(Instant::now()) {
                tracing::warn!(%error, left_out, "the carrier did not hang up");
            }
        }
    });
}

/// Sends events to the call's runner: directly, or through the database where another node owns the call. Events after the end
/// are dropped.
pub(super) async fn forward(
    request: &CarrierRequest,
    row: &CallRow,
    events: Vec<CarrierEvent>,
) -> Result<(), ApiError> {
    if events.is_empty() || row.status()?.is_terminal() {
        return Ok(());
    }
    // A call that has moved to another node may still be known here for a moment.
    let here = request.calls.as_ref().filter(|calls| row.lease_owner == Some(calls.node.uuid()));
    let Some(leg) = here.and_then(|calls| calls.live.events(row.call_id())) else {
        return store_for_owner(request, row, events).await;
    };
    for event in events {
        leg.send(LegEvent::Carrier(event));
    }
    Ok(())
}

async fn store_for_owner(request: &CarrierRequest, row: &CallRow, events: Vec<CarrierEvent>) -> Result<(), ApiError> {
    let (tenant, call, now) = (row.tenant(), row.call_id(), request.clock.now());
    let mut tx = request.store.begin().await?;
    let found = calls::lock(&mut tx, tenant, call).await?;
    if found.is_some_and(|row| row.status().is_ok_and(|status| !status.is_terminal())) {
        for (event, later) in events.into_iter().zip(0..) {
            // They are taken in the order of their times.
            let at = now + Duration::from_micros(later);
            commands::insert(&mut tx, tenant, call, &CallCommand::CarrierEvent { event }, at).await?;
        }
    }
    tx.commit().await?;
    Ok(())
}
