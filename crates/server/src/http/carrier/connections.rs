//! `/carrier/<provider>/connections/<token>/<topic>`: calls that arrive on a connection's numbers, and status callbacks about them
//! under the carrier's own id.

use axum::body::Bytes;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use switchhook_carriers::callback::{Callback, Decline, IncomingCall};

use tokio::time::Instant;

use super::calls::{forward, of_other_leg};
use super::{CarrierPath, CarrierRequest, nothing_here, of_provider, webhooks_of};
use crate::calls::incoming::{self, AnnouncedCall, InboundDecision};
use crate::http::HttpState;
use crate::http::error::ApiError;
use crate::store::{calls, connections, numbers};
use crate::telemetry::Seldom;

/// Lines about calls to other numbers than the connection's, which its tenant can cause.
static NOT_SERVED: Seldom = Seldom::new();

pub(super) async fn callback(
    state: HttpState,
    Path(path): Path<CarrierPath>,
    request: CarrierRequest,
    body: Bytes,
) -> Result<Response, ApiError> {
    let id = request.setup.addresses().connection_of(&path.token).ok_or_else(nothing_here)?;
    let connection = connections::get_for_carrier(&mut request.store.read().await?, id).await?;
    let connection = connection.filter(|row| row.provider == path.provider).ok_or_else(nothing_here)?;
    let carrier = of_provider(request.setup.carrier_of(&connection))?;
    let webhooks = webhooks_of(&carrier)?;
    let callback = webhooks.read(&request.as_callback(&path.topic, &body)).and_then(Callback::checked)?;
    let carrier_call_id = callback.carrier_call_id;
    let Some(IncomingCall { from, to }) = callback.incoming else {
        let mut conn = request.store.read().await?;
        if let Some(row) = calls::by_carrier_call_id(&mut conn, id, &carrier_call_id).await? {
            drop(conn);
            forward(&request, &row, callback.events).await?;
        } else if let Some(call) = callback.reference.and_then(|token| request.setup.addresses().call_of(&token)) {
            let row = calls::get_for_carrier(&mut conn, call).await?.filter(|row| row.connection_id == id.uuid());
            drop(conn);
            if let Some(row) = row {
                forward(&request, &row, of_other_leg(callback.events, &carrier_call_id)).await?;
            }
        }
        return Ok(callback.reply.into_response());
    };
    let number = numbers::of_connection(&mut request.store.read().await?, id, &to).await?;
    let Some(number) = number else {
        if let Some(left_out) = NOT_SERVED.line(Instant::now()) {
            tracing::warn!(
                left_out,
                "a carrier announces a call to a number that the connection does not have: it is declined"
            );
        }
        return Ok(webhooks.decline(&carrier_call_id, Decline::NotServed).await.into_response());
    };
    let call =
        AnnouncedCall { carrier_call_id: carrier_call_id.clone(), from, number, provider: path.provider.clone() };
    let decision = incoming::accept_announced(request.calls()?, call, state.draining.started()).await?;
    Ok(match decision {
        InboundDecision::Accepted(row) => {
            webhooks.accept(&request.setup.addresses().for_call(&path.provider, row.call_id()))
        }
        InboundDecision::Declined(why) => webhooks.decline(&carrier_call_id, why).await,
    }
    .into_response())
}
