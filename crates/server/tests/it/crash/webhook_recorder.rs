//! A receiver that outlives the service and remembers every POST. Occasionally it fails or is slow, as receivers do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;
use tokio::net::TcpListener;

use super::history::Post;
use super::rng::Rng;
use crate::harness::text;

/// How long a slow response takes.
const SLOW: Duration = Duration::from_millis(300);

/// Listens as long as the test runs.
#[derive(Clone)]
pub(crate) struct WebhookRecorder {
    url: String,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    posts: Vec<Post>,
    rng: Rng,
    /// How often each delivery was refused: the last attempts are accepted, so that it succeeds.
    refused: HashMap<String, u32>,
}

impl WebhookRecorder {
    pub(crate) async fn start(seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
        let seen = Arc::new(Mutex::new(Seen { posts: Vec::new(), rng: Rng::new(seed), refused: HashMap::new() }));
        let router = Router::new().fallback(take).with_state(seen.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, seen }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn posts(&self) -> Vec<Post> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).posts.clone()
    }
}

async fn take(State(seen): State<Arc<Mutex<Seen>>>, body: String) -> StatusCode {
    let body: Value = serde_json::from_str(&body).expect("deliveries are JSON");
    let post = Post {
        delivery: text(&body["id"]),
        event: text(&body["event"]),
        call: text(&body["data"]["call_id"]),
        sequence: body["data"]["sequence"].as_u64().expect("every event has its number"),
    };
    let (status, slow) = seen.lock().unwrap_or_else(PoisonError::into_inner).judge(post);
    if slow {
        tokio::time::sleep(SLOW).await;
    }
    status
}

impl Seen {
    /// Returns the status to respond with, and whether to respond slowly.
    fn judge(&mut self, post: Post) -> (StatusCode, bool) {
        let refused = self.refused.entry(post.delivery.clone()).or_default();
        self.posts.push(post);
        match self.rng.below(100) {
            0..8 if *refused < 2 => {
                *refused += 1;
                (StatusCode::INTERNAL_SERVER_ERROR, false)
            }
            8..12 => (StatusCode::OK, true),
            _ => (StatusCode::OK, false),
        }
    }
}
