//! Telling somebody how far it has come.

/// Where the work on a model stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The package comes in.
    Download,
    /// Its files are taken out, checked and converted.
    Unpack,
    /// The model is in place.
    Done,
}

/// Somebody who wants to know. Called from the thread that pulls, several times a second while bytes come in.
pub trait Progress {
    /// `done` of `total` bytes of this stage of model `id`.
    fn report(&self, id: &str, stage: Stage, done: u64, total: u64);
}

/// Nobody wants to know.
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _: &str, _: Stage, _: u64, _: u64) {}
}
