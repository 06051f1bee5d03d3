//! The transcript, written by attempts that do not know of each other.

use sqlx::types::Json;
use switchhook_core::id::NodeId;

use crate::store::calls::tool_calls::{self, ToolCallEntry};
use crate::store::calls::{self, TranscriptEntry};
use crate::store::testing::{now, owned_call, stores};

/// The number of times that two attempts cross.
const ROUNDS: u8 = 20;

#[tokio::test]
async fn attempts_that_cross_each_other_write_what_was_said_once() {
    let line = TranscriptEntry {
        role: "agent".to_owned(),
        text: "Hello.".to_owned(),
        start_ms: 0,
        end_ms: 500,
        interrupted: false,
        latency_ms: None,
        stages: None,
        turn: None,
    };
    let tool = ToolCallEntry {
        id: "call-1".to_owned(),
        name: "look_up".to_owned(),
        arguments: Json(serde_json::json!({})),
        result: None,
        status: "succeeded".to_owned(),
        error: None,
        start_ms: 0,
        duration_ms: 7,
    };
    for test in stores().await {
        for round in 0..ROUNDS {
            let row = owned_call(&test.store, NodeId::new(now(), [round; 10])).await;
            let (call, token) = (row.call_id(), row.lease_token);
            let attempt = async || {
                let mut tx = test.store.begin().await?;
                let (lines, tools) = (std::slice::from_ref(&line), std::slice::from_ref(&tool));
                let owned = calls::add_transcript_for_runner(&mut tx, call, token, 0, lines).await?
                    && tool_calls::add_for_runner(&mut tx, call, token, 0, tools).await?;
                tx.commit().await?;
                Ok::<bool, sqlx::Error>(owned)
            };
            let (one, other) = tokio::join!(attempt(), attempt());
            assert!(one.expect("written") && other.expect("written"), "{}", test.engine);
            let mut conn = test.store.read().await.expect("a connection");
            let lines = calls::transcript(&mut conn, row.tenant(), call, 0).await.expect("read");
            let tools = tool_calls::list(&mut conn, row.tenant(), call, 0).await.expect("read");
            assert_eq!((lines.len(), tools.len()), (1, 1), "{}", test.engine);
        }
    }
}
