//! Errors of local speech models.

use std::io;
use std::path::{Path, PathBuf};

/// Why local speech failed. Never contains spoken text.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    /// A model's file cannot be read.
    #[error("{path}: {source}; run `switchhook models pull`")]
    File {
        /// The file.
        path: PathBuf,
        /// The file system's error.
        source: io::Error,
    },
    /// A model's file does not have the expected content.
    #[error("{path}: {message}; run `switchhook models verify`")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A model failed while running.
    #[error("the {model} model failed: {message}")]
    Run {
        /// The model.
        model: &'static str,
        /// The runtime's error.
        message: String,
    },
    /// The job was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl SpeechError {
    /// Returns a `map_err` function for a file that cannot be parsed.
    pub(super) fn damaged<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> Self + '_ {
        move |error| Self::Damaged { path: path.to_owned(), message: error.to_string() }
    }

    /// Returns a `map_err` function for a file that cannot be read.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// Returns a `map_err` function for a model run.
    pub fn run<E: std::fmt::Display>(model: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Run { model, message: error.to_string() }
    }
}
