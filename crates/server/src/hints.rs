//! Wake-ups between parts of the process. A hint says that there may be work; the rows are the truth, so a lost hint
//! costs a moment and a needless one a look.

use std::sync::Arc;

use tokio::sync::Notify;

/// Whom to wake. Clones wake the same.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Calls to dial or to end.
    pub calls: Arc<Notify>,
    /// Deliveries to send.
    pub webhooks: Arc<Notify>,
}
