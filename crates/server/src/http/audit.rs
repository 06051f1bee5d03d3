//! The audit log: a line for each change that a person or an API key made or was refused.
//!
//! A middleware logs the line. Authentication notes who makes the request, and the rate limit that it is admitted; the middleware
//! learns both through the task.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use switchhook_core::id::{ApiKeyId, PersonId, TenantId};
use tokio::time::Instant;
use uuid::Uuid;

use super::request_id;
use super::token_bucket::TokenBuckets;

/// The target of the lines. It begins like our modules, because lines of libraries can be dropped.
const TARGET: &str = "switchhook::audit";
/// Lines about refusals of one person or key in a minute. Most refused requests do not count in a rate limit.
const REFUSALS_PER_MINUTE: u32 = 60;

static REFUSALS: LazyLock<Refusals> = LazyLock::new(Refusals::new);

tokio::task_local! {
    static FACTS: Arc<Facts>;
}

/// Facts about a request that are known only while it is handled.
#[derive(Debug, Default)]
struct Facts {
    actor: OnceLock<Actor>,
    /// Another tenant that it concerns.
    to_tenant: OnceLock<TenantId>,
    /// Whether the rate limit has admitted it.
    admitted: AtomicBool,
}

/// The person or key that makes a request.
#[derive(Clone, Copy, Debug)]
struct Actor {
    tenant: TenantId,
    kind: &'static str,
    id: Uuid,
}

/// Notes that the request is made with this key.
pub(super) fn note_key(tenant: TenantId, key: ApiKeyId) {
    note_actor(Actor { tenant, kind: "api_key", id: key.uuid() });
}

/// Notes that this person makes the request.
pub(super) fn note_person(tenant: TenantId, person: PersonId) {
    note_actor(Actor { tenant, kind: "person", id: person.uuid() });
}

/// Notes another tenant that the request concerns, such as that of an invitation.
pub(super) fn note_other_tenant(tenant: TenantId) {
    note(|facts| {
        facts.to_tenant.get_or_init(|| tenant);
    });
}

/// Notes that the rate limit has admitted the request.
pub(super) fn note_admission() {
    note(|facts| facts.admitted.store(true, Ordering::Relaxed));
}

fn note_actor(actor: Actor) {
    note(|facts| {
        facts.actor.get_or_init(|| actor);
    });
}

fn note(fact: impl FnOnce(&Facts)) {
    // Outside of the middleware nothing is logged.
    let _ = FACTS.try_with(|facts| fact(facts));
}

/// Middleware: logs requests that change something; those that read pass.
pub(super) async fn record_changes(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return next.run(request).await;
    }
    record(request, next).await
}

/// Middleware: logs requests of all methods whose actor becomes known.
pub(super) async fn record(request: Request, next: Next) -> Response {
    let mut entry = Entry::of(&request);
    let response = FACTS.scope(entry.facts.clone(), next.run(request)).await;
    entry.status = Some(response.status());
    response
}

/// A line that is logged when it is dropped, so that a client cannot avoid it by closing the connection early.
struct Entry {
    method: Method,
    route: String,
    request_id: Option<String>,
    facts: Arc<Facts>,
    status: Option<StatusCode>,
}

impl Entry {
    fn of(request: &Request) -> Self {
        let route = request.extensions().get::<MatchedPath>();
        Self {
            method: request.method().clone(),
            route: route.map_or("other", MatchedPath::as_str).to_owned(),
            request_id: request_id::current(),
            facts: Arc::default(),
            status: None,
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let Some(actor) = self.facts.actor.get() else { return };
        let Some(outcome) = Outcome::of(self.status, self.facts.admitted.load(Ordering::Relaxed)) else { return };
        let left_out = match outcome {
            Outcome::Made | Outcome::Unknown => None,
            Outcome::Refused => {
                let Some(left_out) = REFUSALS.line(actor.id, Instant::now()) else { return };
                Some(left_out)
            }
        };
        tracing::info!(
            target: TARGET,
            outcome = outcome.as_str(),
            tenant_id = %actor.tenant,
            to_tenant_id = self.facts.to_tenant.get().map(display),
            actor_kind = actor.kind,
            actor_id = %actor.id,
            method = %self.method,
            route = self.route,
            status = self.status.map(|status| status.as_u16()),
            request_id = self.request_id,
            left_out,
            "a change was requested"
        );
    }
}

/// The outcome of a request that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Made,
    Refused,
    /// The service failed or the client left, perhaps after the change was made.
    Unknown,
}

impl Outcome {
    /// Returns the outcome by the status of the response, if there is one. Invalid requests and those beyond a limit have none.
    fn of(status: Option<StatusCode>, admitted: bool) -> Option<Self> {
        match status {
            Some(status) if status.is_success() || status.is_redirection() => Some(Self::Made),
            Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Some(Self::Refused),
            Some(status) if !status.is_server_error() => None,
            _ => admitted.then_some(Self::Unknown),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

/// Limits lines about refusals, so that a viewer cannot fill the log.
struct Refusals {
    actors: TokenBuckets<Uuid>,
    left_out: AtomicU64,
}

impl Refusals {
    fn new() -> Self {
        let each = Duration::from_secs(60) / REFUSALS_PER_MINUTE;
        Self { actors: TokenBuckets::new(each, REFUSALS_PER_MINUTE), left_out: AtomicU64::new(0) }
    }

    /// Returns how many lines were left out since the last one, if there may be another one of this actor now.
    fn line(&self, actor: Uuid, now: Instant) -> Option<u64> {
        if self.actors.take(actor, now).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.left_out.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::io;
    use std::sync::Mutex;
    use std::task::{Context, Waker};

    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn;
    use axum::routing::any;
    use tower::ServiceExt as _;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("whole").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("whole").clone()).expect("text")
        }
    }

    #[test]
    fn changes_that_may_have_been_made_and_refusals_are_logged() {
        use Outcome::{Made, Refused, Unknown};
        for (status, admitted, outcome) in [
            (Some(200), true, Some(Made)),
            (Some(302), false, Some(Made)),
            (Some(401), true, Some(Refused)),
            (Some(403), false, Some(Refused)),
            (Some(404), true, None),
            (Some(422), true, None),
            (Some(429), false, None),
            (Some(503), true, Some(Unknown)),
            (Some(503), false, None),
            (None, true, Some(Unknown)),
            (None, false, None),
        ] {
            let code = status.map(|status| StatusCode::from_u16(status).expect("a status"));
            assert_eq!(Outcome::of(code, admitted), outcome, "{status:?} {admitted}");
        }
    }

    #[test]
    fn refusals_of_one_actor_leave_room_for_those_of_others() {
        let (refusals, start) = (Refusals::new(), Instant::now());
        let lines = |actor: u128| (0..70).filter_map(|_| refusals.line(Uuid::from_u128(actor), start)).count();
        assert_eq!((lines(1), lines(1)), (60, 0));
        assert_eq!(refusals.line(Uuid::from_u128(2), start), Some(80));
        assert_eq!(refusals.line(Uuid::from_u128(1), start + Duration::from_secs(1)), Some(0));
    }

    #[tokio::test]
    async fn a_change_is_logged_if_its_client_leaves_before_the_response() {
        async fn changes() -> StatusCode {
            note_person(TenantId::from_uuid(Uuid::from_u128(1)), PersonId::from_uuid(Uuid::from_u128(2)));
            note_admission();
            pending().await
        }
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || writer.clone());
        let _logging = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
        let router: Router = Router::new().route("/changes/{id}", any(changes)).layer(from_fn(record_changes));
        for (method, logged) in [(Method::GET, 0), (Method::POST, 1)] {
            let request = Request::builder().method(method).uri("/changes/7?x=y").body(Body::empty());
            let mut response = Box::pin(router.clone().oneshot(request.expect("a request")));
            assert!(response.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(lines.text().lines().count(), 0, "{}", lines.text());
            drop(response);
            assert_eq!(lines.text().lines().count(), logged, "{}", lines.text());
        }
        let line = lines.text();
        for part in ["switchhook::audit", "outcome=\"unknown\"", "actor_kind=\"person\"", "route=\"/changes/{id}\""] {
            assert!(line.contains(part), "{part} is in {line}");
        }
    }
}
