//! The resources of a node while it is attacked, and afterwards.

use std::fmt;
use std::time::{Duration, Instant};

use crate::support::Node;

/// After the end of an attack.
const AFTER: Duration = Duration::from_secs(10);

/// Begun when everything is set up, right before the attack.
pub(crate) struct Watch<'a> {
    node: &'a Node,
    before_mb: f64,
    share: Share,
}

/// One attack, measured.
pub(crate) struct Row {
    before_mb: f64,
    peak_mb: f64,
    after_mb: f64,
    seconds: f64,
    /// Of one core.
    cpu_percent: f64,
    cpu_percent_after: f64,
    answered: String,
}

/// Processor time from a moment on.
struct Share {
    cpu_seconds: f64,
    since: Instant,
}

impl Share {
    fn begin(node: &Node) -> Self {
        Self { cpu_seconds: node.cpu_seconds(), since: Instant::now() }
    }

    fn percent(&self, node: &Node) -> f64 {
        (node.cpu_seconds() - self.cpu_seconds) / self.since.elapsed().as_secs_f64() * 100.0
    }
}

impl<'a> Watch<'a> {
    pub(crate) fn begin(node: &'a Node) -> anyhow::Result<Self> {
        node.reset_peak()?;
        Ok(Self { node, before_mb: node.resident_mb(), share: Share::begin(node) })
    }

    /// The attack is over; waits to see what stays. The node must still be ready.
    pub(crate) async fn end(self, answered: String) -> anyhow::Result<Row> {
        let Self { node, before_mb, share } = self;
        let (peak_mb, cpu_percent, seconds) =
            (node.peak_mb(), share.percent(node), share.since.elapsed().as_secs_f64());
        let after = Share::begin(node);
        tokio::time::sleep(AFTER).await;
        let (after_mb, cpu_percent_after) = (node.resident_mb(), after.percent(node));
        tokio::time::timeout(AFTER, node.ready()).await??;
        Ok(Row { before_mb, peak_mb, after_mb, seconds, cpu_percent, cpu_percent_after, answered })
    }
}

impl Row {
    pub(crate) const HEADER: &str = "| attack | before | peak | 10 s later | lasted | share of a core | in the 10 s after | answered |\n\
                                     |---|---|---|---|---|---|---|---|";
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} MB | {:.1} MB | {:.1} MB | {:.1} s | {:.0} % | {:.0} % | {}",
            self.before_mb,
            self.peak_mb,
            self.after_mb,
            self.seconds,
            self.cpu_percent,
            self.cpu_percent_after,
            self.answered
        )
    }
}
