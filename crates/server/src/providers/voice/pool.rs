//! Speaking over sockets that are kept open and shared by calls: a handshake takes longer than the first sound.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use switchhook_media::g711::Law;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use super::socket::{Handle, Place, Said};
use super::wire::{Limits, MINUTE, Piece, Wire};
use super::words::Words;
use super::{Attempts, Deadlines, Line, cost, is_speakable};
use crate::outbound::ws::WebSockets;
use crate::providers::refusal::Trouble;
use crate::providers::{ProviderError, Tts, TtsAudio, TtsRequest, Usage};
use crate::queues::Queue;

/// A socket is not used for longer: sessions of some providers end after an hour.
const OLDEST: Duration = Duration::from_secs(50 * 60);

/// The times of one utterance, in bytes: ten minutes have some ten thousand characters.
const MOST_TIMES: usize = 1 << 20;

/// A voice behind websockets.
pub(crate) struct Pool<W> {
    wire: Arc<W>,
    websockets: WebSockets,
    deadlines: Deadlines,
    /// By address.
    lanes: Mutex<HashMap<String, Arc<Mutex<Lane>>>>,
}

/// All sockets of one address. It is never locked while something is waited for: who finds a place on an open socket does not
/// wait for a handshake.
#[derive(Default)]
struct Lane {
    sockets: Vec<Pooled>,
    opening: Vec<Opening>,
    /// The number of the latest that was opened.
    opened: u64,
}

/// A socket that is being opened.
struct Opening {
    number: u64,
    /// Who speaks on it: no more than it can bear.
    speakers: Vec<oneshot::Sender<Result<Place, Trouble>>>,
    /// Who only wants to know.
    watchers: Vec<oneshot::Sender<Result<(), Trouble>>>,
}

/// A place, or one that will be there.
enum Found {
    Now(Place),
    Soon(oneshot::Receiver<Result<Place, Trouble>>),
}

struct Pooled {
    handle: Handle,
    opened: Instant,
    /// When the latest contexts on it began.
    begun: VecDeque<Instant>,
}

impl Pooled {
    fn is_open(&self) -> bool {
        self.handle.is_open()
    }

    fn place(&mut self, now: Instant) -> Place {
        self.begun.push_back(now);
        self.handle.take_place()
    }
}

impl Lane {
    /// A place on an open socket.
    fn place(&mut self, limits: &Limits, now: Instant) -> Option<Place> {
        self.sockets.retain(Pooled::is_open);
        for pooled in &mut self.sockets {
            if pooled.opened + OLDEST <= now {
                pooled.handle.retire();
                continue;
            }
            while pooled.begun.front().is_some_and(|begun| *begun + MINUTE <= now) {
                pooled.begun.pop_front();
            }
            if pooled.handle.contexts() < limits.contexts && pooled.begun.len() < limits.begun_per_minute {
                return Some(pooled.place(now));
            }
        }
        None
    }

    /// A place on a socket that is being opened.
    fn place_soon(&mut self, limits: &Limits) -> Option<oneshot::Receiver<Result<Place, Trouble>>> {
        let most = limits.contexts.min(limits.begun_per_minute);
        let opening = self.opening.iter_mut().find(|opening| opening.speakers.len() < most)?;
        let (speaker, place) = oneshot::channel();
        opening.speakers.push(speaker);
        Some(place)
    }

    /// Those who wait for a socket get theirs, or learn why there is none.
    fn opened(&mut self, number: u64, opened: Result<Pooled, Trouble>) {
        let Some(at) = self.opening.iter().position(|opening| opening.number == number) else { return };
        let Opening { speakers, watchers, .. } = self.opening.remove(at);
        // A receiver that is gone gives its place back.
        match opened {
            Ok(mut pooled) => {
                let now = Instant::now();
                for speaker in speakers.into_iter().filter(|speaker| !speaker.is_closed()) {
                    let _ = speaker.send(Ok(pooled.place(now)));
                }
                watchers.into_iter().for_each(|watcher| drop(watcher.send(Ok(()))));
                self.sockets.push(pooled);
            }
            Err(trouble) => {
                speakers.into_iter().for_each(|speaker| drop(speaker.send(Err(trouble.clone()))));
                watchers.into_iter().for_each(|watcher| drop(watcher.send(Err(trouble.clone()))));
            }
        }
    }
}

impl<W: Wire> Pool<W> {
    pub(crate) fn new(wire: W, websockets: WebSockets, deadlines: Deadlines) -> Self {
        Self { wire: Arc::new(wire), websockets, deadlines, lanes: Mutex::default() }
    }

    /// Speaks once.
    async fn attempt(&self, request: &TtsRequest, line: &mut Line) -> Result<(), Trouble> {
        let provider = self.wire.provider();
        let place = timeout(self.deadlines.connect, self.place(request));
        let place = place.await.unwrap_or_else(|_| Err(Trouble::timeout(provider, self.deadlines.connect)))?;
        let context = format!("{:016x}", rand::random::<u64>());
        let messages = self.wire.begin(&context, request);
        let mut speaking = place.begin(context, messages);
        let (mut words, mut timed) = (Words::default(), 0);
        let mut wait = self.deadlines.first_sound;
        let mut deadline = Instant::now() + wait;
        loop {
            let Ok(said) = timeout_at(deadline, speaking.next()).await else {
                speaking.retire();
                return Err(Trouble::timeout(provider, wait));
            };
            match said {
                Some(Said::Piece(Piece { sound, times })) => {
                    timed += times.bytes();
                    if timed > MOST_TIMES {
                        Queue::Tts.full();
                        return Err(Trouble::nonsense(provider, "its words do not end"));
                    }
                    let words = words.push(times, line.given_ms());
                    let audible = !sound.is_empty();
                    let samples = sound.into_iter().map(|byte| Law::Mu.decode(byte)).collect();
                    if line.give(samples, words).await.is_err() {
                        return Ok(());
                    }
                    if line.is_endless() {
                        Queue::Tts.full();
                        return Err(Trouble::nonsense(provider, "its speech does not end"));
                    }
                    if audible {
                        wait = self.deadlines.gap;
                        deadline = Instant::now() + wait;
                    }
                }
                Some(Said::Done) if !line.has_sound() => {
                    return Err(Trouble::nonsense(provider, "it spoke without any sound"));
                }
                Some(Said::Done) => {
                    let _ = line.give(Vec::new(), words.finish().into_iter().collect()).await;
                    return Ok(());
                }
                Some(Said::Refused(trouble)) => return Err(trouble),
                None => return Err(Trouble::failed(provider, "it closed the connection".to_owned())),
            }
        }
    }

    /// A place on a socket for `request`: on one that is open, or on a new one.
    async fn place(&self, request: &TtsRequest) -> Result<Place, Trouble> {
        let url = self.wire.address(request).map_err(|error| Trouble { error, again: None })?;
        match self.find(&url) {
            Found::Now(place) => Ok(place),
            Found::Soon(place) => place.await.unwrap_or_else(|_| Err(self.never_opened())),
        }
    }

    fn find(&self, url: &Url) -> Found {
        let shared = self.lane(url.as_str());
        let mut lane = lock(&shared);
        let limits = self.wire.limits();
        if let Some(place) = lane.place(&limits, Instant::now()) {
            return Found::Now(place);
        }
        let soon = lane.place_soon(&limits).unwrap_or_else(|| {
            let (speaker, place) = oneshot::channel();
            self.open(url, &shared, &mut lane, vec![speaker], Vec::new());
            place
        });
        Found::Soon(soon)
    }

    /// Begins to open a socket. That goes on when nobody waits for it any more: somebody will speak soon.
    fn open(
        &self,
        url: &Url,
        shared: &Arc<Mutex<Lane>>,
        lane: &mut Lane,
        speakers: Vec<oneshot::Sender<Result<Place, Trouble>>>,
        watchers: Vec<oneshot::Sender<Result<(), Trouble>>>,
    ) {
        lane.opened += 1;
        let number = lane.opened;
        lane.opening.push(Opening { number, speakers, watchers });
        let (wire, websockets, deadlines) = (self.wire.clone(), self.websockets.clone(), self.deadlines);
        let (url, shared) = (url.clone(), shared.clone());
        tokio::spawn(async move {
            let socket = websockets.connect(&url, wire.headers(), deadlines.connect).await;
            let opened = match socket {
                Ok(socket) => {
                    let handle = Handle::serve(wire, socket, deadlines);
                    Ok(Pooled { handle, opened: Instant::now(), begun: VecDeque::new() })
                }
                Err(error) => Err(Trouble::opening(wire.provider(), error, &url, wire.key(), deadlines.connect)),
            };
            lock(&shared).opened(number, opened);
        });
    }

    /// The process is ending.
    fn never_opened(&self) -> Trouble {
        Trouble::failed(self.wire.provider(), "the connection was given up".to_owned())
    }

    /// Opens a socket where there is none.
    async fn open_first(&self, like: &TtsRequest) -> Result<(), Trouble> {
        let url = self.wire.address(like).map_err(|error| Trouble { error, again: None })?;
        let opened = {
            let shared = self.lane(url.as_str());
            let mut lane = lock(&shared);
            let now = Instant::now();
            if lane.sockets.iter().any(|pooled| pooled.is_open() && pooled.opened + OLDEST > now) {
                return Ok(());
            }
            let (watcher, opened) = oneshot::channel();
            match lane.opening.first_mut() {
                Some(opening) => opening.watchers.push(watcher),
                None => self.open(&url, &shared, &mut lane, Vec::new(), vec![watcher]),
            }
            opened
        };
        opened.await.unwrap_or_else(|_| Err(self.never_opened()))
    }

    fn lane(&self, address: &str) -> Arc<Mutex<Lane>> {
        let mut lanes = lock(&self.lanes);
        // Voices that nobody speaks with any more.
        lanes.retain(|_, lane| Arc::strong_count(lane) > 1 || lock(lane).sockets.iter().any(Pooled::is_open));
        lanes.entry(address.to_owned()).or_default().clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl<W: Wire> Tts for Pool<W> {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        if !is_speakable(&request.text) {
            return Ok(Usage::default());
        }
        let mut line = Line::new(audio);
        let mut attempts = Attempts::default();
        while let Err(trouble) = self.attempt(&request, &mut line).await {
            attempts.again(trouble, &mut line).await?;
        }
        Ok(cost(&request.text))
    }

    fn not_taken(&self, like: &TtsRequest) -> Option<String> {
        self.wire.not_taken(like)
    }

    async fn warm(&self, like: &TtsRequest) -> Result<(), ProviderError> {
        self.open_first(like).await.map_err(|trouble| trouble.error)
    }
}
