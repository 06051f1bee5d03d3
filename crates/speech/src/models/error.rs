//! Errors of models, each with its fix.

use std::io;
use std::path::{Path, PathBuf};

use super::convert::ConvertError;

/// Why a model could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// No such model.
    #[error("unknown model {id}; run `switchhook models list` for the available ones")]
    Unknown {
        /// The requested id.
        id: String,
    },
    /// Neither pip nor uv is installed.
    #[error(
        "neither pip nor uvx was found: install Python's pip or uv, or download {wheel} elsewhere and run `switchhook models pull --from FILE.whl`"
    )]
    NoPip {
        /// The required file.
        wheel: &'static str,
    },
    /// pip failed.
    #[error(
        "pip could not download {package} {version} ({message}); download {wheel} elsewhere and run `switchhook models pull --from FILE.whl`"
    )]
    PipFailed {
        /// The package.
        package: &'static str,
        /// Its version.
        version: &'static str,
        /// pip's last error.
        message: String,
        /// The required file.
        wheel: &'static str,
    },
    /// pip timed out.
    #[error(
        "pip did not download {wheel} within {seconds} s; try again, or download it elsewhere and run `switchhook models pull --from FILE.whl`"
    )]
    PipTimeout {
        /// The required file.
        wheel: &'static str,
        /// The timeout.
        seconds: u64,
    },
    /// A file given by hand is not a known package.
    #[error("this version does not use the package {path} (SHA-256 {sha256}); use one of: {wanted}")]
    WrongWheel {
        /// The given file.
        path: PathBuf,
        /// Its hash.
        sha256: String,
        /// The known packages.
        wanted: String,
    },
    /// A file from a wheel has an unexpected hash.
    #[error("{member} in {wheel} has an unexpected hash; download the package again")]
    WrongMember {
        /// The wheel.
        wheel: &'static str,
        /// The file in it.
        member: &'static str,
    },
    /// A wheel could not be unpacked.
    #[error("could not unpack {wheel} ({message}); download it again")]
    Archive {
        /// The wheel.
        wheel: &'static str,
        /// The unpacker's error.
        message: String,
    },
    /// A model file could not be converted.
    #[error("could not convert {member}: {source}")]
    Convert {
        /// The file.
        member: &'static str,
        /// Why.
        source: ConvertError,
    },
    /// A file system error.
    #[error("{path}: {source}; check that the data directory is writable and has 200 MB free")]
    Io {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl ModelError {
    /// Returns a `map_err` function for an operation on `path`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
