//! A receiver that treats the first attempt at a delivery as a seed determines, and accepts all others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::peer::{Peer, Request, read};
use crate::crash::rng::Rng;

/// Number of ways to treat an attempt; the first half of them fail it.
const WAYS: u64 = 16;
const ACCEPTED: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
/// The longest delay between two attempts, in seconds, which `Retry-After` cannot exceed.
const LONGEST_DELAY: u64 = 57_600;
/// `Retry-After` headers, and the seconds that they ask for.
const RETRY_AFTER: [(&str, u64); 9] = [
    ("0", 0),
    ("1", 0),
    ("-5", 0),
    ("1.5", 0),
    ("soon", 0),
    ("", 0),
    ("Fri, 04 Nov 1994 08:49:37 GMT", 0),
    ("3600", 3_600),
    ("99999999", LONGEST_DELAY),
];

pub(super) struct WildReceiver {
    pub(super) peer: Peer,
    pub(super) first: Arc<Treatment>,
    seen: Arc<Seen>,
    /// Closed when slow receivers respond.
    slow: Arc<Semaphore>,
}

/// The requests that arrived.
#[derive(Default)]
struct Seen {
    /// Whether the first attempt has arrived.
    has_begun: AtomicBool,
    requests: Mutex<Vec<Request>>,
}

/// How much of a request is read before the response.
#[derive(Clone, Copy, Debug)]
enum Reads {
    Whole,
    Head,
    /// This many bytes; then the connection is reset.
    Bytes(usize),
}

/// The treatment of the first attempt, and its expected outcome.
pub(super) struct Treatment {
    reads: Reads,
    /// Whether it responds only when the test says so.
    is_slow: bool,
    answer: Vec<u8>,
    /// Bytes that follow the response, again and again.
    flood: Option<Vec<u8>>,
    /// Whether the connection is closed at once, instead of its sending half.
    hangs_up: bool,
    /// Whether the attempt succeeds.
    pub(super) succeeds: bool,
    /// The status that the attempt records.
    pub(super) status: Option<u16>,
    /// The seconds by which a failed attempt postpones the next one.
    pub(super) postpones: u64,
}

impl WildReceiver {
    pub(super) async fn start(seed: u64) -> Self {
        let (first, seen) = (Arc::new(Treatment::new(seed)), Arc::new(Seen::default()));
        let slow = Arc::new(Semaphore::new(0));
        let (treatment, log, gate) = (first.clone(), seen.clone(), slow.clone());
        let peer = Peer::start(move |stream| {
            let (treatment, log, gate) = (treatment.clone(), log.clone(), gate.clone());
            async move {
                if log.has_begun.swap(true, Ordering::SeqCst) {
                    accept(stream, &log).await;
                } else {
                    treatment.apply(stream, &log, &gate).await;
                }
            }
        })
        .await;
        Self { peer, first, seen, slow }
    }

    /// Returns whether the first attempt has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.seen.has_begun.load(Ordering::SeqCst)
    }

    /// Makes it respond if it is slow.
    pub(super) fn respond(&self) {
        self.slow.close();
    }

    /// Takes the requests that were read as a whole since the last call.
    pub(super) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.seen.requests.lock().expect("whole"))
    }
}

impl Seen {
    fn note(&self, request: Option<Request>) {
        self.requests.lock().expect("whole").extend(request);
    }
}

async fn accept(mut stream: TcpStream, log: &Seen) {
    log.note(read(&mut stream).await);
    let _gone = stream.write_all(ACCEPTED).await;
}

/// Returns a response without a body, and with these headers, each with its line's end.
fn response(status: u16, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\n{headers}connection: close\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

impl Treatment {
    fn new(seed: u64) -> Self {
        let mut random = Rng::new(seed);
        let way = seed % WAYS;
        if way < WAYS / 2 { Self::failing(&mut random, way) } else { Self::accepting(&mut random, way - WAYS / 2) }
    }

    /// Sends this response, and nothing else.
    fn sends(answer: impl Into<Vec<u8>>) -> Self {
        Self {
            reads: Reads::Whole,
            is_slow: false,
            answer: answer.into(),
            flood: None,
            hangs_up: false,
            succeeds: false,
            status: None,
            postpones: 0,
        }
    }

    /// Responds with a status that fails the attempt.
    fn refuses(status: u16, headers: &str) -> Self {
        Self { status: Some(status), ..Self::sends(response(status, headers)) }
    }

    fn failing(random: &mut Rng, way: u64) -> Self {
        match way {
            0 => Self::refuses(random.any(&[300, 301, 302, 303, 304, 307, 308]), "location: /elsewhere\r\n"),
            1 => Self::refuses(random.any(&[400, 401, 404, 410, 418, 451]), ""),
            2 => Self::refuses(random.any(&[500, 502, 504, 599]), "retry-after: 3600\r\n"),
            3 => {
                let (text, postpones) = random.any(&RETRY_AFTER);
                let status = random.any(&[429, 503]);
                Self { postpones, ..Self::refuses(status, &format!("retry-after: {text}\r\n")) }
            }
            // Its half of the connection ends, in the headers or before them.
            4 => {
                let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n";
                Self::sends(&whole[..random.position(whole.len())])
            }
            5 => Self { hangs_up: true, ..Self::sends(garbage(random)) },
            6 => {
                let line = [b"x-filler: ".as_slice(), &[b'x'; 4_000], b"\r\n"].concat();
                let flood = random.any(&[line, vec![b'x'; 65_536]]);
                Self { flood: Some(flood), ..Self::sends(*b"HTTP/1.1 200 OK\r\nx: ") }
            }
            _ => Self { reads: Reads::Bytes(1 + random.position(60)), ..Self::sends(b"".as_slice()) },
        }
    }

    fn accepting(random: &mut Rng, way: u64) -> Self {
        let accepts = |answer: Vec<u8>| Self { succeeds: true, status: Some(200), ..Self::sends(answer) };
        match way {
            0 => {
                let status = random.any(&[200, 201, 202, 204, 226, 299]);
                Self { status: Some(status), ..accepts(response(status, "")) }
            }
            1 => {
                let before = random.any(&["100 Continue\r\n", "102 X\r\n", "103 X\r\nlink: </x>; rel=preload\r\n"]);
                accepts([b"HTTP/1.1 ".as_slice(), before.as_bytes(), b"\r\n", ACCEPTED].concat())
            }
            2 => {
                let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello";
                Self { status: Some(204), ..accepts(answer.to_vec()) }
            }
            3 => accepts(b"HTTP/1.1 200 OK\r\n\r\nuntil the end".to_vec()),
            4 => Self { reads: Reads::Head, ..accepts(ACCEPTED.to_vec()) },
            5 => {
                let encoding = random.any(&["gzip", "deflate, br", "zstd", "unheard-of"]);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\nconnection: close\r\n\r\n");
                accepts([head.as_bytes(), b"\x1f\x8b not packed"].concat())
            }
            6 => {
                let flood = Some(vec![b'x'; 65_536]);
                Self { flood, ..accepts(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec()) }
            }
            _ => Self { is_slow: true, ..accepts(ACCEPTED.to_vec()) },
        }
    }

    /// Returns what a failed test shows of it.
    pub(super) fn describe(&self) -> String {
        let flood = self.flood.as_ref().map_or(0, Vec::len);
        let answer = String::from_utf8_lossy(&self.answer);
        format!("reads {:?}, slow {}, sends {answer:?} and {flood} bytes without end", self.reads, self.is_slow)
    }

    async fn apply(&self, mut stream: TcpStream, log: &Seen, slow: &Semaphore) {
        match self.reads {
            Reads::Whole => log.note(read(&mut stream).await),
            Reads::Head => read_head(&mut stream).await,
            Reads::Bytes(count) => {
                // The kernel resets a connection that is closed with unread data.
                let _gone = stream.read_exact(&mut vec![0_u8; count]).await;
                return;
            }
        }
        if self.is_slow {
            // Closing it is the permission.
            let _ = slow.acquire().await;
        }
        if stream.write_all(&self.answer).await.is_err() {
            return;
        }
        if let Some(piece) = &self.flood {
            while stream.write_all(piece).await.is_ok() {}
        } else if !self.hangs_up {
            let _gone = stream.shutdown().await;
            while stream.read(&mut [0; 4_096]).await.is_ok_and(|count| count > 0) {}
        }
    }
}

/// Returns something other than HTTP.
fn garbage(random: &mut Rng) -> Vec<u8> {
    let all: [&[u8]; 5] = [
        b"220 mail.example.com ESMTP\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
    ];
    random.any(&all).to_vec()
}

/// Reads the head of a request, and nothing of its body.
async fn read_head(stream: &mut TcpStream) {
    let mut last = [0_u8; 4];
    while last != *b"\r\n\r\n" {
        let Ok(byte) = stream.read_u8().await else { return };
        last.rotate_left(1);
        last[3] = byte;
    }
}
