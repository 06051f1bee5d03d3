//! One request, sent to providers as [`Hedging`] decides, until one of them has responded completely.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use switchhook_providers::prices::Rates;
use switchhook_providers::{ProviderError, Usage};
use switchhook_runtime::panics::caught;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::hedging::{Hedging, Step};
use super::response_times::ResponseTimes;
use super::usage_ledger::UsageLedger;
use super::{EVENT_CAPACITY, Signal, TTS_TIMEOUT, llm_timeout, none_configured, stopped, timed_out};
use crate::talk::provider_health::ProviderHealth;

/// A provider whose rate limit lasts longer is skipped: the conversation gives up after ten seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(7);

/// The kind of provider.
#[derive(Clone, Copy)]
pub(super) enum PipelineStage {
    Model,
    Voice,
}

impl PipelineStage {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Model => "language model",
            Self::Voice => "text to speech",
        }
    }

    /// Returns the timeout for each of this many providers.
    fn timeout_after(self, providers: usize) -> Duration {
        match self {
            Self::Model => llm_timeout(providers),
            Self::Voice => TTS_TIMEOUT,
        }
    }
}

/// A candidate provider.
pub(super) struct Entry<'p, P> {
    pub(super) provider: &'p P,
    pub(super) rates: Option<Rates>,
    /// Where to record its response times.
    pub(super) response_times: Option<Arc<ResponseTimes>>,
    /// When it is late and a second one should be used too, if ever.
    pub(super) late_after: Option<Duration>,
    /// The provider's state in this call.
    pub(super) health: &'p ProviderHealth,
    /// The cost of a request whose response is not awaited.
    pub(super) unanswered: Usage,
}

/// A running attempt at one provider.
struct Attempt<T, W> {
    number: usize,
    position: usize,
    since: Instant,
    work: Pin<Box<W>>,
    received: mpsc::Receiver<T>,
    result: Option<Result<Usage, ProviderError>>,
}

/// The first output of an attempt.
enum First<T> {
    Piece(T),
    /// It ended without any output.
    Over(Result<Usage, ProviderError>),
}

impl<T, W: Future<Output = Result<Usage, ProviderError>>> Attempt<T, W> {
    /// Waits for the first output. Cancel safe until it has returned.
    async fn first(&mut self) -> First<T> {
        tokio::select! {
            biased;
            Some(piece) = self.received.recv() => First::Piece(piece),
            result = &mut self.work => match self.received.try_recv() {
                Ok(piece) => {
                    self.result = Some(result);
                    First::Piece(piece)
                }
                Err(_) => First::Over(result),
            },
        }
    }

    /// Forwards everything after the first piece.
    async fn rest(mut self, tag: u32, signals: &mpsc::Sender<(u32, Signal<T>)>) -> Result<Usage, ProviderError> {
        let result = match self.result {
            Some(result) => result,
            None => loop {
                tokio::select! {
                    biased;
                    Some(piece) = self.received.recv() => {
                        let _ = signals.send((tag, Signal::Piece(piece))).await;
                    }
                    result = &mut self.work => break result,
                }
            },
        };
        while let Ok(piece) = self.received.try_recv() {
            let _ = signals.send((tag, Signal::Piece(piece))).await;
        }
        result
    }
}

/// Runs the provider's work once its rate limit permits it. Fails at once if that would take too long; a panic counts as failure.
async fn once_not_rate_limited(
    health: &ProviderHealth,
    kind: PipelineStage,
    begin: impl FnOnce(),
    work: impl Future<Output = Result<Usage, ProviderError>>,
) -> Result<Usage, ProviderError> {
    if let Some((wait, error)) = health.rate_limited() {
        if wait > LONGEST_WAIT {
            return Err(error);
        }
        sleep(wait).await;
    }
    begin();
    caught(work).await.unwrap_or_else(|panicked| Err(stopped(kind.words(), panicked)))
}

/// Returns the usable providers, rate-limited ones last, and the error of one that was left out because it refuses.
fn not_refusing<'p, P>(entries: Vec<Entry<'p, P>>) -> (Vec<Entry<'p, P>>, Option<ProviderError>) {
    let refused = entries.iter().find_map(|entry| entry.health.refusal());
    let mut entries: Vec<_> = entries.into_iter().filter(|entry| entry.health.refusal().is_none()).collect();
    entries.sort_by_key(|entry| entry.health.rate_limited().is_some());
    (entries, refused)
}

/// Runs the first provider that works and signals its output, tagged with `tag`. The cost of a request is in the `ledger` until it is
/// signalled.
pub(super) async fn run<P, T, W>(
    kind: PipelineStage,
    tag: u32,
    entries: Vec<Entry<'_, P>>,
    start: impl Fn(&P, mpsc::Sender<T>) -> W,
    signals: mpsc::Sender<(u32, Signal<T>)>,
    ledger: &UsageLedger,
) where
    W: Future<Output = Result<Usage, ProviderError>>,
{
    let began = Instant::now();
    let (entries, refused) = not_refusing(entries);
    let late_after = |entry: &Entry<'_, P>| entry.late_after.filter(|_| entry.health.rate_limited().is_none());
    let mut hedging = Hedging::new(kind.timeout_after(entries.len()), entries.iter().map(late_after).collect());
    let mut attempts = Vec::new();
    let mut last = refused.unwrap_or_else(|| none_configured(kind.words()));
    let mut steps = vec![hedging.begin(Duration::ZERO)];
    let mut spoken = None;
    let result = loop {
        for step in steps.drain(..) {
            match step {
                Step::Start { attempt, position } => {
                    let (pieces, received) = mpsc::channel(EVENT_CAPACITY);
                    let (entry, number) = (&entries[position], attempt);
                    let since = Instant::now() + entry.health.rate_limited().map_or(Duration::ZERO, |(wait, _)| wait);
                    let begin = move || ledger.requested(number, entry.cost(entry.unanswered), entry.rates);
                    let work =
                        Box::pin(once_not_rate_limited(entry.health, kind, begin, start(entry.provider, pieces)));
                    attempts.push(Attempt { number, position, since, work, received, result: None });
                }
                Step::Cancel { attempt } | Step::TimeOut { attempt } => {
                    let at = attempts.iter().position(|running| running.number == attempt);
                    let lost = attempts.remove(at.expect("what is cancelled was started and has not ended"));
                    lose(&entries[lost.position], &lost, matches!(step, Step::TimeOut { .. }));
                    last = timed_out(kind.words(), lost.since.elapsed());
                }
                Step::GiveUp => {}
            }
        }
        if let Some(piece) = spoken.take() {
            // A driver that is gone needs no signal.
            let _ = signals.send((tag, Signal::Piece(piece))).await;
            let winner = attempts.pop().expect("the one that spoke is left");
            let (entry, number) = (&entries[winner.position], winner.number);
            ledger.answers(number);
            let result = winner.rest(tag, &signals).await;
            break result.map(|usage| (number, entry.cost(usage))).map_err(|error| entry.health.judge(error));
        }
        if attempts.is_empty() {
            break Err(last);
        }
        let deadline = hedging.next_deadline();
        tokio::select! {
            biased;
            (at, first) = first_sign(&mut attempts) => match first {
                First::Piece(piece) => {
                    note(&entries, &attempts[at]);
                    entries[attempts[at].position].health.note();
                    spoken = Some(piece);
                    steps = hedging.spoke(attempts[at].number);
                }
                First::Over(Ok(usage)) => {
                    let entry = &entries[attempts[at].position];
                    entry.health.note();
                    break Ok((attempts[at].number, entry.cost(usage)));
                }
                First::Over(Err(error)) => {
                    let failed = attempts.remove(at);
                    // A provider that refuses charges nothing; one that timed out may have done the work.
                    if !matches!(error, ProviderError::Timeout { .. }) {
                        ledger.settled(failed.number);
                    }
                    let error = entries[failed.position].health.judge(error);
                    // Prefer the error of one that may succeed later over that of one that refuses.
                    if last.is_final() || !error.is_final() {
                        last = error;
                    }
                    steps.extend(hedging.failed(began.elapsed(), failed.number));
                }
            },
            () = sleep_until(began + deadline.unwrap_or_default()), if deadline.is_some() => {
                steps = hedging.tick(began.elapsed());
            }
        }
    };
    let signal = result.map_or_else(Signal::Failed, |(attempt, usage)| {
        ledger.settled(attempt);
        Signal::Done(Box::new(usage + ledger.usage(0)))
    });
    let _ = signals.send((tag, signal)).await;
}

impl<P> Entry<'_, P> {
    fn cost(&self, usage: Usage) -> Usage {
        Rates::price(self.rates.as_ref(), usage)
    }
}

/// Waits for the first output of any attempt, and returns its position too.
async fn first_sign<T, W: Future<Output = Result<Usage, ProviderError>>>(
    attempts: &mut [Attempt<T, W>],
) -> (usize, First<T>) {
    let (first, at, _) = select_all(attempts.iter_mut().map(|attempt| Box::pin(attempt.first()))).await;
    (at, first)
}

/// Updates the statistics after a cancelled attempt: `hope` means that it timed out, otherwise another was faster.
fn lose<P, T, W>(entry: &Entry<'_, P>, lost: &Attempt<T, W>, hope: bool) {
    let waited = lost.since.elapsed();
    if hope {
        entry.health.note_failure();
    }
    match &entry.response_times {
        Some(response_times) if hope => response_times.note(waited),
        Some(response_times) => response_times.note_taken_back(waited),
        None => {}
    }
}

/// Records how long an attempt took until its first output.
fn note<P, T, W>(entries: &[Entry<'_, P>], attempt: &Attempt<T, W>) {
    if let Some(response_times) = &entries[attempt.position].response_times {
        response_times.note(attempt.since.elapsed());
    }
}
