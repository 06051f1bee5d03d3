//! A carrier's end of a websocket in memory, so that time may be virtual: frames of RFC 6455 are written and read as bytes.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::serve::Listener;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::Mutex;

const HANDSHAKE: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
/// What either end may send ahead of the other, in bytes.
const ROOM: usize = 64 << 10;

pub(super) const TEXT: u8 = 1;
pub(super) const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;
/// The bit of a message's last frame.
const LAST: u8 = 0x80;
const MASKED: u8 = 0x80;

/// The end that sends.
pub(super) struct Line {
    writer: Mutex<WriteHalf<DuplexStream>>,
    muted: AtomicBool,
}

impl Line {
    /// Sends bytes. Whether the service still reads them is seen in what it does.
    pub(super) async fn write(&self, bytes: &[u8]) {
        let mut writer = self.writer.lock().await;
        if !self.muted.load(Ordering::Relaxed) {
            let _ = writer.write_all(bytes).await;
        }
    }

    /// Sends nothing from here on, not even answers to pings.
    pub(super) fn mute(&self) {
        self.muted.store(true, Ordering::Relaxed);
    }

    /// Ends the connection in this direction.
    pub(super) async fn shut(&self) {
        let _ = self.writer.lock().await.shutdown().await;
    }
}

/// Accepts one connection.
struct OneConnection(Option<DuplexStream>);

impl Listener for OneConnection {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.take() {
            Some(connection) => (connection, ()),
            None => pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a websocket at `/` of a router.
pub(super) async fn connect(router: Router) -> (ReadHalf<DuplexStream>, Line) {
    let (mut ours, theirs) = duplex(ROOM);
    tokio::spawn(axum::serve(OneConnection(Some(theirs)), router).into_future());
    ours.write_all(HANDSHAKE).await.expect("it reads");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(ours.read_u8().await.expect("it answers"));
    }
    let (reader, writer) = split(ours);
    (reader, Line { writer: Mutex::new(writer), muted: AtomicBool::new(false) })
}

/// Writes a frame that is a whole message.
pub(super) fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
    part(LAST | kind, content)
}

/// Writes a message in three frames, with pings between them.
pub(super) fn fragments(kind: u8, content: &[u8]) -> Vec<u8> {
    let third = content.len() / 3;
    let (first, rest) = content.split_at(third);
    let (second, third) = rest.split_at(third);
    let ping = frame(PING, b"between");
    [part(kind, first), ping.clone(), part(0, second), ping, part(LAST, third)].concat()
}

/// Writes a frame with this first byte, masked by zeros.
fn part(first: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    if let Ok(short @ 0..=125) = u8::try_from(content.len()) {
        frame.push(MASKED | short);
    } else if let Ok(length) = u16::try_from(content.len()) {
        frame.push(MASKED | 126);
        frame.extend(length.to_be_bytes());
    } else {
        frame.push(MASKED | 127);
        frame.extend(u64::try_from(content.len()).expect("it is in memory").to_be_bytes());
    }
    frame.extend([0; 4]);
    frame.extend(content);
    frame
}

/// Reads a frame of the service: its kind and content. Returns `None` at the end of the connection.
///
/// # Panics
/// When it is not a whole message without a mask.
pub(super) async fn read_frame(reader: &mut ReadHalf<DuplexStream>) -> Option<(u8, Vec<u8>)> {
    let first = reader.read_u8().await.ok()?;
    assert_eq!(first & 0xf0, LAST, "the first byte of a frame");
    let length = match reader.read_u8().await.ok()? {
        126 => u64::from(reader.read_u16().await.ok()?),
        127 => reader.read_u64().await.ok()?,
        short => {
            assert!(short < MASKED, "services do not mask");
            u64::from(short)
        }
    };
    let mut content = vec![0; usize::try_from(length).expect("it is in memory")];
    reader.read_exact(&mut content).await.ok()?;
    Some((first & 0x0f, content))
}
