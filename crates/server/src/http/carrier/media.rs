//! `/carrier/<provider>/calls/<token>/media`: the websocket that carries a call's audio. It may reach any node, which then
//! owns the call.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::StatusCode;
use axum::response::Response;
use switchhook_carriers::address::Addresses;
use switchhook_carriers::stream::{self, StreamStart};
use switchhook_carriers::{CarrierEvent, LegEvent, Media, MediaTransport};
use switchhook_net::outbound::ws;

use super::{CarrierRequest, nothing_here, of_provider};
use crate::calls::{Context, incoming};
use crate::http::Draining;
use crate::http::error::ApiError;
use crate::store::calls::{self, CallRow};

/// How long the media stream waits for the carrier's response to the dial.
const DIAL_ANSWERED: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(100), Duration::from_millis(300), Duration::from_secs(1)];

pub(super) async fn open(
    State(draining): State<Draining>,
    request: CarrierRequest,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let row = request.call()?;
    let carrier = of_provider(request.setup.carrier(&request.store, &row).await)?;
    let MediaTransport::WebSocket(media) = &carrier.media else { return Err(nothing_here()) };
    let protocol = media.open(&request.as_callback("media", &[]))?;
    let upgrade = upgrade.map_err(|_| {
        ApiError::new(StatusCode::UPGRADE_REQUIRED, "no_websocket", "This address takes websockets (RFC 6455) only.")
    })?;
    if row.status()?.is_terminal() {
        return Err(ApiError::conflict("call_ended", "The call has ended."));
    }
    let context = request.calls()?.clone();
    if draining.started() && context.live.events(row.call_id()).is_none() {
        let detail = "This node is stopping and takes no more calls over.";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "draining", detail));
    }
    // A call has one stream. It is registered before the stream has identified itself, so that a client cannot hold many that never do.
    let Some(stream) = context.live.open_stream(row.call_id()) else {
        return Err(ApiError::conflict("stream_open", "The call has a media stream already."));
    };
    let upgrade = upgrade
        .read_buffer_size(ws::READ_AT_ONCE)
        .max_message_size(stream::MESSAGE_LIMIT)
        .max_frame_size(stream::MESSAGE_LIMIT);
    let (addresses, format) = (request.setup.addresses().clone(), carrier.format);
    Ok(upgrade.on_upgrade(move |socket| async move {
        // Boxed: the call outlives it.
        let attach = |started, media| Box::pin(attach(context, addresses, row, started, media));
        stream::serve(socket, protocol, format, attach).await;
        drop(stream);
    }))
}

/// Hands the media to the call's runner. Returns whether one accepted it.
async fn attach(context: Arc<Context>, addresses: Addresses, row: CallRow, started: StreamStart, media: Media) -> bool {
    // Not compared with the token of the address: one of them may have been made with an older key.
    if started.token.is_some_and(|repeated| addresses.call_of(&repeated) != Some(row.call_id())) {
        tracing::warn!("a stream repeats the token of another call: it is closed");
        return false;
    }
    let known = known_id(&context, &row).await;
    if known.is_some_and(|known| known != started.carrier_call_id) {
        tracing::warn!("a stream is of another call than its address: it is closed");
        return false;
    }
    let Some(events) = context.live.events(row.call_id()) else {
        return incoming::takeover(&context, row.call_id(), started.carrier_call_id, media).await;
    };
    events.send(LegEvent::Carrier(CarrierEvent::Id(started.carrier_call_id)));
    events.send(LegEvent::Media(media));
    true
}

/// Returns the carrier's id of the call. If the dial's response is outstanding, waits for it: a stream of another call must not set the id.
/// If the response was lost, no id arrives; then the stream is trusted, since its address is secret.
async fn known_id(context: &Context, row: &CallRow) -> Option<String> {
    let mut known = row.carrier_call_id.clone();
    for pause in DIAL_ANSWERED {
        if known.is_some() {
            break;
        }
        tokio::time::sleep(pause).await;
        let mut conn = context.store.read().await.ok()?;
        known = calls::get_for_carrier(&mut conn, row.call_id()).await.ok()??.carrier_call_id;
    }
    known
}
