//! Writes the transcript and the tool calls to the database: in the background, in order, and retrying until they are written.

use std::time::Duration;

use switchhook_core::id::CallId;
use tokio::sync::{oneshot, watch};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::talking::TRANSFER_UNKNOWN;
use super::{Runner, TaskOutcome};
use crate::store::calls::tool_calls::{self, ToolCallEntry};
use crate::store::calls::{self, TranscriptEntry};
use crate::store::{self, Store, Symptom, Tx};

/// The pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// How long a request to the carrier waits until the tool call that it is for is written.
const REQUEST_WRITTEN: Duration = Duration::from_secs(5);
/// The number of unwritten lines that is logged: the database is slow or unavailable.
const MANY: usize = 100;

/// The transcript of one conversation. It has no more lines than are spoken within the longest duration of a call.
#[derive(Default)]
pub(super) struct TranscriptWriter {
    lines: Vec<TranscriptEntry>,
    /// The tool calls that ended. There are no more than a model makes in that time.
    tool_calls: Vec<ToolCallEntry>,
    /// The tool calls that requested something of the carrier or a service: written before it is asked, so that they are known after a crash.
    requests: Vec<ToolCallEntry>,
    /// Those that the runner of a dead node requested and of which it stored no end.
    orphaned: Vec<ToolCallEntry>,
    /// The number of lines and tool calls known to be written.
    written: Written,
    /// The number of requests known to be written, for what waits for that.
    requests_written: watch::Sender<usize>,
    writing: Option<AbortOnDropHandle<()>>,
}

/// The number of written lines, tool calls and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    lines: usize,
    tool_calls: usize,
    requests: usize,
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

    /// Adds a tool call for which the carrier or a service is about to be asked. It says what is true of it if its end never follows.
    pub(super) fn add_request(&mut self, tool_call: ToolCallEntry) {
        self.requests.push(tool_call);
    }

    /// Waits until what was requested so far is written. Returns `false` if that takes too long or the runner is gone.
    pub(super) fn requests_written(&self) -> impl Future<Output = bool> + Send + use<> {
        let (count, mut written) = (self.requests.len(), self.requests_written.subscribe());
        async move {
            let is_written = async { written.wait_for(|written| *written >= count).await.is_ok() };
            tokio::time::timeout(REQUEST_WRITTEN, is_written).await.unwrap_or(false)
        }
    }

    /// Takes over what the runner of a dead node has stored: the tool calls that ended, and those that were only requested.
    pub(super) fn recover(&mut self, ended: Vec<ToolCallEntry>, requested: Vec<ToolCallEntry>) {
        self.written.tool_calls = ended.len();
        (self.tool_calls, self.orphaned) = (ended, requested);
    }

    /// Ends the tool calls of a dead node: each has failed as far as is known, except transfers if the caller was transferred.
    pub(super) fn end_orphaned(&mut self, is_transferred: bool) {
        for mut tool_call in std::mem::take(&mut self.orphaned) {
            // A transfer is known by what was stored of it.
            if is_transferred && tool_call.error.as_deref() == Some(TRANSFER_UNKNOWN) {
                (tool_call.status, tool_call.error) = ("succeeded".to_owned(), None);
            }
            self.tool_calls.push(tool_call);
        }
    }

    /// Returns the number of lines, tool calls and requests.
    fn all(&self) -> Written {
        Written { lines: self.lines.len(), tool_calls: self.tool_calls.len(), requests: self.requests.len() }
    }

    /// Stops writing in the background: the commit that ends the call writes the rest.
    pub(super) fn leave_to_commit(&mut self) {
        self.writing = None;
    }

    /// Writes the rest under the lease. `false` means that the lease is lost.
    pub(super) async fn write_rest(&self, tx: &mut Tx, call: CallId, token: i64) -> Result<bool, sqlx::Error> {
        self.unwritten().write(tx, call, token, self.written).await
    }

    fn unwritten(&self) -> Unwritten<'_> {
        let Written { lines, tool_calls, requests } = self.written;
        Unwritten {
            lines: &self.lines[lines..],
            tool_calls: &self.tool_calls[tool_calls..],
            requests: &self.requests[requests..],
        }
    }
}

impl Runner {
    /// Starts to write what is unwritten, unless a write is in progress.
    pub(super) fn write_transcript(&mut self) {
        let (from, unwritten) = (self.transcript.written, self.transcript.unwritten());
        if self.transcript.writing.is_some() || self.transcript.all() == from {
            return;
        }
        let batch = TranscriptBatch {
            store: self.context.store.clone(),
            call: self.row.call_id(),
            token: self.row.lease_token,
            from,
            lines: unwritten.lines.to_vec(),
            tool_calls: unwritten.tool_calls.to_vec(),
            requests: unwritten.requests.to_vec(),
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

    /// Writes that a tool call is about to request something, and tells the tool once that is written.
    pub(super) fn write_request(&mut self, tool_call: ToolCallEntry, stored: Option<oneshot::Sender<()>>) {
        self.transcript.add_request(tool_call);
        self.write_transcript();
        let Some(stored) = stored else { return };
        let written = self.transcript.requests_written();
        self.start(async move {
            if written.await {
                // The tool may not wait any longer.
                let _ = stored.send(());
            }
            None
        });
    }

    /// Records what was written, and continues if there is more by now.
    pub(super) fn transcript_written(&mut self, written: Written) {
        self.transcript.written = written;
        self.transcript.writing = None;
        self.transcript.requests_written.send_replace(written.requests);
        self.write_transcript();
    }
}

/// Rows that are written together.
struct Unwritten<'a> {
    lines: &'a [TranscriptEntry],
    tool_calls: &'a [ToolCallEntry],
    requests: &'a [ToolCallEntry],
}

impl Unwritten<'_> {
    /// Writes it: it follows after `from`. `false` means that the lease is lost.
    async fn write(&self, tx: &mut Tx, call: CallId, token: i64, from: Written) -> Result<bool, sqlx::Error> {
        let Self { lines, tool_calls, requests } = *self;
        let owned = lines.is_empty() || calls::add_transcript_for_runner(tx, call, token, from.lines, lines).await?;
        // Requests first: a tool call that has ended meanwhile deletes its own.
        Ok(owned
            && tool_calls::request_for_runner(tx, call, token, from.requests, requests).await?
            && tool_calls::add_for_runner(tx, call, token, from.tool_calls, tool_calls).await?)
    }
}

/// Lines and tool calls that are written together.
struct TranscriptBatch {
    store: Store,
    call: CallId,
    token: i64,
    from: Written,
    lines: Vec<TranscriptEntry>,
    tool_calls: Vec<ToolCallEntry>,
    requests: Vec<ToolCallEntry>,
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
                        requests: self.from.requests + self.requests.len(),
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
        let all = Unwritten { lines: &self.lines, tool_calls: &self.tool_calls, requests: &self.requests };
        let owned = all.write(&mut tx, self.call, self.token, self.from).await?;
        tx.commit().await?;
        Ok(owned)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sqlx::types::Json;
    use switchhook_core::id::NodeId;

    use super::super::talking::TOOL_UNKNOWN;
    use super::*;
    use crate::store::testing::{TestStore, now, owned_call, stores};

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
            let so_far = |lines, tool_calls| Written { lines, tool_calls, requests: 0 };
            let batch = |lines, tool_calls| TranscriptBatch {
                store: test.store.clone(),
                call,
                token,
                from: Written::default(),
                lines,
                tool_calls,
                requests: Vec::new(),
            };
            let written = batch(lines(0..2), tools(0..1)).until_written().await;
            assert_eq!(written, Some(so_far(2, 1)), "{}", test.engine);
            // The writer does not know that those were written, and more was said meanwhile.
            let written = batch(lines(0..5), tools(0..2)).until_written().await;
            assert_eq!(written, Some(so_far(5, 2)), "{}", test.engine);

            let mut rest = TranscriptWriter {
                lines: lines(0..7),
                tool_calls: tools(0..3),
                written: so_far(2, 1),
                ..TranscriptWriter::default()
            };
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

    /// Requests three tools in a runner that dies: the first ends, the second is a transfer. Returns what is shown of the call once another
    /// runner has ended it.
    async fn after_a_death(test: &TestStore, is_transferred: bool) -> Vec<ToolCallEntry> {
        let row = owned_call(&test.store, NodeId::new(now(), [1 + u8::from(is_transferred); 10])).await;
        let (tenant, call, token) = (row.tenant(), row.call_id(), row.lease_token);
        let batch = |from, tool_calls, requests| TranscriptBatch {
            store: test.store.clone(),
            call,
            token,
            from,
            lines: Vec::new(),
            tool_calls,
            requests,
        };
        let request = |number: i64, error: &str| ToolCallEntry {
            status: "failed".to_owned(),
            error: Some(error.to_owned()),
            ..tools(number..number + 1).remove(0)
        };
        let (book, cancel) = (request(1, TOOL_UNKNOWN), request(3, TOOL_UNKNOWN));
        let transfer = request(2, TRANSFER_UNKNOWN);
        let first = batch(Written::default(), Vec::new(), vec![book]).until_written().await.expect("our lease");
        let second = batch(first, tools(1..2), vec![transfer, cancel]).until_written().await;
        assert_eq!(second, Some(Written { lines: 0, tool_calls: 1, requests: 3 }), "{}", test.engine);

        let mut conn = test.store.read().await.expect("a connection");
        let ended = tool_calls::list(&mut conn, tenant, call, 0).await.expect("read");
        assert_eq!(ended.len(), 1, "{}: what was only requested is not shown yet", test.engine);
        let requested = tool_calls::requested(&mut conn, tenant, call).await.expect("read");
        drop(conn);
        let mut writer = TranscriptWriter::default();
        writer.recover(ended, requested);
        writer.end_orphaned(is_transferred);
        let mut tx = test.store.begin().await.expect("a transaction");
        assert!(writer.write_rest(&mut tx, call, token).await.expect("written"), "{}", test.engine);
        tx.commit().await.expect("committed");
        let mut conn = test.store.read().await.expect("a connection");
        assert_eq!(tool_calls::requested(&mut conn, tenant, call).await.expect("read").len(), 0, "{}", test.engine);
        tool_calls::list(&mut conn, tenant, call, 0).await.expect("read")
    }

    #[tokio::test]
    async fn a_tool_that_was_requested_when_its_node_died_is_among_the_tools_of_the_call() {
        for test in stores().await {
            for (is_transferred, status) in [(false, "failed"), (true, "succeeded")] {
                let shown = after_a_death(&test, is_transferred).await;
                let shown: Vec<_> =
                    shown.iter().map(|it| (it.id.as_str(), it.status.as_str(), it.error.is_some())).collect();
                let expected =
                    [("call-1", "succeeded", false), ("call-2", status, !is_transferred), ("call-3", "failed", true)];
                assert_eq!(shown, expected, "{}", test.engine);
            }
        }
    }

    #[tokio::test]
    async fn a_request_is_waited_for_until_it_is_written() {
        let mut writer = TranscriptWriter::default();
        assert!(writer.requests_written().await, "nothing was requested");
        writer.add_request(tools(0..1).remove(0));
        let mut written = std::pin::pin!(writer.requests_written());
        assert!(tokio::time::timeout(Duration::from_millis(20), &mut written).await.is_err(), "it is not yet written");
        writer.requests_written.send_replace(1);
        assert!(written.await);
        writer.add_request(tools(1..2).remove(0));
        let written = writer.requests_written();
        drop(writer);
        assert!(!written.await, "its runner is gone");
    }
}
