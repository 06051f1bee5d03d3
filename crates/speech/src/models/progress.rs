//! Progress reports.

/// The stage of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Downloading the package.
    Download,
    /// Extracting, checking and converting its files.
    Unpack,
    /// The model is installed.
    Done,
}

/// Receives progress. Called from the pulling thread, several times per second during a download.
pub trait Progress {
    /// Reports `done` of `total` bytes of this stage of model `id`.
    fn report(&self, id: &str, stage: Stage, done: u64, total: u64);
}

/// Ignores progress.
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&self, _: &str, _: Stage, _: u64, _: u64) {}
}
