//! Two tenants with accounts of the same carrier. What the account of one signs changes nothing of the other's call, and brings nothing of
//! it back.

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::StatusCode;
use serde_json::{Value, json};
use switchhook_carriers::address::{Addresses, CallAddress, ConnectionAddress};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::harness::{Client, TIMEOUT, text};

/// The number that the owner's call is transferred to: it is busy, so that the caller comes back to the agent.
pub(super) const DESK: &str = "+12025550142";

/// A call, and the connection that it was placed over.
pub(super) struct Line {
    pub(super) client: Client,
    pub(super) call: String,
    /// The carrier's id of the call.
    pub(super) carrier_call_id: String,
    pub(super) to_call: CallAddress,
    pub(super) to_connection: ConnectionAddress,
}

impl Line {
    /// Returns the line of a call that the carrier has named.
    pub(super) async fn of(client: &Client, call: String, connection: &str, addresses: &Addresses) -> Self {
        let shown = client.wait_for(&call, |call| !call["carrier"]["call_id"].is_null()).await;
        let provider = text(&shown["carrier"]["provider"]);
        Self {
            client: client.clone(),
            carrier_call_id: text(&shown["carrier"]["call_id"]),
            to_call: addresses.for_call(&provider, call.parse().expect("an id")),
            to_connection: addresses.for_connection(&provider, connection.parse().expect("an id")),
            call,
        }
    }

    /// Returns what another tenant must not be able to change.
    async fn facts(&self) -> (Value, Vec<String>) {
        let (_, mut call) = self.client.get(&format!("/v1/calls/{}", self.call)).await;
        let fields = ["status", "answered_at", "ended_at", "end_reason", "error_code", "carrier"];
        let facts = fields.into_iter().map(|field| (field.to_owned(), call[field].take())).collect();
        (Value::Object(facts), self.client.event_names(&self.call).await)
    }
}

/// The response to a request of the other tenant's carrier account.
pub(super) struct Answer {
    /// The request.
    pub(super) to: String,
    pub(super) expected: u16,
    pub(super) status: u16,
    pub(super) body: String,
}

/// Opens a media websocket with this header and says which call it is of. A handshake that is accepted has the status 101: then the service
/// must close the stream before any audio.
pub(super) async fn open_stream(url: String, header: (&'static str, &str), start: &Value, expected: u16) -> Answer {
    let attempts = async {
        loop {
            let mut request = url.as_str().into_client_request().expect("an address");
            request.headers_mut().insert(header.0, header.1.parse().expect("text"));
            match connect_async(request).await {
                Ok((socket, _)) => {
                    until_closed(socket, start).await;
                    return (101, String::new());
                }
                // The stream before this one is still being closed.
                Err(Error::Http(refused)) if refused.status() == 409 => tokio::task::yield_now().await,
                Err(Error::Http(refused)) => {
                    let body = refused.body().as_deref().unwrap_or_default();
                    return (refused.status().as_u16(), String::from_utf8_lossy(body).into_owned());
                }
                Err(error) => panic!("{url}: {error}"),
            }
        }
    };
    let answered = tokio::time::timeout(TIMEOUT, attempts).await;
    let (status, body) = answered.expect("the stream is refused or closed within a minute");
    Answer { to: url, expected, status, body }
}

async fn until_closed(mut socket: WebSocketStream<MaybeTlsStream<TcpStream>>, start: &Value) {
    socket.send(Message::Text(start.to_string().into())).await.expect("it is open");
    while let Some(Ok(message)) = socket.next().await {
        assert!(!message.is_text(), "a stream that says that it is of another call is spoken to: {message}");
    }
}

/// Transfers the owner's call, which a person has answered, to the desk, and has the other tenant attack it meanwhile. Asserts that nothing
/// happens to it.
pub(super) async fn assert_untouched(owner: &Line, other: &Line, attack: impl Future<Output = Vec<Answer>>) {
    assert_ne!(owner.carrier_call_id, other.carrier_call_id);
    let path = format!("/v1/calls/{}", owner.call);
    let (status, answer) = owner.client.post(&format!("{path}/transfer"), json!({ "to": DESK })).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let before = owner.facts().await;
    let answers = attack.await;
    assert!(!answers.is_empty());
    for answer in &answers {
        assert_eq!(answer.status, answer.expected, "{}: {}", answer.to, answer.body);
        for theirs in [owner.call.as_str(), &owner.carrier_call_id, owner.to_call.token(), DESK] {
            assert!(!answer.body.contains(theirs), "{}: {}", answer.to, answer.body);
        }
    }
    for path in [path.clone(), format!("{path}/events"), format!("{path}/transcript")] {
        assert_eq!(other.client.get(&path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let (_, calls) = other.client.get("/v1/calls").await;
    assert_eq!(calls["data"].as_array().map(Vec::len), Some(1), "the other tenant has its own call only: {calls}");

    let sorry = ["put you through", "putting you through"];
    let said = |said: &Value| sorry.iter().any(|sorry| said.to_string().contains(sorry));
    owner.client.look_until(&format!("{path}/transcript"), said).await;
    assert_eq!(owner.facts().await, before, "the caller is with the agent again");
    for line in [owner, other] {
        line.client.post(&format!("/v1/calls/{}/hangup", line.call), json!({})).await;
    }
    other.client.wait_for_end(&other.call).await;
    let ended = owner.client.wait_for_end(&owner.call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
    assert_eq!(ended["answered_by"], "human", "the verdict of its own carrier: {ended}");
}
