//! WebSockets (RFC 6455) to URLs that customers choose.
//!
//! The opening handshake is a request of the guarded HTTP client: names are checked when they are resolved, certificates are
//! checked with `extra_ca`, redirects are followed on the same origin. If the server responds without an upgrade, its response is returned.

use std::time::Duration;

use reqwest::header::{CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY};
use reqwest::header::{SEC_WEBSOCKET_VERSION, UPGRADE};
use reqwest::{StatusCode, Upgraded};
use switchhook_core::webhook::{AddressPolicy, UrlRefusal, judge_url};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use url::Url;

pub use tokio_tungstenite::tungstenite::protocol::CloseFrame;
pub use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::{Answer, ClientSettings, Clients, NetworkSettings, SendError, check_peer, explain, innermost, unpacked};
use crate::queues::Queue;

/// Maximum size of a message in bytes: more than a minute of speech in G.711 and base64. Parsed as JSON it is many times as
/// large for a moment.
const MAX_MESSAGE: usize = 1024 * 1024;
/// Maximum bytes waiting to be written. Writers wait until they are sent, so it holds one message and pongs.
const MAX_WRITE: usize = 4 * 1024 * 1024;

/// Read buffer in bytes. Each read clears it, each socket has one, a call has three sockets, and audio arrives in chunks of a few
/// hundred bytes: the library's 128 KiB cost more than everything else done with a chunk.
pub const READ_AT_ONCE: usize = 2 * 1024;

/// An open WebSocket. Dropping it closes the connection without a close frame.
pub type WebSocket = WebSocketStream<Upgraded>;

/// Opens WebSockets under an address policy. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WebSockets {
    http: Clients,
    policy: AddressPolicy,
}

/// Why a WebSocket could not be opened. Safe to show to the customer; contains neither the URL nor request headers.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// The server responded without an upgrade.
    #[error("it responded with status {}", .0.answer.status)]
    Refused(Box<Refused>),
    /// There was no response.
    #[error(transparent)]
    NoAnswer(#[from] SendError),
    /// The server's upgrade does not follow RFC 6455.
    #[error("it does not support WebSockets: {0}")]
    NotWebSocket(&'static str),
}

/// A server's response to a refused handshake.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Its status, `Retry-After` and the start of its body.
    pub answer: Answer,
    /// All its headers; some servers send the reason or the request id there.
    pub headers: HeaderMap,
}

impl WebSockets {
    /// Creates a connector for what `policy` allows.
    ///
    /// # Errors
    /// If the file of extra certificate authorities cannot be used.
    pub fn new(network: &NetworkSettings, policy: &AddressPolicy) -> anyhow::Result<Self> {
        Self::of(&ClientSettings::new(network, policy)?)
    }

    /// The same with existing settings.
    ///
    /// # Errors
    /// If the HTTP client cannot be built.
    pub fn of(settings: &ClientSettings) -> anyhow::Result<Self> {
        // HTTP/2 has another handshake (RFC 8441), which hardly any server supports.
        let http = Clients::new(settings, ClientSettings::builder_for_websockets)?;
        Ok(Self { http, policy: settings.policy().clone() })
    }

    /// Opens `url` (`wss`, `ws`, `https` or `http`) with `headers` in the request, within `deadline`.
    ///
    /// # Errors
    /// If the address is not allowed, there is no response in time, or the server refuses.
    pub async fn connect(&self, url: &Url, headers: HeaderMap, deadline: Duration) -> Result<WebSocket, OpenError> {
        let mut url = Url::parse(&http_address(url.as_str())).map_err(|_| SendError::Url(UrlRefusal::Malformed))?;
        // The query is ours and can be longer than a customer's URL, because it contains keyterms.
        let query = url.query().map(str::to_owned);
        url.set_query(None);
        let mut url = judge_url(url.as_str(), &self.policy).map_err(SendError::Url)?;
        url.set_query(query.as_deref());
        let handshake = tokio::time::timeout(deadline, self.handshake(url, headers, deadline));
        handshake.await.unwrap_or_else(|_| Err(SendError::Timeout(deadline).into()))
    }

    async fn handshake(&self, url: Url, headers: HeaderMap, deadline: Duration) -> Result<WebSocket, OpenError> {
        let key = generate_key();
        let request =
            self.http.of(&url).get(url).headers(headers).header(CONNECTION, "Upgrade").header(UPGRADE, "websocket");
        let request = request.header(SEC_WEBSOCKET_VERSION, "13").header(SEC_WEBSOCKET_KEY, &key);
        let response = request.send().await.map_err(|error| explain(&error, deadline))?;
        check_peer(&response, &self.policy)?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let mut response = unpacked(response);
            let headers = response.headers().clone();
            let answer = Answer::read(&mut response).await;
            return Err(OpenError::Refused(Box::new(Refused { answer, headers })));
        }
        let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
        if accepted != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
            return Err(OpenError::NotWebSocket("its response does not match our key"));
        }
        let stream = response.upgrade().await.map_err(|error| SendError::Broken(innermost(&error)))?;
        let limits = WebSocketConfig::default()
            .read_buffer_size(READ_AT_ONCE)
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE))
            .max_write_buffer_size(MAX_WRITE);
        Ok(WebSocketStream::from_raw_socket(stream, Role::Client, Some(limits)).await)
    }
}

/// Describes a read error. Counts a message that is too long.
#[must_use]
pub fn unreadable(error: &Error) -> String {
    if matches!(error, Error::Capacity(_)) {
        Queue::WebSocketMessage.full();
        return format!("it sent a message of more than {MAX_MESSAGE} bytes");
    }
    error.to_string()
}

/// Converts the URL to an HTTP scheme, for the address policy.
#[must_use]
pub fn http_address(url: &str) -> String {
    match url.split_once(':') {
        Some(("ws", rest)) => format!("http:{rest}"),
        Some(("wss", rest)) => format!("https:{rest}"),
        _ => url.to_owned(),
    }
}

/// Appends `path`, and `query` in this order, to the base URL of a WebSocket or request. Encodes a space as `%20`, because not
/// every server accepts `+`.
///
/// # Errors
/// If `base` is not a URL.
pub fn below(base: &str, path: &str, query: &[(&str, String)]) -> Result<Url, UrlRefusal> {
    let mut url = Url::parse(&format!("{}{path}", base.trim_end_matches('/'))).map_err(|_| UrlRefusal::Malformed)?;
    if !query.is_empty() {
        let query = url.query_pairs_mut().extend_pairs(query).finish().query().unwrap_or_default().replace('+', "%20");
        url.set_query(Some(&query));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{SinkExt as _, StreamExt as _};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    /// Longer than any working test takes.
    const LONG: Duration = Duration::from_secs(60);

    fn sockets(allow: &str) -> WebSockets {
        WebSockets::new(&NetworkSettings::default(), &allow.parse().expect("a policy")).expect("a client")
    }

    async fn listener() -> (TcpListener, Url) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("ws://{}/listen", listener.local_addr().expect("bound"));
        (listener, url.parse().expect("an address"))
    }

    /// Answers one request with these bytes and holds the connection.
    async fn answering(answer: &'static str) -> Url {
        let (listener, url) = listener().await;
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.read(&mut [0; 4096]).await;
        });
        url
    }

    #[tokio::test]
    async fn messages_go_both_ways_also_those_that_came_with_the_handshake() {
        let (listener, url) = listener().await;
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a handshake");
            socket.send(Message::text("hello")).await.expect("sent");
            while let Some(Ok(message)) = socket.next().await {
                let _ = socket.send(message).await;
            }
        });
        let mut socket = sockets("127.0.0.0/8,http").connect(&url, HeaderMap::new(), LONG).await.expect("opened");
        assert_eq!(socket.next().await.expect("a message").expect("whole"), Message::text("hello"));
        socket.send(Message::binary(vec![1, 2])).await.expect("sent");
        assert_eq!(socket.next().await.expect("a message").expect("whole"), Message::binary(vec![1, 2]));
    }

    #[tokio::test]
    async fn a_message_that_is_too_long_is_not_read() {
        let (listener, url) = listener().await;
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a handshake");
            socket.send(Message::text("x".repeat(MAX_MESSAGE))).await.expect("sent");
            let _ = socket.send(Message::text("x".repeat(MAX_MESSAGE + 1))).await;
        });
        let mut socket = sockets("127.0.0.0/8,http").connect(&url, HeaderMap::new(), LONG).await.expect("opened");
        assert_eq!(socket.next().await.expect("a message").expect("it fits").len(), MAX_MESSAGE);
        let error = socket.next().await.expect("an error").expect_err("it does not");
        assert!(unreadable(&error).contains("more than 1048576 bytes"), "{error}");
    }

    #[tokio::test]
    async fn a_refusal_is_given_back_with_its_words() {
        let url = answering(
            "HTTP/1.1 429 Too Many Requests\r\nretry-after: 3\r\nx-id: r1\r\ncontent-length: 8\r\n\r\ntoo many",
        )
        .await;
        let refused = sockets("127.0.0.0/8,http").connect(&url, HeaderMap::new(), LONG).await.expect_err("refused");
        let OpenError::Refused(refused) = refused else { panic!("{refused:?}") };
        assert_eq!((refused.answer.status, refused.answer.retry_after.as_deref()), (429, Some("3")));
        assert_eq!((refused.answer.excerpt.as_str(), &refused.headers["x-id"]), ("too many", &"r1".parse().unwrap()));
    }

    #[tokio::test]
    async fn a_handshake_that_is_redirected_on_the_same_origin_is_made_there() {
        let (listener, url) = listener().await;
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.read(&mut [0; 4096]).await;
            let moved = "HTTP/1.1 307 Moved\r\nlocation: /listen/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(moved.as_bytes()).await;
            drop(stream);
            let (stream, _) = listener.accept().await.expect("another connection");
            let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a handshake");
            let _ = socket.send(Message::text("hello")).await;
            let _ = socket.next().await;
        });
        let mut socket = sockets("127.0.0.0/8,http").connect(&url, HeaderMap::new(), LONG).await.expect("opened");
        assert_eq!(socket.next().await.expect("a message").expect("whole"), Message::text("hello"));
    }

    #[tokio::test]
    async fn addresses_are_judged_as_those_of_requests_are() {
        for (address, allow) in [
            ("ws://127.0.0.1:1/", "http"),
            ("wss://[::ffff:169.254.169.254]/", ""),
            ("wss://localhost/", ""),
            ("ws://8.8.8.8/", ""),
            ("file:///etc/passwd", "http"),
        ] {
            let url = address.parse().expect("an address");
            let refused = sockets(allow).connect(&url, HeaderMap::new(), LONG).await.expect_err(address);
            assert!(matches!(refused, OpenError::NoAnswer(SendError::Url(_))), "{address}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn a_long_query_is_no_reason_to_refuse_an_address() {
        let url = answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
        let long = below(url.as_str(), "", &[("keyterm", "x".repeat(3_000))]).expect("an address");
        let refused = sockets("127.0.0.0/8,http").connect(&long, HeaderMap::new(), LONG).await.expect_err("404");
        assert!(matches!(&refused, OpenError::Refused(refused) if refused.answer.status == 404), "{refused:?}");
    }

    #[tokio::test]
    async fn silence_is_a_timeout_and_another_protocol_is_refused() {
        let short = Duration::from_millis(300);
        let (_listener, silent) = listener().await;
        let sockets = sockets("127.0.0.0/8,http");
        let late = sockets.connect(&silent, HeaderMap::new(), short).await.expect_err("silence");
        assert!(matches!(late, OpenError::NoAnswer(SendError::Timeout(_))), "{late:?}");
        let other = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n";
        let refused = sockets.connect(&answering(other).await, HeaderMap::new(), LONG).await.expect_err("no websocket");
        assert!(matches!(refused, OpenError::NotWebSocket(_)), "{refused:?}");
    }

    #[tokio::test]
    async fn a_secure_one_needs_a_certificate_of_an_authority_that_is_trusted() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut params = rcgen::CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = || rcgen::KeyPair::generate().expect("a key");
        let authority = rcgen::CertifiedIssuer::self_signed(params, key()).expect("a certificate");
        let (own, named) = (key(), rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name"));
        let certificate = named.signed_by(&own, &authority).expect("a certificate").der().clone();
        let own = rustls::pki_types::PrivateKeyDer::Pkcs8(own.serialize_der().into());
        let server = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], own);
        let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(server.expect("they belong together")));
        let (listener, url) = listener().await;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(stream) = acceptor.accept(stream).await else { continue };
                let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { continue };
                let _ = socket.send(Message::text("hello")).await;
            }
        });
        let url: Url = url.as_str().replacen("ws:", "wss:", 1).parse().expect("an address");
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        std::io::Write::write_all(&mut file, authority.pem().as_bytes()).expect("written");

        let mut network = NetworkSettings::default();
        let policy = "127.0.0.0/8".parse().expect("a policy");
        let sockets = |network: &NetworkSettings| WebSockets::new(network, &policy).expect("a client");
        let refused = sockets(&network).connect(&url, HeaderMap::new(), LONG).await.expect_err("unknown");
        assert!(refused.to_string().contains("certificate"), "{refused}");
        network.extra_ca = Some(file.path().to_owned());
        let mut socket = sockets(&network).connect(&url, HeaderMap::new(), LONG).await.expect("opened");
        assert_eq!(socket.next().await.expect("a message").expect("whole"), Message::text("hello"));
    }

    #[test]
    fn paths_and_queries_are_added_to_a_base_address() {
        let query = [("model", "a b".to_owned()), ("keyterm", "x&y+z".to_owned())];
        let url = below("https://api.example.com/speech/", "/v1/listen", &query).expect("an address");
        assert_eq!(url.as_str(), "https://api.example.com/speech/v1/listen?model=a%20b&keyterm=x%26y%2Bz");
        assert!(below("nothing", "/v1", &[]).is_err());
    }
}
