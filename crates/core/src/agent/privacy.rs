//! What is kept of a call's words, and for how long.

use serde::{Deserialize, Serialize};

use crate::privacy::Redact;

/// What is kept of a call's words, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Privacy {
    /// What is taken out of everything that is written down of a conversation, and of the events that tell of it. The
    /// agent itself hears it, and a recording is not changed.
    pub redact: Vec<Redact>,
    /// Days after the end of the call after which its words are deleted, 1 to 3650; `null` keeps them.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3650))]
    pub retention_days: Option<u32>,
}
