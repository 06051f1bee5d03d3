//! The shared part of the doubles of TTS providers: their scripted behaviour, a record of requests, and their audio.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use reqwest::StatusCode;
use serde_json::Value;
use tokio::sync::Notify;

use super::wild_tts::WildTts;
use super::without_delay;
use crate::harness::TIMEOUT;

/// The only key that doubles accept.
pub(crate) const KEY: &str = "a-key-of-the-tests";
/// A character lasts 10 ms: 80 bytes of µ-law.
pub(crate) const PER_CHARACTER: usize = 80;
/// Characters per piece of audio, which splits words.
const PIECE: usize = 5;
/// Pieces that still arrive after an utterance was stopped.
pub(crate) const LATE: usize = 2;

/// How an utterance is spoken; [`TtsBehaviour::Well`] by default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TtsBehaviour {
    /// Spoken to the end.
    Well,
    /// Stalls after this many pieces, until it is stopped.
    Stall(usize),
    /// Like [`TtsBehaviour::Stall`], but a stop is not confirmed.
    Deaf,
    /// The connection breaks after this many pieces.
    Die(usize),
    /// The server stops reading and writing, but the connection stays open.
    Freeze,
    /// Sends a message that violates the protocol.
    Nonsense,
    /// Sends this instead of audio; the context's name is filled in.
    Say(Value),
    /// The server closes the websocket properly.
    Close(u16, &'static str),
}

/// The response to a refused request.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<&'static str>,
    pub(crate) body: Value,
}

/// Requests that a double has received.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Connections that were accepted.
    pub(crate) connections: usize,
    /// Connections that have ended.
    pub(crate) ended: usize,
    /// Requests that were refused.
    pub(crate) refused: usize,
    /// Requests that were never answered.
    pub(crate) ignored: usize,
    /// Texts, in the order of their arrival.
    pub(crate) spoken: Vec<String>,
    /// The requests of these texts.
    pub(crate) asked: Vec<Value>,
    /// Utterances that were stopped before their end.
    pub(crate) stopped: usize,
    /// How many of those the client knows to be over, as far as the protocol reports it.
    pub(crate) settled: usize,
    complaints: Vec<String>,
}

#[derive(Default)]
struct Inner {
    seen: Mutex<Seen>,
    /// For any utterance, or for one with these words.
    behaviours: Mutex<VecDeque<(Option<&'static str>, TtsBehaviour)>>,
    /// For texts that arrive in any order.
    particular: Mutex<HashMap<String, TtsBehaviour>>,
    refusals: Mutex<VecDeque<Refusal>>,
    /// Content types and bodies that are sent with a status of success instead of audio.
    texts: Mutex<VecDeque<(Option<&'static str>, &'static str)>>,
    /// Requests that will not be answered.
    to_ignore: Mutex<usize>,
    /// Set if the server follows its documentation loosely.
    wild: Mutex<Option<WildTts>>,
    changed: Notify,
}

/// State shared by a test and its double.
#[derive(Clone, Default)]
pub(crate) struct TtsState(Arc<Inner>);

impl TtsState {
    /// Sets how the next utterances are spoken.
    pub(crate) fn next(&self, behaviours: impl IntoIterator<Item = TtsBehaviour>) {
        lock(&self.0.behaviours).extend(behaviours.into_iter().map(|behaviour| (None, behaviour)));
    }

    /// Sets how the next utterance with these words is spoken.
    pub(crate) fn next_of(&self, words: &'static str, behaviour: TtsBehaviour) {
        lock(&self.0.behaviours).push_back((Some(words), behaviour));
    }

    /// Refuses the next requests.
    pub(crate) fn refuse(&self, refusals: impl IntoIterator<Item = Refusal>) {
        lock(&self.0.refusals).extend(refusals);
    }

    /// Answers the next request with this content type and body, and a status of success. Only for HTTP.
    pub(crate) fn answer_with(&self, content_type: Option<&'static str>, body: &'static str) {
        lock(&self.0.texts).push_back((content_type, body));
    }

    /// Returns the text that is sent instead of audio, if there is one.
    pub(crate) fn text_response(&self) -> Option<Response> {
        let (content_type, body) = lock(&self.0.texts).pop_front()?;
        let mut response = Response::new(Body::from(body));
        if let Some(content_type) = content_type {
            response.headers_mut().insert("content-type", content_type.parse().expect("a value"));
        }
        Some(response)
    }

    /// Sets how this text is spoken whenever it arrives.
    pub(crate) fn always(&self, text: &str, behaviour: TtsBehaviour) {
        lock(&self.0.particular).insert(text.to_owned(), behaviour);
    }

    /// Leaves the next request unanswered.
    pub(crate) fn ignore_one(&self) {
        *lock(&self.0.to_ignore) += 1;
    }

    /// Returns, unless this request must stay unanswered.
    pub(crate) async fn answer(&self) {
        let ignored = {
            let mut left = lock(&self.0.to_ignore);
            let ignored = *left > 0;
            *left = left.saturating_sub(1);
            ignored
        };
        if ignored {
            self.note(|seen| seen.ignored += 1);
            std::future::pending::<()>().await;
        }
    }

    /// Follows the documentation loosely from now on.
    pub(crate) fn go_wild(&self, seed: u64) {
        *lock(&self.0.wild) = Some(WildTts::new(seed));
    }

    pub(crate) fn is_wild(&self) -> bool {
        lock(&self.0.wild).is_some()
    }

    /// Returns what a loose server did.
    pub(crate) fn wild_log(&self) -> Vec<String> {
        lock(&self.0.wild).as_ref().map_or_else(Vec::new, WildTts::log)
    }

    /// Returns whether a loose server deviates now, one time in `times`.
    pub(crate) fn varies(&self, times: u64) -> bool {
        lock(&self.0.wild).as_mut().is_some_and(|wild| wild.varies(times))
    }

    /// Returns one of the messages that a loose server sends at times although they mean nothing.
    pub(crate) fn odd<T: Clone>(&self, messages: &[T]) -> Option<T> {
        lock(&self.0.wild).as_mut()?.odd(messages)
    }

    /// Waits as long as a loose server does between two pieces, in virtual time.
    pub(crate) async fn pause(&self) {
        let pause = lock(&self.0.wild).as_mut().map(WildTts::pause).unwrap_or_default();
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }

    fn behaviour(&self, text: &str) -> TtsBehaviour {
        if let Some(behaviour) = lock(&self.0.particular).get(text) {
            return behaviour.clone();
        }
        let mut behaviours = lock(&self.0.behaviours);
        let at = behaviours.iter().position(|(words, _)| words.is_none_or(|words| text.contains(words)));
        at.and_then(|at| behaviours.remove(at)).map_or(TtsBehaviour::Well, |(_, behaviour)| behaviour)
    }

    /// Returns the refusal for this request, if there is one.
    pub(crate) fn refusal(&self) -> Option<Response> {
        let Refusal { status, retry_after, body } = lock(&self.0.refusals).pop_front()?;
        self.note(|seen| seen.refused += 1);
        let status = StatusCode::from_u16(status).expect("a status");
        let mut response = (status, axum::Json(body)).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert("retry-after", seconds.parse().expect("a value"));
        }
        Some(response)
    }

    pub(crate) fn note<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let result = change(&mut lock(&self.0.seen));
        self.0.changed.notify_waiters();
        result
    }

    /// Records that an utterance was stopped where no confirmation is needed.
    pub(crate) fn note_stopped(&self) {
        self.note(|seen| {
            seen.stopped += 1;
            seen.settled += 1;
        });
    }

    pub(crate) fn complain(&self, words: impl Into<String>) {
        lock(&self.0.seen).complaints.push(words.into());
    }

    /// Complains unless `found` is `expected`.
    pub(crate) fn expect(&self, what: &str, found: Option<&str>, expected: &str) {
        if found != Some(expected) {
            self.complain(format!("{what} is {found:?} and not {expected:?}"));
        }
    }

    pub(crate) fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&lock(&self.0.seen))
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        self.seen(|seen| seen.complaints.clone())
    }

    /// Waits until `done` holds for the record.
    pub(crate) async fn until(&self, what: &str, done: impl Fn(&Seen) -> bool) {
        let waiting = async {
            loop {
                let mut changed = std::pin::pin!(self.0.changed.notified());
                changed.as_mut().enable();
                if self.seen(&done) {
                    return;
                }
                changed.await;
            }
        };
        if tokio::time::timeout(TIMEOUT, waiting).await.is_err() {
            self.seen(|seen| panic!("{what} did not happen: {seen:?}"));
        }
    }
}

/// Counts a connection as long as it is held.
pub(crate) struct Connected(TtsState);

impl Connected {
    pub(crate) fn new(state: &TtsState) -> Self {
        state.note(|seen| seen.connections += 1);
        Self(state.clone())
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.note(|seen| seen.ended += 1);
    }
}

/// End of an utterance after its pieces.
#[derive(Debug, PartialEq)]
pub(crate) enum UtteranceEnd {
    End,
    Stay { deaf: bool },
    Die,
    Freeze,
    Nonsense,
    Say(Value),
    Close(u16, &'static str),
}

/// A text in pieces, and what follows those that are sent. The rest of a stalled one comes late.
pub(crate) struct Utterance {
    pub(crate) pieces: Vec<Vec<char>>,
    pub(crate) late: Vec<Vec<char>>,
    pub(crate) end: UtteranceEnd,
}

impl Utterance {
    /// Speaks `text` as the test has scripted it.
    pub(crate) fn new(state: &TtsState, text: &str, asked: Value) -> Self {
        state.note(|seen| {
            seen.spoken.push(text.to_owned());
            seen.asked.push(asked);
        });
        if !text.contains(char::is_alphanumeric) {
            state.complain(format!("there is nothing to speak in {text:?}"));
        }
        let characters: Vec<char> = text.chars().collect();
        if let Some(wild) = lock(&state.0.wild).as_mut() {
            let mut pieces = wild.cut(&characters);
            let (count, end) = wild.end(text, pieces.len());
            pieces.truncate(count);
            return Self { pieces, late: Vec::new(), end };
        }
        let mut pieces: Vec<Vec<char>> = characters.chunks(PIECE).map(<[char]>::to_vec).collect();
        let (count, end) = match state.behaviour(text) {
            TtsBehaviour::Well => (pieces.len(), UtteranceEnd::End),
            TtsBehaviour::Stall(count) => (count, UtteranceEnd::Stay { deaf: false }),
            TtsBehaviour::Deaf => (1, UtteranceEnd::Stay { deaf: true }),
            TtsBehaviour::Die(count) => (count, UtteranceEnd::Die),
            TtsBehaviour::Freeze => (0, UtteranceEnd::Freeze),
            TtsBehaviour::Nonsense => (0, UtteranceEnd::Nonsense),
            TtsBehaviour::Say(message) => (0, UtteranceEnd::Say(message)),
            TtsBehaviour::Close(code, reason) => (0, UtteranceEnd::Close(code, reason)),
        };
        let late = pieces.split_off(count.min(pieces.len())).into_iter().take(LATE).collect();
        Self { pieces, late, end }
    }
}

/// Returns the µ-law of a piece.
pub(crate) fn audio_of(piece: &[char]) -> Vec<u8> {
    piece
        .iter()
        .flat_map(|character| [u8::try_from(u32::from(*character) % 256).expect("a byte"); PER_CHARACTER])
        .collect()
}

/// Serves a double.
pub(crate) async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move { axum::serve(without_delay(listener), router).await });
    address
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
