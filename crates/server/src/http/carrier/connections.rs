//! `/carrier/<provider>/connections/<token>/<topic>`: calls that arrive on a connection's numbers, and what is told about them
//! under the carrier's own id.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};

use super::calls::pass_on;
use super::{Place, Received, nothing_here, of_provider};
use crate::calls::incoming::{self, Arrived, Taken};
use crate::carrier::callback::{Decline, Incoming};
use crate::http::HttpState;
use crate::http::error::ApiError;
use crate::store::{calls, connections, numbers};

pub(super) async fn told(
    State(state): State<HttpState>,
    Path(place): Path<Place>,
    received: Received,
    body: Bytes,
) -> Result<Response, ApiError> {
    let id = received.setup.addresses().connection_of(&place.token).ok_or_else(nothing_here)?;
    let connection = connections::get_for_carrier(&mut received.store.read().await?, id).await?;
    let connection = connection.filter(|row| row.provider == place.provider).ok_or_else(nothing_here)?;
    let carrier = of_provider(received.setup.carrier_of(&connection))?;
    let callback = carrier.read(&received.as_request(&place.topic, &body))?;
    let carrier_call_id = callback.carrier_call_id;
    let Some(Incoming { from, to }) = callback.incoming else {
        let row = calls::by_carrier_call_id(&mut received.store.read().await?, id, &carrier_call_id).await?;
        if let Some(row) = row {
            pass_on(&received, &row, callback.told).await?;
        }
        return Ok(callback.reply.into_response());
    };
    let number = numbers::of_connection(&mut received.store.read().await?, id, &to).await?;
    let Some(number) = number else {
        tracing::warn!("a carrier announces a call to a number that the connection does not have: it is declined");
        return Ok(carrier.decline(&carrier_call_id, Decline::NotServed).await.into_response());
    };
    let arrived = Arrived { carrier_call_id: carrier_call_id.clone(), from, number, provider: place.provider.clone() };
    let taken = incoming::take_in_from_carrier(received.calls()?, arrived, state.draining.started()).await?;
    Ok(match taken {
        Taken::Call(row) => carrier.take(&received.setup.addresses().for_call(&place.provider, row.call_id())),
        Taken::Declined(why) => carrier.decline(&carrier_call_id, why).await,
    }
    .into_response())
}
