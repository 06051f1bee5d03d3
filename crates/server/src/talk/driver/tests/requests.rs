//! Requests of tools to services: when they are sent, and what is noted of them.

use axum::{Json, Router};
use serde_json::json;
use switchhook_core::agent::{HttpMethod, Tool, ToolKind};
use switchhook_core::conversation::ToolCall;
use tokio::sync::oneshot;

use super::*;
use crate::talk::ToolCallNote;
use crate::talk::tools::{CUT_OFF, NOT_SENT};

/// Starts a service. Returns the number of its requests, and its address.
async fn service() -> (Arc<AtomicU32>, String) {
    let asked = Arc::<AtomicU32>::default();
    let count = asked.clone();
    let router = Router::new().fallback(move || async move {
        count.fetch_add(1, Ordering::Relaxed);
        Json(json!({ "ok": true }))
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    (asked, format!("http://{address}"))
}

/// A driver whose agent can `book`, by POST, and `look`, by GET.
struct Asking {
    driver: Box<Driver>,
    notes: mpsc::UnboundedReceiver<Note>,
}

impl Asking {
    fn at(base: &str) -> Self {
        let tool = |name: &str, method| Tool {
            name: Some(name.to_owned()),
            url: Some(base.to_owned()),
            method: Some(method),
            ..Tool::new(ToolKind::Http)
        };
        let tools = vec![tool("book", HttpMethod::Post), tool("look", HttpMethod::Get)];
        let (noting, notes) = mpsc::unbounded_channel();
        Self { driver: driver(AgentConfig { tools, ..agent() }, noting), notes }
    }

    /// Calls a tool. Returns its request, and the sender of that it is stored.
    fn call(&mut self, name: &str) -> (Box<ToolCallNote>, oneshot::Sender<()>) {
        let (id, name) = ("call_1".to_owned(), name.to_owned());
        let result = self.driver.run_tool(0, ToolCall { id, name, arguments: json!({}), signature: None });
        assert!(result.is_none(), "it follows");
        let Ok(Note::ToolRequested(note, stored)) = self.notes.try_recv() else { panic!("its request is noted") };
        (note, stored)
    }

    async fn result(&mut self) -> Value {
        let ended = self.driver.results.1.recv().await.expect("the driver keeps a sender");
        let (_, _, result) = *ended;
        result
    }

    /// Returns the result in the next note.
    fn noted(&mut self) -> Option<Value> {
        let Ok(Note::ToolCall(note)) = self.notes.try_recv() else { panic!("its end is noted") };
        note.result
    }
}

#[tokio::test]
async fn a_request_that_may_have_effects_is_sent_only_once_it_is_stored() {
    let (asked, base) = service().await;
    let mut asking = Asking::at(&base);
    let (note, stored) = asking.call("book");
    assert!(note.call.name == "book" && note.result.is_none());
    drop(stored);
    assert_eq!(asking.result().await, json!({ "error": NOT_SENT }));
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let (_, stored) = asking.call("book");
    assert!(stored.send(()).is_ok(), "it waits for that");
    assert_eq!(asking.result().await, json!({ "ok": true }));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_request_is_sent_before_it_is_stored_when_the_database_is_away() {
    let (asked, base) = service().await;
    let mut asking = Asking::at(&base);
    let (_, _stored) = asking.call("book");
    assert_eq!(asking.result().await, json!({ "ok": true }));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_request_that_only_reads_does_not_wait_until_it_is_stored() {
    let (asked, base) = service().await;
    let mut asking = Asking::at(&base);
    let (_, stored) = asking.call("look");
    drop(stored); // One that waited for it would not be sent.
    assert_eq!(asking.result().await, json!({ "ok": true }));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_request_that_is_open_at_the_end_of_the_conversation_has_failed() {
    let mut asking = Asking::at("http://127.0.0.1:9");
    let (_, _stored) = asking.call("book");
    asking.driver.note_open_tools();
    assert_eq!(asking.noted(), Some(json!({ "error": CUT_OFF })));
    assert!(asking.notes.try_recv().is_err(), "once");
}

#[tokio::test]
async fn a_result_that_arrives_as_the_conversation_ends_is_noted() {
    let mut asking = Asking::at("http://127.0.0.1:9");
    let (_, _stored) = asking.call("book");
    let run = asking.driver.services[0].clone();
    let arrived = asking.driver.results.0.try_send(Box::new((0, run, json!({ "ok": true }))));
    assert!(arrived.is_ok(), "there is room");
    asking.driver.note_open_tools();
    assert_eq!(asking.noted(), Some(json!({ "ok": true })));
    assert!(asking.notes.try_recv().is_err(), "once");
}
