//! `/carrier/<provider>/calls/<token>/<topic>`: what a carrier tells about one call.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};

use switchhook_core::call::EndReason;
use switchhook_core::id::ConnectionId;

use super::{Place, Received, of_provider};
use crate::carrier::{Carrier, CarrierEvent, LegRef, Told};
use crate::http::error::ApiError;
use crate::store::calls::commands::{self, Command};
use crate::store::calls::{self, CallRow};

pub(super) async fn told(Path(place): Path<Place>, received: Received, body: Bytes) -> Result<Response, ApiError> {
    let row = received.call()?;
    let carrier = of_provider(received.setup.carrier(&received.store, &row).await)?;
    let callback = carrier.read(&received.as_request(&place.topic, &body))?;
    let mut told = callback.told;
    if turns_up_late(&row, &told)? {
        if !is_of_another_call(&received, &row, &callback.carrier_call_id).await? {
            hang_up(carrier, &row, callback.carrier_call_id);
        }
        return Ok(callback.reply.into_response());
    }
    match &row.carrier_call_id {
        // Another leg, such as the one the caller was passed on to, is none of our business.
        Some(known) if *known != callback.carrier_call_id => told.clear(),
        Some(_) => {}
        None => told.insert(0, Told::Id(callback.carrier_call_id)),
    }
    pass_on(&received, &row, told).await?;
    if callback.wants_instructions && !row.status()?.is_terminal() {
        return Ok(carrier.take(&received.setup.addresses().for_call(&place.provider, row.call_id())).into_response());
    }
    Ok(callback.reply.into_response())
}

/// Whether a line lives on whose call has ended: its id came too late, or nobody could be told to hang up. Not one on which
/// somebody else talks now.
fn turns_up_late(row: &CallRow, told: &[Told]) -> Result<bool, ApiError> {
    let over = told.is_empty() || told.iter().any(|told| matches!(told, Told::Hangup(_)));
    let passed_on = row.end_reason.as_deref() == Some(EndReason::Transferred.as_str());
    Ok(row.status()?.is_terminal() && !row.hangup_reported && !over && !passed_on)
}

/// Whether the carrier gave the leg's id to another call, which may go on.
async fn is_of_another_call(received: &Received, row: &CallRow, carrier_call_id: &str) -> Result<bool, ApiError> {
    let connection = ConnectionId::from_uuid(row.connection_id);
    let owner = calls::by_carrier_call_id(&mut received.store.read().await?, connection, carrier_call_id).await?;
    Ok(owner.is_some_and(|owner| owner.id != row.id))
}

fn hang_up(carrier: Arc<dyn Carrier>, row: &CallRow, carrier_call_id: String) {
    tracing::warn!(call = %row.call_id(), "a line lives on whose call has ended: hanging up");
    let leg = LegRef {
        call: row.call_id(),
        carrier_call_id: Some(carrier_call_id),
        from: None,
        to: None,
        dialing_at: None,
        answered: true,
    };
    tokio::spawn(async move {
        if let Err(error) = carrier.hang_up(&leg).await {
            // The carrier's next report tries again.
            tracing::warn!(%error, "the carrier did not hang up");
        }
    });
}

/// Tells the call's runner: here, or through the database where it is another node's. What comes after the end changes nothing.
pub(super) async fn pass_on(received: &Received, row: &CallRow, told: Vec<Told>) -> Result<(), ApiError> {
    if told.is_empty() || row.status()?.is_terminal() {
        return Ok(());
    }
    // A call that has moved to another node may still be known here for a moment.
    let here = received.calls.as_ref().filter(|calls| row.lease_owner == Some(calls.node.uuid()));
    let Some(line) = here.and_then(|calls| calls.live.line(row.call_id())) else {
        return leave_for_owner(received, row, told).await;
    };
    for told in told {
        line.tell(CarrierEvent::Told(told));
    }
    Ok(())
}

async fn leave_for_owner(received: &Received, row: &CallRow, told: Vec<Told>) -> Result<(), ApiError> {
    let (tenant, call, now) = (row.tenant(), row.call_id(), received.clock.now());
    let mut tx = received.store.begin().await?;
    let found = calls::lock(&mut tx, tenant, call).await?;
    if found.is_some_and(|row| row.status().is_ok_and(|status| !status.is_terminal())) {
        for (told, later) in told.into_iter().zip(0..) {
            // They are taken in the order of their times.
            let at = now + Duration::from_micros(later);
            commands::insert(&mut tx, tenant, call, &Command::Told { told }, at).await?;
        }
    }
    tx.commit().await?;
    Ok(())
}
