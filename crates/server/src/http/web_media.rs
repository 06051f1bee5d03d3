//! `/media/web/<token>`: the websocket of a browser that talks to an agent. It may reach any node, which then runs the call. Pages of any
//! origin may open it: the token grants access.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::any;
use switchhook_carriers::MediaTransport;
use switchhook_carriers::web::{self, Browsers, Ended, Leg, SocketPlace};
use switchhook_core::Timestamp;
use switchhook_core::call::Status;
use switchhook_core::id::{CallId, ConnectionId};
use switchhook_net::outbound::ws;
use tokio::time::Instant;

use super::HttpState;
use super::client_network::ClientNetwork;
use super::error::ApiError;
use crate::calls::{Context, incoming};
use crate::store::{Store, calls};

/// When to look up the end of a call, which is decided while its socket closes.
const END_DECIDED: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(150),
    Duration::from_millis(300),
    Duration::from_millis(500),
    Duration::from_secs(1),
];

/// Outside `/v1`: browsers have no API key.
pub(super) fn routes() -> Router<HttpState> {
    Router::new().route("/media/web/{token}", any(open))
}

async fn open(
    state: HttpState,
    from: ClientNetwork,
    Path(token): Path<String>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let missing = || ApiError::not_found("web call");
    let call = state.addresses.web_call_of(&token).ok_or_else(missing)?;
    state.carrier_rate.admit(ConnectionId::from_uuid(call.uuid()), from, Instant::now()).map_err(|wait| {
        let detail = "Rate limit exceeded: too many requests for this web call.";
        ApiError::too_many("web_call_rate_limit", detail, wait.as_secs() + 1)
    })?;
    let row = calls::get_for_carrier(&mut state.store.read().await?, call).await?;
    let row = row.filter(|row| row.provider == web::NAME).ok_or_else(missing)?;
    let upgrade = upgrade.map_err(|_| {
        ApiError::new(StatusCode::UPGRADE_REQUIRED, "no_websocket", "This address takes websockets (RFC 6455) only.")
    })?;
    let upgrade = upgrade
        .read_buffer_size(ws::READ_AT_ONCE)
        .max_message_size(web::MESSAGE_LIMIT)
        .max_frame_size(web::MESSAGE_LIMIT);
    let unavailable = |code, detail: &str| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, detail);
    let Some(context) = state.calls.clone() else {
        let detail = "This node has not the role calls. Send browsers to one that has.";
        return Err(unavailable("no_calls_here", detail));
    };
    let carrier = context.setup.carrier(&context.store, &row).await.map_err(anyhow::Error::from)?;
    let MediaTransport::Browser(browsers) = &carrier.media else { return Err(missing()) };
    let browsers = browsers.clone();
    let in_time = row.status()? == Status::Queued && Timestamp::from_micros(row.due_at) > state.clock.now();
    match browsers.place(call) {
        SocketPlace::Lost => Ok(upgrade.on_upgrade(move |socket| resume(browsers, call, socket))),
        SocketPlace::Free if in_time && state.draining.started() => {
            Err(unavailable("draining", "This node is stopping and takes no more calls."))
        }
        SocketPlace::Free if in_time => Ok(upgrade.on_upgrade(move |socket| talk(context, browsers, call, socket))),
        SocketPlace::Free | SocketPlace::Taken => {
            let detail = "This token was used or has expired. Place another call.";
            Err(ApiError::conflict("token_used", detail))
        }
    }
}

/// The call's first socket.
async fn talk(context: Arc<Context>, browsers: Arc<Browsers>, call: CallId, socket: WebSocket) {
    let Some(seat) = browsers.join(call) else { return web::refuse(socket).await };
    if !incoming::connect_browser(&context, call).await {
        drop(seat);
        return web::refuse(socket).await;
    }
    let (live, store) = (context.live.clone(), context.store.clone());
    Leg::new(seat).run(socket, move || live.events(call).is_some(), || ended(store, call)).await;
}

/// Resumes a lost socket's session on a new socket.
async fn resume(browsers: Arc<Browsers>, call: CallId, mut socket: WebSocket) {
    let token = web::resume_token(&mut socket).await.unwrap_or_default();
    if let Some(socket) = browsers.resume(call, &token, socket) {
        web::refuse(socket).await;
    }
}

/// Returns how the call has ended, if that is decided yet.
async fn ended(store: Store, call: CallId) -> Ended {
    for pause in END_DECIDED {
        tokio::time::sleep(pause).await;
        let Ok(mut conn) = store.read().await else { break };
        match calls::get_for_carrier(&mut conn, call).await {
            Ok(Some(row)) if row.end_reason.is_some() || row.error_code.is_some() => {
                return Ended { reason: row.end_reason, error_code: row.error_code };
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => break,
        }
    }
    Ended::default()
}
