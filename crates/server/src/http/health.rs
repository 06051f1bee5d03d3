//! `GET /healthz` and `GET /readyz`, for supervisors and load balancers. They need no key.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use serde_json::{Value, json};
use switchhook_runtime::clock;
use tokio::sync::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use super::HttpState;
use super::error::ApiError;
use super::response::JsonResponse;
use crate::store::{self, Store, Symptom, why_unwritable};

/// Timeout for the database.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the result of a ping is shared by concurrent requests.
const PING_SHARED_FOR: Duration = Duration::from_millis(250);

/// Identifies this process, so that `doctor` can tell whether another address reaches it.
static INSTANCE: LazyLock<Uuid> = LazyLock::new(|| Uuid::from_bytes(clock::random()));

/// Reports that the process runs.
pub async fn alive() -> Json<Value> {
    Json(json!({"status": "ok", "instance": *INSTANCE}))
}

/// Reports whether a call that is placed now is dialled and its webhooks leave: the database responds, the service is not stopping,
/// and this node's work goes round.
///
/// # Errors
/// 503 with the reason.
pub async fn ready(state: HttpState) -> JsonResponse<Value> {
    if state.draining.started() {
        return Err(not_ready("draining", "The service is stopping."));
    }
    match state.pings.ping(&state.store).await {
        Ping::Answered if state.heartbeats.calls_stalled() => {
            Err(not_ready("calls_stalled", "This node cannot claim or keep calls; its log says why."))
        }
        Ping::Answered if state.heartbeats.deliveries.stalled() => {
            Err(not_ready("deliveries_stalled", "This node cannot claim webhook deliveries; its log says why."))
        }
        Ping::Answered => Ok(Json(json!({"status": "ready"}))),
        Ping::Failed(None) => Err(not_ready("database_unavailable", "The database cannot be reached.")),
        Ping::Failed(Some(why)) => {
            Err(not_ready("database_unavailable", &format!("The database cannot be written: {why}.")))
        }
        Ping::Late => Err(not_ready("database_unavailable", "The database does not respond.")),
    }
}

/// Middleware: remembers what the error behind a response says about the database.
pub(super) async fn note_symptoms(State(store): State<Store>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    store.note(response.extensions().get::<Symptom>().copied());
    response
}

fn not_ready(code: &'static str, detail: &str) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).retry_after(1)
}

/// Whether the database can be read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ping {
    Answered,
    /// And why it cannot be written, where that is all.
    Failed(Option<&'static str>),
    Late,
}

/// The last ping of the database, which all who ask at about the same time share: anybody may ask. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pings(Arc<Mutex<Option<(Instant, Ping)>>>);

impl Pings {
    async fn ping(&self, store: &Store) -> Ping {
        let mut last = self.0.lock().await;
        if let Some((_, ping)) = last.filter(|(at, _)| at.elapsed() < PING_SHARED_FOR) {
            return ping;
        }
        let ping = match tokio::time::timeout(DATABASE_TIMEOUT, ping(store)).await {
            Ok(Ok(())) => Ping::Answered,
            Ok(Err(error)) => {
                tracing::warn!(%error, "not ready: database error");
                Ping::Failed(why_unwritable(&error))
            }
            Err(_) => Ping::Late,
        };
        *last = Some((Instant::now(), ping));
        ping
    }
}

async fn ping(store: &Store) -> Result<(), sqlx::Error> {
    store::ping(&mut store.read().await?).await?;
    store.probe_write().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{TestStore, stores};

    #[tokio::test]
    async fn who_asks_again_at_once_does_not_ask_the_database() {
        for TestStore { store, engine, .. } in stores().await {
            let pings = Pings::default();
            assert_eq!(pings.ping(&store).await, Ping::Answered, "{engine}");
            // In the future, so that a test that is held up does not find it too old.
            *pings.0.lock().await = Some((Instant::now() + Duration::from_secs(3_600), Ping::Failed(None)));
            assert_eq!(pings.ping(&store).await, Ping::Failed(None), "{engine}: as it was");
            *pings.0.lock().await = Some((Instant::now() - PING_SHARED_FOR, Ping::Failed(None)));
            assert_eq!(pings.ping(&store).await, Ping::Answered, "{engine}: after a while it is asked again");
        }
    }
}
