//! `/media/web/<token>`: the websocket of a browser that talks to an agent. It may reach any node, which then runs the call. Pages of any
//! origin may open it: the token grants access. The token of a call that a person has placed does so while their session permits it.

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
use switchhook_core::id::{CallId, ConnectionId, TenantId};
use switchhook_net::outbound::ws;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::HttpState;
use super::auth::{Permission, Principal};
use super::calls::followers::ACCESS_CHECK_INTERVAL;
use super::client_network::ClientNetwork;
use super::error::ApiError;
use crate::calls::{Context, Live, RunnerSignal, incoming};
use crate::store::sessions::SessionHash;
use crate::store::{Store, calls};

/// When to look up the end of a call, which is decided while its socket closes.
const END_DECIDED: [Duration; 8] = [
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(150),
    Duration::from_millis(300),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// The contents of a token.
#[derive(Clone, Copy)]
struct Ticket {
    call: CallId,
    tenant: TenantId,
    /// The session that placed the call, if one did.
    session: Option<SessionHash>,
}

impl Ticket {
    /// Returns whether the session, if there is one, is open and permits the call.
    async fn permits(&self, state: &HttpState) -> Result<bool, sqlx::Error> {
        let Some(session) = self.session else { return Ok(true) };
        let mut conn = state.store.read().await?;
        let principal = Principal::Session(session);
        let actor = principal.actor_with(Permission::Talk, self.tenant, state, &mut conn).await?;
        Ok(actor.is_some())
    }

    /// Hangs up once the session no longer permits the call; never returns.
    async fn hang_up_when_forbidden(&self, state: &HttpState, live: &Live) {
        if self.session.is_none() {
            return std::future::pending().await;
        }
        let mut checks = interval_at(Instant::now() + ACCESS_CHECK_INTERVAL, ACCESS_CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            checks.tick().await;
            // A database that is away ends no live call.
            if matches!(self.permits(state).await, Ok(false)) {
                live.signal(self.call, RunnerSignal::HangUp);
            }
        }
    }
}

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
    let (call, session) = state.addresses.web_call_of(&token).ok_or_else(missing)?;
    state.carrier_rate.admit(ConnectionId::from_uuid(call.uuid()), from, Instant::now()).map_err(|wait| {
        let detail = "Rate limit exceeded: too many requests for this web call.";
        ApiError::too_many("web_call_rate_limit", detail, wait.as_secs() + 1)
    })?;
    let row = calls::get_for_carrier(&mut state.store.read().await?, call).await?;
    let row = row.filter(|row| row.provider == web::NAME).ok_or_else(missing)?;
    let ticket = Ticket { call, tenant: row.tenant(), session };
    if !ticket.permits(&state).await? {
        return Err(ApiError::unauthorized());
    }
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
        SocketPlace::Free if in_time => {
            Ok(upgrade.on_upgrade(move |socket| talk(state, context, browsers, ticket, socket)))
        }
        SocketPlace::Free | SocketPlace::Taken => {
            let detail = "This token was used or has expired. Place another call.";
            Err(ApiError::conflict("token_used", detail))
        }
    }
}

/// The call's first socket.
async fn talk(state: HttpState, context: Arc<Context>, browsers: Arc<Browsers>, ticket: Ticket, socket: WebSocket) {
    let call = ticket.call;
    let Some(seat) = browsers.join(call) else { return web::refuse(socket).await };
    if !incoming::connect_browser(&context, call).await {
        drop(seat);
        return web::refuse(socket).await;
    }
    let (live, store) = (context.live.clone(), context.store.clone());
    let leg = Leg::new(seat).run(socket, move || live.events(call).is_some(), || ended(store, call));
    tokio::select! {
        () = leg => {}
        () = ticket.hang_up_when_forbidden(&state, &context.live) => {}
    }
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
