//! `/carrier/<provider>/calls/<token>/<topic>`: what a carrier tells about one call.

use axum::body::Bytes;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};

use super::{Place, Received, of_provider};
use crate::carrier::{CarrierEvent, Told};
use crate::http::error::ApiError;
use crate::store::calls::commands::{self, Command};
use crate::store::calls::{self, CallRow};

pub(super) async fn told(Path(place): Path<Place>, received: Received, body: Bytes) -> Result<Response, ApiError> {
    let row = received.call(&place.provider, &place.token).await?;
    let carrier = of_provider(received.setup.carrier(&received.store, &row).await)?;
    let callback = carrier.read(&received.as_request(&place.topic, &body))?;
    let mut told = callback.told;
    match &row.carrier_call_id {
        // Another leg, such as the one the caller was passed on to, is none of our business.
        Some(known) if *known != callback.carrier_call_id => told.clear(),
        Some(_) => {}
        None => told.insert(0, Told::Id(callback.carrier_call_id)),
    }
    pass_on(&received, &row, told).await?;
    Ok(callback.reply.into_response())
}

/// Tells the call's runner: here, or through the database where it is another node's. What comes after the end changes nothing.
pub(super) async fn pass_on(received: &Received, row: &CallRow, told: Vec<Told>) -> Result<(), ApiError> {
    if told.is_empty() || row.status()?.is_terminal() {
        return Ok(());
    }
    let Some(line) = received.calls.as_ref().and_then(|calls| calls.live.line(row.call_id())) else {
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
        for told in told {
            commands::give(&mut tx, tenant, call, &Command::Told { told }, now).await?;
        }
    }
    tx.commit().await?;
    Ok(())
}
