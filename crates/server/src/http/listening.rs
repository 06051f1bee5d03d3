//! Listening to a live call: `/media/listen/<token>`, a websocket that streams both sides, and the token that opens it once.
//!
//! A token contains who may listen to which call, and until when; it is sealed, so that only the service's nodes can read it. It is marked
//! as used on the node that runs the call, which remembers its number until it expires.

use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::any;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchhook_core::Timestamp;
use switchhook_core::id::{ApiKeyId, CallId, ConnectionId, TenantId};
use switchhook_runtime::clock;
use switchhook_vault::Vault;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use uuid::Uuid;

use super::HttpState;
use super::auth::{Actor, Permission, Principal, Tenant};
use super::calls::followers::{ACCESS_CHECK_INTERVAL, FollowerPlace};
use super::client_network::ClientNetwork;
use super::error::ApiError;
use crate::store::calls;
use crate::talk::audience::{Audience, ListenRefusal, Listener, MOST, TICKET_LIFE, TicketNumber};

/// The context in which tokens are sealed.
const CONTEXT: &str = "listener token";
/// Listeners have nothing to say.
const MESSAGE_LIMIT: usize = 1 << 10;
/// Pings and pongs of a listener: one in 20 s for a day are fewer.
const MOST_PINGS: usize = 10_000;
/// Until a message must have been taken.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// The contents of a token.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Ticket {
    number: TicketNumber,
    tenant: Uuid,
    call: Uuid,
    /// The key or session that must still be good, and permit it.
    holder: Holder,
    /// In microseconds.
    expires_at: i64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Holder {
    Key(Uuid),
    Session([u8; 32]),
}

impl Ticket {
    /// Creates a token for the caller, valid from `now`.
    pub(super) fn new(tenant: Tenant, call: CallId, now: Timestamp) -> Self {
        let holder = match tenant.principal {
            Principal::Key(key) => Holder::Key(key.uuid()),
            Principal::Session(hash) => Holder::Session(hash),
        };
        let expires_at = (now + TICKET_LIFE).as_micros();
        Self {
            number: Uuid::from_bytes(clock::random()),
            tenant: tenant.id.uuid(),
            call: call.uuid(),
            holder,
            expires_at,
        }
    }

    pub(super) fn expires_at(&self) -> Timestamp {
        Timestamp::from_micros(self.expires_at)
    }

    /// The address of its websocket below `public_url`.
    pub(super) fn url(&self, public_url: &str, vault: &Vault) -> String {
        let plain = serde_json::to_vec(self).expect("numbers are JSON");
        let token = URL_SAFE_NO_PAD.encode(vault.seal(CONTEXT, &plain));
        format!("{}/media/listen/{token}", public_url.replacen("http", "ws", 1))
    }

    fn read(token: &str, vault: &Vault) -> Option<Self> {
        let plain = vault.open(CONTEXT, &URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        serde_json::from_slice(plain.reveal()).ok()
    }

    fn call(&self) -> CallId {
        CallId::from_uuid(self.call)
    }

    fn tenant(&self) -> TenantId {
        TenantId::from_uuid(self.tenant)
    }

    /// Returns its holder; `None` if the holder may no longer listen, or if that cannot be determined.
    async fn listener(&self, state: &HttpState) -> Option<Actor> {
        let principal = match self.holder {
            Holder::Key(key) => Principal::Key(ApiKeyId::from_uuid(key)),
            Holder::Session(hash) => Principal::Session(hash),
        };
        let mut conn = state.store.read().await.ok()?;
        principal.actor_with(Permission::Listen, self.tenant(), state, &mut conn).await.ok().flatten()
    }
}

/// The error for one listener too many.
pub(super) fn too_many_listeners() -> ApiError {
    let detail = format!("{MOST} people listen to this call, which is the limit. One of them has to stop first.");
    ApiError::conflict("too_many_listeners", detail)
}

/// Returns the error for a call without a running conversation.
pub(super) fn not_in_progress(status: &str) -> ApiError {
    let detail = match status {
        "in_progress" => "The call is beginning or ending; there is nothing to hear.".to_owned(),
        status => format!("The call is {status}; only a call that is in progress can be heard."),
    };
    ApiError::conflict("call_not_in_progress", detail)
}

/// Outside `/v1`: the token says who asks.
pub(super) fn routes() -> Router<HttpState> {
    Router::new().route("/media/listen/{token}", any(open))
}

async fn open(
    state: HttpState,
    from: ClientNetwork,
    Path(token): Path<String>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let ticket = Ticket::read(&token, &state.vault).ok_or_else(|| ApiError::not_found("listener token"))?;
    state.carrier_rate.admit(ConnectionId::from_uuid(ticket.tenant), from, Instant::now()).map_err(|wait| {
        let detail = "Rate limit exceeded: too many attempts to listen.";
        ApiError::too_many("listener_rate_limit", detail, wait.as_secs() + 1)
    })?;
    if ticket.expires_at() <= state.clock.now() {
        return Err(token_used());
    }
    let actor = ticket.listener(&state).await.ok_or_else(ApiError::unauthorized)?;
    let row = calls::get(&mut state.store.read().await?, ticket.tenant(), ticket.call()).await?;
    let row = row.ok_or_else(|| ApiError::not_found("call"))?;
    if !row.in_conversation() {
        return Err(not_in_progress(&row.status));
    }
    let upgrade = upgrade.map_err(|_| {
        ApiError::new(StatusCode::UPGRADE_REQUIRED, "no_websocket", "This address takes websockets (RFC 6455) only.")
    })?;
    let audience = state.calls.as_ref().and_then(|calls| calls.live.audience(ticket.call()));
    let audience = audience.ok_or_else(call_elsewhere)?;
    let place = state.followers.join(ticket.tenant(), actor)?;
    let listener = audience.join(ticket.number, Instant::now()).map_err(|refusal| match refusal {
        ListenRefusal::Silent => not_in_progress(&row.status),
        ListenRefusal::Used => token_used(),
        ListenRefusal::Full => too_many_listeners(),
    })?;
    let upgrade = upgrade.max_message_size(MESSAGE_LIMIT).max_frame_size(MESSAGE_LIMIT);
    Ok(upgrade.on_upgrade(move |socket| play(state, ticket, listener, place, socket)))
}

fn token_used() -> ApiError {
    ApiError::conflict("token_used", "This token was used or has expired. Ask for another one.")
}

fn call_elsewhere() -> ApiError {
    let detail = "This call runs on another node. Open the address again until it reaches that node.";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "call_elsewhere", detail).retry_after(1)
}

/// Returns whether a call that runs here admits no further listeners.
pub(super) fn is_full(state: &HttpState, call: CallId) -> bool {
    let audience = state.calls.as_ref().and_then(|calls| calls.live.audience(call));
    audience.as_ref().is_some_and(Audience::is_full)
}

/// Streams the call to a listener until the call ends, the listener disconnects, or its permission ends.
async fn play(state: HttpState, ticket: Ticket, mut listener: Listener, _place: FollowerPlace, mut socket: WebSocket) {
    let start = json!({ "type": "start", "sample_rate": listener.format().sample_rate(), "channels": 2 });
    let mut sent = transmit(&mut socket, Message::Text(start.to_string().into())).await;
    let mut checks = interval_at(Instant::now() + ACCESS_CHECK_INTERVAL, ACCESS_CHECK_INTERVAL);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut pings = 0;
    while sent {
        tokio::select! {
            frame = listener.next() => match frame {
                Some(frame) => sent = transmit(&mut socket, Message::Binary(frame)).await,
                None => return close(socket, close_code::NORMAL, "the call has ended").await,
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {
                    pings += 1;
                    if pings > MOST_PINGS {
                        return close(socket, close_code::POLICY, "too many pings").await;
                    }
                }
                Some(Ok(Message::Text(_) | Message::Binary(_))) => {
                    return close(socket, close_code::POLICY, "listeners say nothing").await;
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
            _ = checks.tick() => if ticket.listener(&state).await.is_none() {
                return close(socket, close_code::POLICY, "the key or session no longer permits this").await;
            },
        }
    }
}

/// Sends a message to a listener; returns whether it is still connected.
async fn transmit(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(SEND_TIMEOUT, socket.send(message)).await, Ok(Ok(())))
}

async fn close(mut socket: WebSocket, code: u16, reason: &'static str) {
    transmit(&mut socket, Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
}

#[cfg(test)]
fn ticket_for_tests() -> Ticket {
    Ticket {
        number: Uuid::from_u128(7),
        tenant: Uuid::from_u128(1),
        call: Uuid::from_u128(2),
        holder: Holder::Session([3; 32]),
        expires_at: 4,
    }
}

/// Tokens of listeners: a damaged one is none.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let ticket = ticket_for_tests();
        let url = ticket.url("", &Vault::for_tests([1; 32]));
        switchhook_fuzz::each_alone(&[url.rsplit('/').next().unwrap_or_default()])
    },
    read: |messages| {
        switchhook_fuzz::Read::each_text(messages, |token| {
            let ticket = Ticket::read(token, &Vault::for_tests([1; 32])).ok_or("it is none")?;
            assert_eq!((ticket.tenant.as_u128(), ticket.call.as_u128(), ticket.expires_at), (1, 2, 4));
            Ok::<_, &str>(16)
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_by_every_node_and_cannot_be_made_or_changed() {
        let vault = Vault::for_tests([1; 32]);
        let ticket = ticket_for_tests();
        let url = ticket.url("https://voice.example.com", &vault);
        let token = url.strip_prefix("wss://voice.example.com/media/listen/").expect("its place");
        let read = Ticket::read(token, &Vault::for_tests([1; 32])).expect("the same key");
        assert_eq!((read.number, read.call(), read.tenant()), (ticket.number, ticket.call(), ticket.tenant()));
        assert!(matches!(read.holder, Holder::Session(hash) if hash == [3; 32]));
        assert_eq!(read.expires_at(), ticket.expires_at());

        assert!(Ticket::read(token, &Vault::for_tests([2; 32])).is_none(), "another key");
        let other = URL_SAFE_NO_PAD.encode(vault.seal("something else", &serde_json::to_vec(&ticket).expect("JSON")));
        assert!(Ticket::read(&other, &vault).is_none(), "sealed for something else");
        for wrong in ["", "x", &token[1..], &token[..token.len() - 1], "ä"] {
            assert!(Ticket::read(wrong, &vault).is_none(), "{wrong}");
        }
    }
}
