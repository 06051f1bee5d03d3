//! Speaking over sockets that are kept open and shared by calls: a handshake takes longer than the first sound.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use switchhook_media::g711::Law;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use super::socket::{Handle, Place, Said};
use super::wire::{MINUTE, Piece, Wire};
use super::words::Words;
use super::{Attempts, Deadlines, Line, cost, is_speakable};
use crate::outbound::ws::WebSockets;
use crate::providers::refusal::Trouble;
use crate::providers::{ProviderError, Tts, TtsAudio, TtsRequest, Usage};

/// A socket is not used for longer: sessions of some providers end after an hour.
const OLDEST: Duration = Duration::from_secs(50 * 60);

/// A voice behind websockets.
pub(crate) struct Pool<W> {
    wire: Arc<W>,
    websockets: WebSockets,
    deadlines: Deadlines,
    /// By address.
    lanes: Mutex<HashMap<String, Arc<Lane>>>,
}

/// All sockets of one address. Locked while one is opened, so that those who wait may share it.
type Lane = tokio::sync::Mutex<Vec<Pooled>>;

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
        let mut words = Words::default();
        let mut wait = self.deadlines.first_sound;
        let mut deadline = Instant::now() + wait;
        loop {
            let Ok(said) = timeout_at(deadline, speaking.next()).await else {
                speaking.retire();
                return Err(Trouble::timeout(provider, wait));
            };
            match said {
                Some(Said::Piece(Piece { sound, times })) => {
                    let words = words.push(times, line.given_ms());
                    let audible = !sound.is_empty();
                    let samples = sound.into_iter().map(|byte| Law::Mu.decode(byte)).collect();
                    if line.give(samples, words).await.is_err() {
                        return Ok(());
                    }
                    if line.is_endless() {
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
        let lane = self.lane(url.as_str());
        let mut lane = lane.lock().await;
        lane.retain(Pooled::is_open);
        let limits = self.wire.limits();
        let now = Instant::now();
        for pooled in lane.iter_mut() {
            if pooled.opened + OLDEST <= now {
                pooled.handle.retire();
                continue;
            }
            while pooled.begun.front().is_some_and(|begun| *begun + MINUTE <= now) {
                pooled.begun.pop_front();
            }
            if pooled.handle.contexts() < limits.contexts && pooled.begun.len() < limits.begun_per_minute {
                pooled.begun.push_back(now);
                return Ok(pooled.handle.take_place());
            }
        }
        let mut pooled = self.open(&url).await?;
        pooled.begun.push_back(now);
        let place = pooled.handle.take_place();
        lane.push(pooled);
        Ok(place)
    }

    async fn open(&self, url: &Url) -> Result<Pooled, Trouble> {
        let patience = self.deadlines.connect;
        let socket = self.websockets.connect(url, self.wire.headers(), patience).await;
        let socket =
            socket.map_err(|error| Trouble::opening(self.wire.provider(), error, self.wire.key(), patience))?;
        let handle = Handle::serve(self.wire.clone(), socket, self.deadlines);
        Ok(Pooled { handle, opened: Instant::now(), begun: VecDeque::new() })
    }

    /// Opens a socket where there is none.
    async fn open_first(&self, like: &TtsRequest) {
        let Ok(url) = self.wire.address(like) else { return };
        let lane = self.lane(url.as_str());
        let mut lane = lane.lock().await;
        let now = Instant::now();
        if lane.iter().any(|pooled| pooled.is_open() && pooled.opened + OLDEST > now) {
            return;
        }
        if let Ok(pooled) = self.open(&url).await {
            lane.push(pooled);
        }
    }

    fn lane(&self, address: &str) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        // Voices that nobody speaks with any more.
        lanes.retain(|_, lane| {
            Arc::strong_count(lane) > 1 || lane.try_lock().is_ok_and(|lane| lane.iter().any(Pooled::is_open))
        });
        lanes.entry(address.to_owned()).or_default().clone()
    }
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
            attempts.again(trouble, &line).await?;
        }
        Ok(cost(&request.text))
    }

    async fn warm(&self, like: &TtsRequest) {
        let _ = timeout(self.deadlines.connect, self.open_first(like)).await;
    }
}
