//! What can go wrong in a model.

use std::io;
use std::path::{Path, PathBuf};

/// Why local speech failed. Never holds spoken words.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    /// A model's file cannot be read.
    #[error("{path}: {source}; run `switchhook models pull`")]
    File {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// A model's file is not what it should be.
    #[error("{path}: {words}; run `switchhook models verify`")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        words: String,
    },
    /// A model failed while running.
    #[error("the {model} model failed: {words}")]
    Run {
        /// Which.
        model: &'static str,
        /// What the runtime said.
        words: String,
    },
    /// Somebody set the job's cancel flag.
    #[error("cancelled")]
    Cancelled,
}

impl SpeechError {
    /// For `map_err` on a file that cannot be made sense of.
    pub(super) fn damaged<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> Self + '_ {
        move |error| Self::Damaged { path: path.to_owned(), words: error.to_string() }
    }

    /// For `map_err` on a file that cannot be read.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// For `map_err` on a model's run.
    pub fn run<E: std::fmt::Display>(model: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Run { model, words: error.to_string() }
    }
}
