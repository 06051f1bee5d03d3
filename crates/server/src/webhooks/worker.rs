//! The delivery worker: claims due deliveries, sends them, and records the outcome.
//!
//! The database is authoritative. A wakeup, the end of an attempt or a timer makes the worker query it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::webhook::{SigningSecret, is_success, retry_after};
use switchhook_net::outbound::{Answer, Client, ClientSettings, Exemptions, PerTenant, SendError};
use switchhook_runtime::clock::{self, Clock};
use switchhook_vault::Vault;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{DELIVERY, EVENT, SIGNATURE};
use crate::config::Config;
use crate::heartbeats::Heartbeat;
use crate::store::deliveries::outcome::{self, Finished, Outcome, Record, Then};
use crate::store::deliveries::queue::{self, Batch, Claimed, Lease, UnconfirmedClaim};
use crate::store::group_commit::Batcher;
use crate::store::lease_time::LeaseTime;
use crate::store::webhooks::WebhookRow;
use crate::store::{self, Store, Symptom};
use crate::wakeups::Wakeups;

/// Maximum time between two queries of the queue, which other nodes fill too.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Poll interval for attempts of dead nodes.
const RECOVERY_INTERVAL: Duration = Duration::from_secs(5);
/// Time between an attempt's deadline and the end of its lease, to record the outcome.
const LEASE_MARGIN: Duration = Duration::from_secs(10);
/// Pauses between retries to record an outcome; then the lease expires.
const RECORD_AGAIN: [Duration; 3] = [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(3)];
/// Attempts by result: `succeeded`, `failed`.
const ATTEMPTS: &str = "switchhook_webhook_attempts_total";
/// Duration of an attempt in seconds.
const DURATION: &str = "switchhook_webhook_attempt_duration_seconds";

/// How long due deliveries are still started while the service stops.
const LAST_EVENTS: Duration = Duration::from_secs(5);

/// Sends webhook deliveries.
pub struct Worker(Arc<Parts>);

struct Parts {
    store: Store,
    clock: Clock,
    config: Arc<Config>,
    vault: Vault,
    wakeups: Wakeups,
    heartbeat: Heartbeat,
    clients: PerTenant<Client>,
    outcomes: Batcher<Record>,
}

/// The URL and the signing secrets.
struct Target {
    tenant: TenantId,
    url: String,
    /// `None` if the secrets cannot be decrypted.
    secrets: Option<Vec<SigningSecret>>,
}

impl Worker {
    /// Creates a worker.
    ///
    /// # Errors
    /// If the HTTP client cannot be built, for example because of an unusable `extra_ca`.
    pub fn new(
        store: Store,
        clock: Clock,
        config: Arc<Config>,
        vault: Vault,
        wakeups: Wakeups,
        heartbeat: Heartbeat,
    ) -> anyhow::Result<Self> {
        let (settings, deadline) =
            (ClientSettings::new(&config.network(), &config.webhook_allow)?, config.webhook_timeout);
        let clients = PerTenant::new(Exemptions::default(), move |_| settings.client(deadline))?;
        metrics::describe_counter!(ATTEMPTS, "Webhook delivery attempts, by result");
        metrics::describe_histogram!(DURATION, metrics::Unit::Seconds, "Duration of webhook delivery attempts");
        let outcomes = Batcher::new(Record(store.clone()));
        Ok(Self(Arc::new(Parts { store, clock, config, vault, wakeups, heartbeat, clients, outcomes })))
    }

    /// Delivers until `stop`, then for a few more seconds what is due by then, such as the last events of calls that the stop
    /// ended. Finishes attempts in flight.
    pub async fn run(&self, stop: &CancellationToken) {
        tokio::join!(self.deliver(stop), self.recover(stop));
    }

    async fn deliver(&self, stop: &CancellationToken) {
        let (mut sending, mut unconfirmed) = (JoinSet::new(), Vec::new());
        while !stop.is_cancelled() {
            while sending.try_join_next().is_some() {}
            let now = self.0.clock.now();
            match self.begin(&mut sending, &mut unconfirmed, now).await {
                Ok(0) => {}
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!(%error, "could not claim deliveries; retrying");
                    self.0.store.note(Symptom::of(&error));
                }
            }
            let pause = self.until_due(now).await;
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.0.wakeups.webhooks.notified() => {}
                Some(_) = sending.join_next() => {}
                () = sleep(pause) => {}
            }
        }
        let give_up = Instant::now() + LAST_EVENTS;
        while Instant::now() < give_up {
            let begun = self.begin(&mut sending, &mut unconfirmed, self.0.clock.now()).await.unwrap_or(0);
            if begun == 0 && sending.join_next().await.is_none() {
                return;
            }
        }
        while sending.join_next().await.is_some() {}
    }

    /// Claims due deliveries and starts sending them. Returns the number of attempts. `unconfirmed` are attempts of an earlier claim that
    /// failed: if it was committed nevertheless, they would wait for the end of their leases.
    async fn begin(
        &self,
        sending: &mut JoinSet<()>,
        unconfirmed: &mut Vec<UnconfirmedClaim>,
        now: Timestamp,
    ) -> Result<usize, sqlx::Error> {
        if !unconfirmed.is_empty() {
            store::in_time(queue::give_back_for_worker(&self.0.store, unconfirmed, now)).await?;
            unconfirmed.clear();
        }
        let under_way = i64::try_from(sending.len()).unwrap_or(i64::MAX);
        let lease = self.0.lease();
        let mut begun = 0;
        let claim = queue::claim_due_for_worker(&self.0.store, now, lease, under_way, unconfirmed);
        let due = store::in_time(claim).await?;
        self.0.heartbeat.beat();
        for Batch { endpoint, attempts } in due {
            let target = Arc::new(self.0.target(endpoint, now));
            begun += attempts.len();
            for claimed in attempts {
                sending.spawn(attempt(self.0.clone(), target.clone(), claimed));
            }
        }
        Ok(begun)
    }

    /// Returns how long to wait after a query at `looked_at` that found nothing to start.
    async fn until_due(&self, looked_at: Timestamp) -> Duration {
        let next = async { queue::next_due_for_worker(&mut self.0.store.read().await?).await };
        match store::in_time(next).await {
            // Deliveries that were due wait for something else: their turn, or an attempt to end.
            Ok(Some(at)) if at > looked_at => at.since(self.0.clock.now()).min(POLL_INTERVAL),
            Ok(_) | Err(_) => POLL_INTERVAL,
        }
    }

    async fn recover(&self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            if let Err(error) = store::in_time(self.0.take_over_abandoned()).await {
                tracing::warn!(%error, "could not take over deliveries of dead nodes; retrying");
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep(RECOVERY_INTERVAL) => {}
            }
        }
    }
}

async fn attempt(parts: Arc<Parts>, target: Arc<Target>, claimed: Claimed) {
    let start = Instant::now();
    let sent = parts.send(&target, &claimed).await;
    let outcome = parts.outcome(claimed.lease, sent, start.elapsed());
    let result = if outcome.then == Then::Succeeded { "succeeded" } else { "failed" };
    metrics::counter!(ATTEMPTS, "result" => result).increment(1);
    metrics::histogram!(DURATION).record(start.elapsed().as_secs_f64());
    parts.record(Finished { lease: claimed.lease, outcome, at: parts.clock.now() }).await;
}

/// The result of an attempt.
enum AttemptResult {
    Unsigned,
    Tried(Result<Answer, SendError>),
}

impl Parts {
    fn target(&self, endpoint: WebhookRow, now: Timestamp) -> Target {
        let secrets = endpoint.secrets(&self.vault, now);
        if let Err(error) = &secrets {
            tracing::error!(webhook = %endpoint.id, %error, "could not decrypt the signing secret of a webhook");
        }
        Target { tenant: TenantId::from_uuid(endpoint.tenant_id), url: endpoint.url, secrets: secrets.ok() }
    }

    async fn send(&self, target: &Target, claimed: &Claimed) -> AttemptResult {
        let at = self.clock.now();
        let headers = target.secrets.as_ref().and_then(|secrets| headers(secrets, at, claimed).ok());
        match headers {
            Some(headers) => {
                let client = self.clients.of(target.tenant);
                AttemptResult::Tried(client.post(&target.url, headers, claimed.body.clone()).await)
            }
            None => AttemptResult::Unsigned,
        }
    }

    fn outcome(&self, lease: Lease, sent: AttemptResult, took: Duration) -> Outcome {
        let (status, pause, error, excerpt) = match sent {
            AttemptResult::Tried(Ok(answer)) => {
                let pause = answer.retry_after.and_then(|text| retry_after(answer.status, &text, self.clock.now()));
                let error = (!is_success(answer.status)).then(|| refusal(answer.status));
                (Some(answer.status), pause, error, Some(answer.excerpt))
            }
            AttemptResult::Tried(Err(error)) => (None, None, Some(error.to_string()), None),
            AttemptResult::Unsigned => (None, None, Some("the signing secret could not be decrypted".to_owned()), None),
        };
        let then = if error.is_none() { Then::Succeeded } else { self.after_failure(lease, pause) };
        Outcome { duration: Some(took), status, error, response_excerpt: excerpt, then }
    }

    fn after_failure(&self, lease: Lease, pause: Option<Duration>) -> Then {
        let attempts = u32::try_from(lease.attempts).unwrap_or(u32::MAX);
        let random = u32::from_ne_bytes(clock::random());
        let next = self.config.webhook_schedule.next_attempt(attempts, self.clock.now(), pause, random);
        next.map_or(Then::Failed, Then::RetryAt)
    }

    async fn record(&self, finished: Finished) {
        let delivery = finished.lease.id;
        for pause in RECORD_AGAIN.map(Some).into_iter().chain([None]) {
            match self.outcomes.submit((), finished.clone()).await {
                Ok(true) => return,
                Ok(false) => {
                    tracing::debug!(%delivery, "delivery outcome discarded: the lease was lost");
                    return;
                }
                Err(error) => {
                    tracing::warn!(%delivery, %error, "could not record a delivery outcome");
                    self.store.note(Symptom::of(&error));
                }
            }
            if let Some(pause) = pause {
                sleep(pause).await;
            }
        }
    }

    /// Returns the latest end of an attempt.
    fn lease(&self) -> LeaseTime {
        LeaseTime::new(&self.clock, self.config.webhook_timeout + LEASE_MARGIN)
    }

    /// Attempts of a dead node count as failed, because it is unknown whether the receiver got them.
    async fn take_over_abandoned(&self) -> Result<(), sqlx::Error> {
        let now = self.clock.now();
        let abandoned = outcome::abandoned_for_recovery(&mut self.store.read().await?, self.lease()).await?;
        let decided = abandoned.iter().map(|lease| {
            let outcome = Outcome {
                error: Some("the service stopped before a response was recorded".to_owned()),
                then: self.after_failure(*lease, None),
                ..Outcome::default()
            };
            self.record(Finished { lease: *lease, outcome, at: now })
        });
        futures_util::future::join_all(decided).await;
        outcome::cancel_disabled_for_recovery(&self.store).await?;
        if !abandoned.is_empty() {
            self.wakeups.webhooks.notify_one();
        }
        Ok(())
    }
}

/// Describes a status that is no success.
fn refusal(status: u16) -> String {
    let hint = if matches!(status, 301 | 302 | 303 | 307 | 308) {
        ", and redirects are not followed: set the URL to where it leads"
    } else {
        ""
    };
    format!("the receiver responded with {status}{hint}")
}

/// Returns the headers of an attempt, signed at `at` in our format and in that of Standard Webhooks.
fn headers(secrets: &[SigningSecret], at: Timestamp, claimed: &Claimed) -> anyhow::Result<HeaderMap> {
    let id = claimed.lease.id.to_string();
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (CONTENT_TYPE, "application/json".to_owned()),
        (HeaderName::from_static(EVENT), claimed.event.clone()),
        (HeaderName::from_static(DELIVERY), id.clone()),
        (HeaderName::from_static(SIGNATURE), SigningSecret::header(secrets, at, &claimed.body)),
        (HeaderName::from_static("webhook-id"), id.clone()),
        (HeaderName::from_static("webhook-timestamp"), at.as_seconds().to_string()),
        (HeaderName::from_static("webhook-signature"), SigningSecret::standard_header(secrets, &id, at, &claimed.body)),
    ] {
        headers.insert(name, HeaderValue::from_str(&value).context("invalid header of a delivery")?);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;
