//! Writes the transcript to the database: in the background, in order, and retrying until it is written.

use std::time::Duration;

use switchhook_core::id::CallId;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::{Runner, TaskOutcome};
use crate::store::calls::tool_calls::{self, ToolCallEntry};
use crate::store::calls::{self, TranscriptEntry};
use crate::store::{self, Store, Symptom, Tx};

/// The pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// The number of unwritten lines that is logged: the database is slow or unavailable.
const MANY: usize = 100;

/// The transcript of one conversation. It has no more lines than are spoken within the longest duration of a call.
#[derive(Default)]
pub(super) struct TranscriptWriter {
    lines: Vec<TranscriptEntry>,
    /// The tool calls that ended. There are no more than a model makes in that time.
    tool_calls: Vec<ToolCallEntry>,
    /// The number of lines and tool calls known to be written.
    written: Written,
    writing: Option<AbortOnDropHandle<()>>,
}

/// The number of written lines and tool calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    lines: usize,
    tool_calls: usize,
}

impl TranscriptWriter {
    pub(super) fn lines(&self) -> &[TranscriptEntry] {
        &self.lines
    }

    pub(super) fn add(&mut self, line: TranscriptEntry) {
        self.lines.push(line);
        if self.lines.len() - self.written.lines == MANY {
            tracing::warn!(waiting = MANY, "lines of the transcript wait to be written");
        }
    }

    pub(super) fn add_tool_call(&mut self, tool_call: ToolCallEntry) {
        self.tool_calls.push(tool_call);
    }

    /// Returns the number of lines and tool calls.
    fn all(&self) -> Written {
        Written { lines: self.lines.len(), tool_calls: self.tool_calls.len() }
    }

    /// Stops writing in the background: the commit that ends the call writes the rest.
    pub(super) fn leave_to_commit(&mut self) {
        self.writing = None;
    }

    /// Writes the rest under the lease. `false` means that the lease is lost.
    pub(super) async fn write_rest(&self, tx: &mut Tx, call: CallId, token: i64) -> Result<bool, sqlx::Error> {
        let Written { lines, tool_calls } = self.written;
        write(tx, call, token, self.written, &self.lines[lines..], &self.tool_calls[tool_calls..]).await
    }
}

impl Runner {
    /// Starts to write what is unwritten, unless a write is in progress.
    pub(super) fn write_transcript(&mut self) {
        let TranscriptWriter { lines, tool_calls, written, writing } = &self.transcript;
        if writing.is_some() || self.transcript.all() == *written {
            return;
        }
        let batch = TranscriptBatch {
            store: self.context.store.clone(),
            call: self.row.call_id(),
            token: self.row.lease_token,
            from: *written,
            lines: lines[written.lines..].to_vec(),
            tool_calls: tool_calls[written.tool_calls..].to_vec(),
        };
        let outcomes = self.outcomes.0.clone();
        self.transcript.writing = Some(AbortOnDropHandle::new(tokio::spawn(
            async move {
                // A runner that is gone needs no outcome.
                let _ = outcomes.send(TaskOutcome::Transcript { written: batch.until_written().await });
            }
            .in_current_span(),
        )));
    }

    /// Records what was written, and continues if there is more by now.
    pub(super) fn transcript_written(&mut self, written: Written) {
        self.transcript.written = written;
        self.transcript.writing = None;
        self.write_transcript();
    }
}

/// Writes what follows after `from`. `false` means that the lease is lost.
async fn write(
    tx: &mut Tx,
    call: CallId,
    token: i64,
    from: Written,
    lines: &[TranscriptEntry],
    tool_calls: &[ToolCallEntry],
) -> Result<bool, sqlx::Error> {
    let owned = lines.is_empty() || calls::add_transcript_for_runner(tx, call, token, from.lines, lines).await?;
    Ok(owned && tool_calls::add_for_runner(tx, call, token, from.tool_calls, tool_calls).await?)
}

/// Lines and tool calls that are written together.
struct TranscriptBatch {
    store: Store,
    call: CallId,
    token: i64,
    from: Written,
    lines: Vec<TranscriptEntry>,
    tool_calls: Vec<ToolCallEntry>,
}

impl TranscriptBatch {
    /// Retries until it is written. Returns how much of the call is written then; `None` if the lease is lost.
    async fn until_written(self) -> Option<Written> {
        loop {
            match store::in_time(self.write()).await {
                Ok(true) => {
                    return Some(Written {
                        lines: self.from.lines + self.lines.len(),
                        tool_calls: self.from.tool_calls + self.tool_calls.len(),
                    });
                }
                Ok(false) => return None,
                Err(error) => {
                    tracing::warn!(%error, "could not write lines of the transcript; retrying");
                    self.store.note(Symptom::of(&error));
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            }
        }
    }

    async fn write(&self) -> Result<bool, sqlx::Error> {
        let mut tx = self.store.begin().await?;
        let owned = write(&mut tx, self.call, self.token, self.from, &self.lines, &self.tool_calls).await?;
        tx.commit().await?;
        Ok(owned)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sqlx::types::Json;
    use switchhook_core::id::NodeId;

    use super::*;
    use crate::store::testing::{now, owned_call, stores};

    fn lines(numbers: std::ops::Range<i64>) -> Vec<TranscriptEntry> {
        let line = |number: i64| TranscriptEntry {
            role: "caller".to_owned(),
            text: format!("line {number}"),
            start_ms: number,
            end_ms: number,
            interrupted: false,
            latency_ms: None,
            stages: None,
            turn: None,
        };
        numbers.map(line).collect()
    }

    fn tools(numbers: std::ops::Range<i64>) -> Vec<ToolCallEntry> {
        let tool = |number: i64| ToolCallEntry {
            id: format!("call-{number}"),
            name: "look_up".to_owned(),
            arguments: Json(json!({ "number": number })),
            result: (number != 1).then(|| Json(json!({ "found": number }))),
            status: "succeeded".to_owned(),
            error: None,
            start_ms: number,
            duration_ms: 7,
        };
        numbers.map(tool).collect()
    }

    #[tokio::test]
    async fn every_line_is_written_once_however_often_the_answer_of_the_database_is_lost() {
        for test in stores().await {
            let row = owned_call(&test.store, NodeId::new(now(), [1; 10])).await;
            let (call, token) = (row.call_id(), row.lease_token);
            let so_far = |lines, tool_calls| Written { lines, tool_calls };
            let batch = |lines, tool_calls| TranscriptBatch {
                store: test.store.clone(),
                call,
                token,
                from: Written::default(),
                lines,
                tool_calls,
            };
            let written = batch(lines(0..2), tools(0..1)).until_written().await;
            assert_eq!(written, Some(so_far(2, 1)), "{}", test.engine);
            // The writer does not know that those were written, and more was said meanwhile.
            let written = batch(lines(0..5), tools(0..2)).until_written().await;
            assert_eq!(written, Some(so_far(5, 2)), "{}", test.engine);

            let mut rest =
                TranscriptWriter { lines: lines(0..7), tool_calls: tools(0..3), written: so_far(2, 1), writing: None };
            rest.leave_to_commit();
            let mut tx = test.store.begin().await.expect("a transaction");
            assert!(rest.write_rest(&mut tx, call, token).await.expect("written"), "{}", test.engine);
            tx.commit().await.expect("committed");
            let mut conn = test.store.read().await.expect("a connection");
            let written = calls::transcript(&mut conn, row.tenant(), call, 0).await.expect("read");
            let written: Vec<i64> = written.into_iter().map(|entry| entry.start_ms).collect();
            assert_eq!(written, (0..7).collect::<Vec<_>>(), "{}", test.engine);
            let written = tool_calls::list(&mut conn, row.tenant(), call, 1).await.expect("read");
            let written: Vec<i64> = written.into_iter().map(|entry| entry.start_ms).collect();
            assert_eq!(written, [1, 2], "{}", test.engine);

            let other = TranscriptBatch { token: token - 1, ..batch(lines(0..8), Vec::new()) };
            assert_eq!(other.until_written().await, None, "{}: the lease is lost", test.engine);
        }
    }
}
