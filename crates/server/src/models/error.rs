//! What can go wrong with models, each with what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use super::convert::ConvertError;

/// Why a model could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// No such model.
    #[error("unknown model {id}; run `switchhook models list` for the available ones")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// No pip on this machine.
    #[error(
        "pip was not found: install Python's pip, or fetch {wheel} elsewhere and run `switchhook models pull --from FILE.whl`"
    )]
    NoPip {
        /// The file that is needed.
        wheel: &'static str,
    },
    /// pip said no.
    #[error(
        "pip could not fetch {package} {version} ({words}); fetch {wheel} elsewhere and run `switchhook models pull --from FILE.whl`"
    )]
    PipFailed {
        /// The package.
        package: &'static str,
        /// Its version.
        version: &'static str,
        /// pip's own last words.
        words: String,
        /// The file that is needed.
        wheel: &'static str,
    },
    /// pip took too long.
    #[error(
        "pip had not fetched {wheel} after {seconds} s; try again, or fetch it elsewhere and run `switchhook models pull --from FILE.whl`"
    )]
    PipTimeout {
        /// The file that is needed.
        wheel: &'static str,
        /// How long we waited.
        seconds: u64,
    },
    /// A file given by hand is none of ours.
    #[error("this version does not use the package {path} (SHA-256 {sha256}); use one of: {wanted}")]
    WrongWheel {
        /// What was given.
        path: PathBuf,
        /// Its hash.
        sha256: String,
        /// What would be right.
        wanted: String,
    },
    /// A file from a wheel is not what it should be.
    #[error("{member} in {wheel} has an unexpected hash; download the package again")]
    WrongMember {
        /// The wheel.
        wheel: &'static str,
        /// The file in it.
        member: &'static str,
    },
    /// A wheel cannot be unpacked.
    #[error("could not unpack {wheel} ({words}); download it again")]
    Archive {
        /// The wheel.
        wheel: &'static str,
        /// What the unpacker says.
        words: String,
    },
    /// A model file cannot be converted.
    #[error("could not convert {member}: {source}")]
    Convert {
        /// The file.
        member: &'static str,
        /// Why.
        source: ConvertError,
    },
    /// The file system said no.
    #[error("{path}: {source}; check that the data directory is writable and has 200 MB free")]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl ModelError {
    /// For `map_err` on something done to `path`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
