//! `/carrier/<provider>/calls/<token>/<topic>`: what a carrier tells about one call.

use axum::body::Bytes;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use switchhook_core::id::CallId;

use super::{Place, Received, nothing_here, of_provider};
use crate::calls::Context;
use crate::carrier::{CarrierEvent, Told};
use crate::http::error::ApiError;
use crate::store::calls::commands::{self, Command};
use crate::store::calls::{self, CallRow};

pub(super) async fn told(Path(place): Path<Place>, received: Received, body: Bytes) -> Result<Response, ApiError> {
    let context = &received.calls;
    let row = find(context, &place.provider, &place.token).await?;
    let carrier = of_provider(context.setup.carrier(&context.store, &row).await)?;
    let callback = carrier.read(&received.as_request(&place.topic, &body))?;
    let mut told = callback.told;
    match &row.carrier_call_id {
        // Another leg, such as the one the caller was passed on to, is none of our business.
        Some(known) if *known != callback.carrier_call_id => told.clear(),
        Some(_) => {}
        None => told.insert(0, Told::Id(callback.carrier_call_id)),
    }
    pass_on(context, &row, told).await?;
    Ok(callback.reply.into_response())
}

/// The call whose address was used.
pub(super) async fn find(context: &Context, provider: &str, token: &str) -> Result<CallRow, ApiError> {
    let id = context.setup.addresses().call_of(token).ok_or_else(nothing_here)?;
    let row = calls::get_for_carrier(&mut context.store.read().await?, id).await?;
    row.filter(|row| row.provider == provider).ok_or_else(nothing_here)
}

/// Tells the call's runner: here, or through the database where it is another node's. What comes after the end changes nothing.
pub(super) async fn pass_on(context: &Context, row: &CallRow, told: Vec<Told>) -> Result<(), ApiError> {
    if told.is_empty() || row.status()?.is_terminal() {
        return Ok(());
    }
    if let Some(line) = context.live.line(row.call_id()) {
        for told in told {
            line.tell(CarrierEvent::Told(told));
        }
        return Ok(());
    }
    leave_for_owner(context, row, told).await
}

async fn leave_for_owner(context: &Context, row: &CallRow, told: Vec<Told>) -> Result<(), ApiError> {
    let now = context.clock.now();
    let (tenant, call): (_, CallId) = (row.tenant(), row.call_id());
    let mut tx = context.store.begin().await?;
    let live =
        calls::lock(&mut tx, tenant, call).await?.is_some_and(|row| row.status().is_ok_and(|s| !s.is_terminal()));
    if live {
        for told in told {
            commands::give(&mut tx, tenant, call, &Command::Told { told }, now).await?;
        }
    }
    tx.commit().await?;
    Ok(())
}
