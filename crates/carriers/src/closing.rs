//! The end of the closing handshake of websockets (RFC 6455, section 7.1.1).

use std::time::Duration;

use axum::extract::ws::Message;
use futures_util::{Stream, StreamExt as _};
use tokio::time::timeout;

/// How long the other end may take to close its side.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Discards messages until the other end has closed its side, after ours is closed. Closing a socket while received messages are unread
/// resets the connection, and the other end may then never read what was sent last.
pub(crate) async fn await_close<S>(socket: &mut S)
where
    S: Stream<Item = Result<Message, axum::Error>> + Unpin,
{
    // One that does not close is reset.
    let _ = timeout(CLOSE_WITHIN, async { while let Some(Ok(_)) = socket.next().await {} }).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::Router;
    use axum::extract::ws::{WebSocket, WebSocketUpgrade};
    use axum::routing::any;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Notify;

    use crate::web;

    const HANDSHAKE: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    const CLOSE: u8 = 0x88;
    /// A masked close frame without a code.
    const CLOSE_FRAME: [u8; 6] = [CLOSE, 0x80, 0, 0, 0, 0];
    /// Longer than what a server reads ahead.
    const FRAMES: usize = 200;

    /// A frame of a microphone: 640 bytes, masked by zeros.
    fn audio() -> Vec<u8> {
        let mut frame = vec![0x82, 0x80 | 126, 0x02, 0x80];
        frame.resize(8 + 640, 0);
        frame
    }

    #[tokio::test]
    async fn a_browser_that_still_sends_audio_is_not_reset() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let sent = Arc::new(Notify::new());
        let received = sent.clone();
        let refuse = async move |socket: WebSocket| {
            received.notified().await;
            web::refuse(socket).await;
        };
        let open = async move |upgrade: WebSocketUpgrade| upgrade.on_upgrade(refuse);
        tokio::spawn(axum::serve(listener, Router::new().route("/", any(open))).into_future());

        let mut browser = TcpStream::connect(address).await.expect("it listens");
        browser.write_all(HANDSHAKE).await.expect("it reads");
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(browser.read_u8().await.expect("it answers"));
        }
        for _ in 0..FRAMES {
            browser.write_all(&audio()).await.expect("it is connected");
        }
        sent.notify_one();
        assert_eq!(browser.read_u8().await.expect("a frame"), CLOSE);
        browser.write_all(&audio()).await.expect("it still reads");
        browser.write_all(&CLOSE_FRAME).await.expect("it still reads");
        let mut rest = Vec::new();
        browser.read_to_end(&mut rest).await.expect("an end without a reset");
    }
}
