//! How each of the caller's turns in a transcript ended, by the decisions of the call.

use serde::Serialize;
use switchhook_core::conversation::{DecisionKind, TurnEndedBy};
use switchhook_core::id::{CallId, TenantId};
use utoipa::ToSchema;

use super::TranscriptEntry;
use super::decisions::{self, DecisionEntry, EvidenceEntry, EvidenceName};
use crate::store::Conn;

/// How a turn of the caller ended.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TurnEntry {
    /// Caller silence; `null` if they spoke.
    pub waited_ms: Option<i64>,
    /// What ended a caller's turn.
    pub ended_by: TurnEndedBy,
    /// Evidence for (positive weight) or against the end; empty unless silence ended it.
    pub because: Vec<WitnessEntry>,
    /// Model requests before the turn was over.
    pub speculations: usize,
}

/// Evidence about the end of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WitnessEntry {
    /// Kind.
    #[schema(value_type = EvidenceName)]
    pub witness: String,
    /// Amount: 1, or a share.
    pub value: f32,
    /// Log odds of an end per unit of `value`.
    #[schema(example = -2.6)]
    pub weight: f32,
}

impl From<&EvidenceEntry> for WitnessEntry {
    fn from(EvidenceEntry { name, value, weight }: &EvidenceEntry) -> Self {
        Self { witness: name.clone(), value: *value, weight: *weight }
    }
}

/// Adds to the caller's lines how their turns ended. Decisions are written with the end of a call, so this does nothing before.
///
/// # Errors
/// When the database fails.
pub async fn explain(
    conn: &mut Conn,
    tenant: TenantId,
    call: CallId,
    lines: &mut [TranscriptEntry],
) -> Result<(), sqlx::Error> {
    if lines.iter().any(|line| line.role == CALLER) {
        add_turns(lines, &decisions::list(conn, tenant, call).await?);
    }
    Ok(())
}

const CALLER: &str = "caller";

fn add_turns(lines: &mut [TranscriptEntry], decisions: &[DecisionEntry]) {
    let mut until = i64::MAX;
    for line in lines.iter_mut().rev().filter(|line| line.role == CALLER) {
        let said: Vec<_> = decisions.iter().filter(|made| (line.start_ms..until).contains(&made.at_ms)).collect();
        line.turn = turn(&said, line.end_ms);
        until = line.start_ms;
    }
}

/// Returns how a turn ended whose last word ended at `end_ms`, by the decisions from its start to that of the next one.
fn turn(decisions: &[&DecisionEntry], end_ms: i64) -> Option<TurnEntry> {
    let is_end = |at: &usize| decisions[*at].kind == DecisionKind::TurnEnded && decisions[*at].at_ms >= end_ms;
    let first = (0..decisions.len()).find(is_end)?;
    // Text that arrives late reopens a turn without another word; noise after a turn may end without a line of its own.
    let reopened = decisions.iter().rposition(|made| made.kind == DecisionKind::TurnReopened);
    let last = (reopened.unwrap_or(0).max(first)..decisions.len()).find(is_end).unwrap_or(first);
    let end = decisions[last];
    Some(TurnEntry {
        waited_ms: end.silence_ms,
        ended_by: end.ended_by?,
        because: end.evidence.iter().map(WitnessEntry::from).collect(),
        speculations: decisions[..last].iter().filter(|made| made.kind == DecisionKind::Speculation).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(role: &str, start_ms: i64, end_ms: i64) -> TranscriptEntry {
        TranscriptEntry {
            role: role.to_owned(),
            text: String::new(),
            start_ms,
            end_ms,
            interrupted: false,
            latency_ms: None,
            stages: None,
            turn: None,
        }
    }

    fn decision(at_ms: i64, kind: DecisionKind, ended_by: Option<TurnEndedBy>) -> DecisionEntry {
        DecisionEntry {
            at_ms,
            kind,
            ended_by,
            silence_ms: Some(400),
            silence_needed_ms: None,
            probability: None,
            evidence: vec![EvidenceEntry { name: "answer".to_owned(), value: 1.0, weight: 1.4 }],
        }
    }

    fn ended(at_ms: i64, by: TurnEndedBy) -> DecisionEntry {
        decision(at_ms, DecisionKind::TurnEnded, Some(by))
    }

    /// Returns what ended each caller's turn and the speculations before it.
    fn ends(lines: &mut [TranscriptEntry], decisions: &[DecisionEntry]) -> Vec<Option<(TurnEndedBy, usize)>> {
        add_turns(lines, decisions);
        assert!(lines.iter().all(|line| line.role == CALLER || line.turn.is_none()));
        let callers = lines.iter().filter(|line| line.role == CALLER);
        callers.map(|line| line.turn.as_ref().map(|turn| (turn.ended_by, turn.speculations))).collect()
    }

    #[test]
    fn each_turn_has_its_own_end() {
        let mut lines = [line("caller", 1_000, 2_000), line("agent", 2_600, 4_000), line("caller", 5_000, 6_000)];
        let decisions = [
            decision(2_200, DecisionKind::Speculation, None),
            ended(2_400, TurnEndedBy::Silence),
            ended(6_000, TurnEndedBy::Stt),
        ];
        let found = ends(&mut lines, &decisions);
        assert_eq!(found, [Some((TurnEndedBy::Silence, 1)), Some((TurnEndedBy::Stt, 0))]);
        let turn = lines[0].turn.as_ref().expect("it ended");
        assert_eq!((turn.waited_ms, turn.because[0].witness.as_str()), (Some(400), "answer"));
    }

    #[test]
    fn reopened_turn_ends_with_its_last_decision() {
        let mut lines = [line("caller", 1_000, 4_000)];
        let decisions = [
            decision(2_200, DecisionKind::Speculation, None),
            ended(2_400, TurnEndedBy::Silence),
            decision(3_000, DecisionKind::TurnReopened, None),
            ended(4_000, TurnEndedBy::Keys),
        ];
        assert_eq!(ends(&mut lines, &decisions), [Some((TurnEndedBy::Keys, 1))]);
    }

    #[test]
    fn late_text_ends_a_turn_again_and_noise_after_it_does_not() {
        let reopened = decision(2_600, DecisionKind::TurnReopened, None);
        let decisions = [ended(2_400, TurnEndedBy::Silence), reopened, ended(2_700, TurnEndedBy::Stt)];
        assert_eq!(ends(&mut [line("caller", 1_000, 2_000)], &decisions), [Some((TurnEndedBy::Stt, 0))]);
        let decisions = [ended(2_400, TurnEndedBy::Silence), ended(9_000, TurnEndedBy::Stt)];
        assert_eq!(ends(&mut [line("caller", 1_000, 2_000)], &decisions), [Some((TurnEndedBy::Silence, 0))]);
    }

    #[test]
    fn a_turn_without_a_decision_or_from_before_ends_were_noted_has_no_explanation() {
        assert_eq!(ends(&mut [line("caller", 1_000, 2_000)], &[]), [None]);
        let before = decision(2_400, DecisionKind::TurnEnded, None);
        assert_eq!(ends(&mut [line("caller", 1_000, 2_000)], &[before]), [None]);
    }
}
