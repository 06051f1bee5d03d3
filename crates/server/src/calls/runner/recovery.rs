//! Recovery of a conversation whose node died: its transcript, its tools, and the recording as far as it was written.

use std::time::Duration;

use serde_json::json;
use switchhook_providers::Usage;
use tokio::time::timeout;

use super::{Runner, analysis};
use crate::recordings::Recordings;
use crate::store::calls::tool_calls::{self, ToolCallEntry};
use crate::store::calls::{self, TranscriptEntry, WrapUp};

/// The timeout for reading the transcript: the caller may still be on the line.
const TRANSCRIPT_TIMEOUT: Duration = Duration::from_secs(3);

impl Runner {
    /// Collects what was stored of it. What cannot be read is left out: the call ends either way.
    pub(super) async fn recover_conversation(&mut self) {
        let said = timeout(TRANSCRIPT_TIMEOUT, self.said()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        let said = said.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read the transcript of an orphaned call");
            Vec::new()
        });
        let tools = timeout(TRANSCRIPT_TIMEOUT, self.tools()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        match tools {
            Ok((ended, requested)) => self.transcript.recover(ended, requested),
            Err(error) => tracing::warn!(%error, "could not read the tools of an orphaned call"),
        }
        let recordings = Recordings::below(&self.context.config.data_dir);
        let recording = recordings.of(self.row.tenant_id, self.row.id).repaired().await;
        // The node may have died during the analysis of a conversation that had ended normally.
        let summary = Some(analysis::extract_of_transcript(&said));
        let usage = Some(json!(self.usage_at_least(&said)));
        let turns = answered_turns(&said);
        self.wrap_up = Some(Box::new(WrapUp { turns, summary, usage, recording, ..WrapUp::default() }));
    }

    /// Returns the least that the conversation can have used, judging by its transcript. Zero if it has none.
    fn usage_at_least(&self, said: &[TranscriptEntry]) -> Usage {
        let Some(plan) = self.plan.as_ref().ok().filter(|_| self.row.answered_at.is_some()) else {
            return Usage::default();
        };
        let length_ms = said.iter().map(|line| line.end_ms).max().unwrap_or(0);
        let length = Duration::from_millis(u64::try_from(length_ms).unwrap_or(0));
        // A speech-to-speech model charges for its speech by tokens.
        let synthesised = said.iter().filter(|line| line.role == "agent" && plan.realtime.is_empty());
        let characters: usize = synthesised.map(|line| line.text.chars().count()).sum();
        plan.pipeline.at_least(length, u64::try_from(characters).unwrap_or(u64::MAX))
    }

    async fn said(&self) -> Result<Vec<TranscriptEntry>, sqlx::Error> {
        let mut conn = self.context.store.read().await?;
        calls::transcript(&mut conn, self.row.tenant(), self.row.call_id(), 0).await
    }

    /// Reads the tools that ended, and those that were requested and did not.
    async fn tools(&self) -> Result<(Vec<ToolCallEntry>, Vec<ToolCallEntry>), sqlx::Error> {
        let (tenant, call) = (self.row.tenant(), self.row.call_id());
        let mut conn = self.context.store.read().await?;
        let ended = tool_calls::list(&mut conn, tenant, call, 0).await?;
        Ok((ended, tool_calls::requested(&mut conn, tenant, call).await?))
    }
}

/// Returns how often the agent responded to the caller.
pub(super) fn answered_turns(said: &[TranscriptEntry]) -> i64 {
    let answers = said.windows(2).filter(|pair| pair[0].role == "caller" && pair[1].role == "agent");
    i64::try_from(answers.count()).unwrap_or(i64::MAX)
}
