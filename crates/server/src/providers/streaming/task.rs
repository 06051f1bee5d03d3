//! The task of one call's recogniser: it owns the connection, and makes it again when it is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use switchhook_core::call::ErrorCode;
use switchhook_media::frame::{FRAME_DURATION, Frame};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::line::{Dial, Line};
use super::protocol::{Broken, Heard};
use super::words::Words;
use crate::providers::SttEvent;
use crate::providers::refusal::Trouble;
use crate::providers::ring::{Ring, Told};
use crate::queues::Queue;

/// Before a lost connection is made again: at once, then after longer pauses.
const PAUSES: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(1)];
/// A connection that lasted so long was a good one.
const GOOD: Duration = Duration::from_secs(5);

/// How much of the caller was sent, in frames of 20 ms; what was sent again counts again, as it does with providers.
#[derive(Clone, Default)]
pub(super) struct Sent(Arc<AtomicU64>);

impl Sent {
    fn one_more(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn total(&self) -> Duration {
        let frames = u32::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        FRAME_DURATION * frames
    }
}

/// Why listening ended.
enum Over {
    /// Nobody wants to know more.
    Done,
    /// The connection.
    Trouble(Trouble),
}

impl From<Trouble> for Over {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

pub(super) struct Task {
    dial: Dial,
    events: mpsc::Sender<SttEvent>,
    waiting: mpsc::Receiver<Told>,
    sent: Sent,
    words: Words,
    ring: Ring,
    /// Whether the provider ever took what we said, so that our settings are right.
    proven: bool,
    /// Connections in a row that came to nothing.
    bad: usize,
    /// Segments in a row with speech of which nothing came.
    fruitless: u32,
}

impl Task {
    pub(super) fn new(dial: Dial, events: mpsc::Sender<SttEvent>, waiting: mpsc::Receiver<Told>, sent: Sent) -> Self {
        let words = Words::new(dial.style());
        Self { dial, events, waiting, sent, words, ring: Ring::default(), proven: false, bad: 0, fruitless: 0 }
    }

    /// Listens until the session is dropped or the provider is lost for good.
    pub(super) async fn run(mut self, mut line: Line) {
        loop {
            let trouble = match self.listen(&mut line).await {
                Over::Done => return line.close().await,
                Over::Trouble(trouble) => trouble,
            };
            if line.made.elapsed() >= GOOD {
                self.bad = 0;
            }
            match self.again(trouble).await {
                Ok(new) => line = new,
                Err(Over::Done) => return,
                Err(Over::Trouble(trouble)) => return self.fail(trouble).await,
            }
        }
    }

    async fn listen(&mut self, line: &mut Line) -> Over {
        loop {
            if let Err(over) = self.step(line).await {
                return over;
            }
        }
    }

    async fn step(&mut self, line: &mut Line) -> Result<(), Over> {
        let deadline = self.words.deadline().map(|deadline| line.known_at(deadline));
        let due = deadline.unwrap_or(line.made);
        let upkeep = line.upkeep_due();
        tokio::select! {
            told = self.waiting.recv() => self.told(line, told.ok_or(Over::Done)?).await?,
            heard = line.next() => self.hear(line, heard?).await?,
            () = sleep_until(due), if deadline.is_some() => {
                line.check_alive()?;
                if self.words.is_fruitless(line.spoke, Instant::now()) {
                    let style = self.dial.style();
                    self.nothing_came(Trouble::timeout(style.name, style.patience_without_words))?;
                }
                let events = self.words.expire(Instant::now());
                self.tell(events).await?;
            }
            () = sleep_until(upkeep) => line.upkeep(Instant::now()).await?,
        }
        Ok(())
    }

    /// Keeps first and sends then: what is lost on the way will be sent again.
    async fn told(&mut self, line: &mut Line, told: Told) -> Result<(), Trouble> {
        let only_speech = self.dial.style().only_speech;
        let speaking = self.words.is_speaking();
        keep(&mut self.words, &mut self.ring, &told);
        match told {
            Told::Sound(frame) if !only_speech || speaking => self.sound(line, &frame).await,
            Told::Started if only_speech && !speaking => {
                for frame in self.ring.pre_roll() {
                    self.sound(line, &frame).await?;
                }
                Ok(())
            }
            Told::Stopped(_) => line.finalize().await,
            Told::From(_) | Told::Sound(_) | Told::Started => Ok(()),
        }
    }

    async fn hear(&mut self, line: &mut Line, heard: Vec<Heard>) -> Result<(), Over> {
        for heard in heard {
            match heard {
                Heard::Answer(message) => line.send(message).await?,
                heard => {
                    self.judge(line, &heard)?;
                    let events = self.words.heard(heard, Instant::now());
                    if self.words.are_too_many() {
                        Queue::SttWords.full();
                        let words = "it sent more words than anybody can have said".to_owned();
                        return Err(Trouble { again: None, ..line.lost(words) }.into());
                    }
                    self.tell(events).await?;
                }
            }
        }
        Ok(())
    }

    /// What a message says about the provider.
    fn judge(&mut self, line: &Line, heard: &Heard) -> Result<(), Trouble> {
        match heard {
            Heard::Partial(text) | Heard::Words(text) => {
                self.proven = true;
                self.ring.words();
                if !text.trim().is_empty() {
                    self.fruitless = 0;
                }
            }
            Heard::Flushed | Heard::TurnOver => self.fruitless = 0,
            Heard::Failed(broken @ Broken::Refused(_)) => return Err(line.broken(broken.clone())),
            Heard::Failed(broken) => return self.nothing_came(line.broken(broken.clone())),
            Heard::Ready | Heard::Answer(_) => {}
        }
        Ok(())
    }

    /// Speech without an answer. Once may be chance; then another connection may do better; then nobody is to wait any longer.
    fn nothing_came(&mut self, trouble: Trouble) -> Result<(), Trouble> {
        self.fruitless += 1;
        match self.fruitless {
            1 => Ok(()),
            2 => Err(trouble),
            _ => Err(Trouble { again: None, ..trouble }),
        }
    }

    async fn tell(&mut self, events: Vec<SttEvent>) -> Result<(), Over> {
        for event in events {
            if let SttEvent::Final { segment, .. } = &event {
                self.ring.settled(*segment);
            }
            self.events.send(event).await.map_err(|_| Over::Done)?;
        }
        Ok(())
    }

    /// Makes a new connection and says again what has no words yet.
    async fn again(&mut self, mut trouble: Trouble) -> Result<Line, Over> {
        loop {
            let pause = trouble.again.zip(PAUSES.get(self.bad)).map(|(asked, least)| asked.max(*least));
            let Some(pause) = pause else { return Err(Over::Trouble(trouble)) };
            self.bad += 1;
            self.proven = true;
            tracing::warn!(error = %trouble.error, "a recogniser was lost in mid-call; connecting again");
            trouble = match self.reconnect(pause).await? {
                Ok(line) => return Ok(line),
                Err(trouble) => trouble,
            };
        }
    }

    async fn reconnect(&mut self, pause: Duration) -> Result<Result<Line, Trouble>, Over> {
        let mut line = match self.connect_after(pause).await? {
            Ok(line) => line,
            Err(trouble) => return Ok(Err(trouble)),
        };
        self.words.again(self.ring.is_whole(), Instant::now());
        // Without speech there is nothing to understand, and whoever wants speech only wants nothing.
        if self.dial.style().only_speech && !self.words.is_open() {
            return Ok(Ok(line));
        }
        Ok(self.replay(&mut line).await.map(|()| line))
    }

    /// Connects; what the call tells in the meantime is kept.
    async fn connect_after(&mut self, pause: Duration) -> Result<Result<Line, Trouble>, Over> {
        let Self { dial, events, waiting, words, ring, .. } = self;
        let connecting = async {
            sleep(pause).await;
            dial.connect().await
        };
        let mut connecting = std::pin::pin!(connecting);
        loop {
            tokio::select! {
                connected = &mut connecting => return Ok(connected),
                told = waiting.recv() => keep(words, ring, &told.ok_or(Over::Done)?),
                () = events.closed() => return Err(Over::Done),
            }
        }
    }

    async fn replay(&self, line: &mut Line) -> Result<(), Trouble> {
        for item in self.ring.replay() {
            match item {
                Told::Sound(frame) => self.sound(line, &frame).await?,
                Told::From(_) | Told::Started => {}
                Told::Stopped(_) => line.finalize().await?,
            }
        }
        Ok(())
    }

    async fn sound(&self, line: &mut Line, frame: &Frame) -> Result<(), Trouble> {
        self.sent.one_more();
        line.sound(frame).await
    }

    /// What is refused at the beginning is set up wrongly; later it is a failure.
    async fn fail(&self, trouble: Trouble) {
        let code = match trouble.error.code() {
            ErrorCode::ConfigError if self.proven => ErrorCode::PipelineError,
            code => code,
        };
        let _ = self.events.send(SttEvent::Failed { code, words: trouble.error.to_string() }).await;
    }
}

fn keep(words: &mut Words, ring: &mut Ring, told: &Told) {
    let kept = match told {
        Told::Sound(_) => {
            words.sound();
            Some(told.clone())
        }
        Told::From(segment) => {
            words.go_on_from(*segment);
            None
        }
        Told::Started => {
            words.started(Instant::now());
            None
        }
        Told::Stopped(segment) => words.stopped(*segment, Instant::now()).map(Told::Stopped),
    };
    if let Some(kept) = kept {
        ring.keep(kept, words.is_open());
    }
}
