//! Decisions about turns and the reasons for them, to explain why the agent spoke or fell silent. They contain nothing that was said.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cascade::evidence::Found;
use crate::Timestamp;

/// Kind of decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// The caller's turn is over.
    TurnEnded,
    /// The caller continues a turn that was judged to be over: the agent stops, and responds once to all of it.
    TurnReopened,
    /// The caller interrupts the agent.
    Interruption,
    /// The sound was no interruption: the agent resumes.
    FalseInterruption,
    /// Words over the agent that need no response.
    Backchannel,
    /// The LLM is asked before the turn is over.
    Speculation,
    /// The caller went on: the speculative response is discarded.
    SpeculationDiscarded,
    /// A machine was reported, but the caller is a person: they were answered, or the carrier says so. The conversation continues.
    MachineIgnored,
}

/// What ended a caller's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnEndedBy {
    /// As much silence as the evidence asked for.
    Silence,
    /// The STT, which decides about turns itself.
    Stt,
    /// Keys: enough of them, the one that ends them, or a pause after them.
    Keys,
}

/// A decision about a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// When it was made.
    pub at: Timestamp,
    /// What was decided.
    pub kind: DecisionKind,
    /// What ended the turn, if it is over.
    pub ended_by: Option<TurnEndedBy>,
    /// How long the caller had been silent; `None` while they spoke.
    pub silence: Option<Duration>,
    /// How much silence was needed, if that ended the turn.
    pub silence_needed: Option<Duration>,
    /// The probability of the end of the turn, given the evidence.
    pub probability: Option<f32>,
    /// The evidence.
    pub evidence: Found,
}

impl Decision {
    /// Creates a decision that was made without weighing evidence for an end of turn.
    pub(super) fn new(at: Timestamp, kind: DecisionKind) -> Self {
        Self {
            at,
            kind,
            ended_by: None,
            silence: None,
            silence_needed: None,
            probability: None,
            evidence: Found::new(),
        }
    }
}
