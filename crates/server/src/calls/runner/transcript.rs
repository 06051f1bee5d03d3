//! What is said, on its way into the database: beside everything else that the runner does, in order, and again until it is written.

use std::time::Duration;

use switchhook_core::id::CallId;
use tokio_util::task::AbortOnDropHandle;

use super::{Runner, TaskOutcome};
use crate::store::calls::{self, TranscriptEntry};
use crate::store::{self, Store, Tx};

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(250);
/// More lines than these wait for a database that is slow or away.
const MANY: usize = 100;

/// The transcript of one conversation. It has no more lines than are spoken within the longest duration of a call.
#[derive(Default)]
pub(super) struct Transcript {
    lines: Vec<TranscriptEntry>,
    /// How many of them are known to be written.
    written: usize,
    writing: Option<AbortOnDropHandle<()>>,
}

impl Transcript {
    pub(super) fn lines(&self) -> &[TranscriptEntry] {
        &self.lines
    }

    pub(super) fn add(&mut self, line: TranscriptEntry) {
        self.lines.push(line);
        if self.lines.len() - self.written == MANY {
            tracing::warn!(waiting = MANY, "lines of the transcript wait to be written");
        }
    }

    /// Stops writing them beside everything else: the commit that ends the call writes the rest.
    pub(super) fn leave_to_commit(&mut self) {
        self.writing = None;
    }

    /// Writes the rest under the lease. `false` means that the lease is lost.
    pub(super) async fn write_rest(&self, tx: &mut Tx, call: CallId, token: i64) -> Result<bool, sqlx::Error> {
        let rest = &self.lines[self.written..];
        if rest.is_empty() {
            return Ok(true);
        }
        calls::add_transcript_for_runner(tx, call, token, self.written, rest).await
    }
}

impl Runner {
    /// Writes what waits, unless that is under way.
    pub(super) fn write_transcript(&mut self) {
        let Transcript { lines, written, writing } = &self.transcript;
        if writing.is_some() || lines.len() == *written {
            return;
        }
        let batch = Batch {
            store: self.context.store.clone(),
            call: self.row.call_id(),
            token: self.row.lease_token,
            from: *written,
            lines: lines[*written..].to_vec(),
        };
        let outcomes = self.outcomes.0.clone();
        self.transcript.writing = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            // A runner that has gone needs no outcome.
            let _ = outcomes.send(TaskOutcome::Transcript { written: batch.until_written().await });
        })));
    }

    /// So many lines are written, and there may be more by now.
    pub(super) fn transcript_written(&mut self, written: usize) {
        self.transcript.written = written;
        self.transcript.writing = None;
        self.write_transcript();
    }
}

/// Lines that are written together.
struct Batch {
    store: Store,
    call: CallId,
    token: i64,
    from: usize,
    lines: Vec<TranscriptEntry>,
}

impl Batch {
    /// How many lines of the call are written then; nothing when the lease is lost.
    async fn until_written(self) -> Option<usize> {
        loop {
            match store::in_time(self.write()).await {
                Ok(true) => return Some(self.from + self.lines.len()),
                Ok(false) => return None,
                Err(error) => {
                    tracing::warn!(%error, "lines of the transcript could not be written; trying again");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn write(&self) -> Result<bool, sqlx::Error> {
        let mut tx = self.store.begin().await?;
        let owned = calls::add_transcript_for_runner(&mut tx, self.call, self.token, self.from, &self.lines).await?;
        tx.commit().await?;
        Ok(owned)
    }
}

#[cfg(test)]
mod tests {
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
        };
        numbers.map(line).collect()
    }

    #[tokio::test]
    async fn every_line_is_written_once_however_often_the_answer_of_the_database_is_lost() {
        for test in stores().await {
            let row = owned_call(&test.store, NodeId::new(now(), [1; 10])).await;
            let (call, token) = (row.call_id(), row.lease_token);
            let batch = |from, lines| Batch { store: test.store.clone(), call, token, from, lines };
            assert_eq!(batch(0, lines(0..2)).until_written().await, Some(2), "{}", test.engine);
            // Nobody knows that those were written, and more was said meanwhile.
            assert_eq!(batch(0, lines(0..5)).until_written().await, Some(5), "{}", test.engine);

            let mut rest = Transcript { lines: lines(0..7), written: 2, writing: None };
            rest.leave_to_commit();
            let mut tx = test.store.begin().await.expect("a transaction");
            assert!(rest.write_rest(&mut tx, call, token).await.expect("written"), "{}", test.engine);
            tx.commit().await.expect("committed");
            let mut conn = test.store.read().await.expect("a connection");
            let written = calls::transcript(&mut conn, row.tenant(), call).await.expect("read");
            let written: Vec<i64> = written.into_iter().map(|entry| entry.start_ms).collect();
            assert_eq!(written, (0..7).collect::<Vec<_>>(), "{}", test.engine);

            let other = Batch { token: token - 1, ..batch(7, lines(7..8)) };
            assert_eq!(other.until_written().await, None, "{}: the lease is lost", test.engine);
        }
    }
}
