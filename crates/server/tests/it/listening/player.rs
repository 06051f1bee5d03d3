//! A listener of a call: the socket of `POST /v1/calls/{id}/listen`.

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::harness::{Client, TIMEOUT, text};

pub(crate) struct Player {
    socket: WebSocketStream<TcpStream>,
    /// The audio received: the caller's, and the agent's.
    pub(crate) sides: [Vec<i16>; 2],
    pub(crate) frames: usize,
    /// Samples per second, once the first text has arrived.
    pub(crate) sample_rate: usize,
    /// The close code, once the socket is closed.
    closed: Option<u16>,
}

/// Requests a URL to listen at.
pub(crate) async fn address(client: &Client, call: &str) -> String {
    let (status, given) = client.post(&format!("/v1/calls/{call}/listen"), json!({})).await;
    assert_eq!(status, StatusCode::OK, "{given}");
    assert!(given["expires_at"].is_string(), "{given}");
    text(&given["url"])
}

impl Player {
    pub(crate) async fn open(client: &Client, call: &str) -> Self {
        Self::at(&address(client, call).await).await.expect("the token is good")
    }

    /// Opens the socket. Returns the HTTP status if it is refused.
    pub(crate) async fn at(url: &str) -> Result<Self, u16> {
        Self::over(TcpSocket::new_v4().expect("a socket"), url).await
    }

    /// The same for a client whose network accepts only this much at a time.
    pub(crate) async fn hard_of_hearing(url: &str) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4_096).expect("a small buffer");
        Self::over(socket, url).await.expect("the token is good")
    }

    async fn over(socket: TcpSocket, url: &str) -> Result<Self, u16> {
        let host = url.split('/').nth(2).expect("a host");
        let tcp = socket.connect(host.parse().expect("an address")).await.expect("the service listens");
        match client_async(url, tcp).await {
            Ok((socket, _)) => {
                Ok(Self { socket, sides: [Vec::new(), Vec::new()], frames: 0, sample_rate: 0, closed: None })
            }
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Takes the next message.
    async fn next(&mut self) {
        let message = timeout(TIMEOUT, self.socket.next()).await.expect("something comes");
        match message {
            Some(Ok(Message::Binary(stereo))) => {
                assert_eq!(stereo.len(), self.sample_rate / 50 * 4, "20 ms, both sides");
                for (at, sample) in stereo.chunks_exact(2).enumerate() {
                    self.sides[at % 2].push(i16::from_le_bytes([sample[0], sample[1]]));
                }
                self.frames += 1;
            }
            Some(Ok(Message::Text(text))) => {
                assert_eq!((self.sample_rate, self.frames), (0, 0), "the only text is the first message");
                let start: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!((&start["type"], &start["channels"]), (&json!("start"), &json!(2)), "{start}");
                self.sample_rate = usize::try_from(start["sample_rate"].as_u64().expect("a rate")).expect("small");
            }
            Some(Ok(Message::Close(frame))) => self.closed = Some(frame.map_or(1005, |frame| frame.code.into())),
            Some(Ok(_)) => {}
            Some(Err(_)) | None => self.closed = Some(1006),
        }
    }

    /// Listens until the socket is closed. Returns its close code.
    pub(crate) async fn until_closed(&mut self) -> u16 {
        loop {
            if let Some(code) = self.closed {
                return code;
            }
            self.next().await;
        }
    }

    /// Listens for this many more frames.
    pub(crate) async fn frames(&mut self, count: usize) {
        let until = self.frames + count;
        while self.frames < until {
            self.next().await;
            assert_eq!(self.closed, None, "it goes on");
        }
    }

    /// Listens while `other` runs, so that afterwards nothing that was sent before is unread. Returns its result.
    pub(crate) async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        let result = self.while_open(other).await;
        assert_eq!(self.closed, None, "it goes on");
        result
    }

    /// The same, but the socket may be closed meanwhile.
    pub(crate) async fn while_open<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = std::pin::pin!(other);
        while self.closed.is_none() {
            tokio::select! {
                biased;
                () = self.next() => {}
                result = &mut other => return result,
            }
        }
        other.await
    }

    pub(crate) async fn say(&mut self, words: &str) {
        self.socket.send(Message::text(words)).await.expect("it is open");
    }

    pub(crate) async fn leave(mut self) {
        self.socket.close(None).await.expect("it is open");
    }
}
