//! Redaction and retention of a call's words.

use serde::{Deserialize, Serialize};

use crate::privacy::Redact;

/// Redaction and retention.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Privacy {
    /// What to redact from everything stored about a conversation, and from its events. The agent hears the original; recordings keep it.
    pub redact: Vec<Redact>,
    /// Days after the call until its words are deleted; `null` keeps them.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    pub retention_days: Option<u32>,
}
