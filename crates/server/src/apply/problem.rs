//! Problems, and where they are.

use std::fmt;
use std::sync::Arc;

use crate::http::error::ApiError;

/// A value in a file: `agents/reception.yaml: agents[0].llm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    file: Arc<str>,
    path: String,
}

/// An error in a file, as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    place: Place,
    message: String,
}

impl Place {
    /// A whole file.
    pub(super) fn file(name: impl Into<Arc<str>>) -> Self {
        Self { file: name.into(), path: String::new() }
    }

    /// Returns the place at `path` below it.
    pub(super) fn below(&self, path: &str) -> Self {
        let between = if self.path.is_empty() || path.is_empty() { "" } else { "." };
        Self { file: self.file.clone(), path: format!("{}{between}{path}", self.path) }
    }

    /// An error here.
    pub(super) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { place: self.clone(), message: message.into() }
    }

    /// The errors of the API in an entry that stands here.
    pub(super) fn problems(&self, error: &ApiError) -> Vec<Problem> {
        let body = error.body(None);
        if body.errors.is_empty() {
            return vec![self.problem(body.detail.trim_end_matches('.'))];
        }
        let problem = |path: &str, message: &str| self.below(&as_in_files(path)).problem(advice(message));
        body.errors.iter().map(|error| problem(&error.path, &error.message)).collect()
    }
}

/// Returns a warning of the API as files would say it, where connections have names.
pub(super) fn warning_in_files(words: &str) -> String {
    const WORDS: [(&str, &str); 4] = [
        ("with POST /v1/connections and set", "in a file and set"),
        ("connection_id to its id", "connection to its name"),
        ("connection_id to the id of", "connection to the name of"),
        ("connection_id", "connection"),
    ];
    WORDS.iter().fold(words.to_owned(), |words, (api, files)| words.replace(api, files))
}

/// The path of a field in files, where names stand for ids.
fn as_in_files(path: &str) -> String {
    match path {
        "inbound_agent_id" => "agent".to_owned(),
        path => {
            path.strip_suffix("connection_id").map_or_else(|| path.to_owned(), |above| format!("{above}connection"))
        }
    }
}

/// Texts need quotes where a parser takes them for something else.
fn advice(message: &str) -> String {
    if message == "must be a string" { "must be a string: put it in quotes".to_owned() } else { message.to_owned() }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{between}{}", printable(&self.file), printable(&self.path))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, printable(&self.message))
    }
}

/// A text without what would move the cursor.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|letter| if letter.is_control() { letter.escape_default().collect() } else { vec![letter] })
        .collect()
}

#[cfg(test)]
mod tests {
    use switchhook_core::agent::FieldError;

    use super::*;

    #[test]
    fn warnings_name_connections_as_files_do() {
        let api = "set llm.connection_id to the id of a connection to a language model (Hosted)";
        let files = "set llm.connection to the name of a connection to a language model (Hosted)";
        assert_eq!(warning_in_files(api), files);
        assert_eq!(warning_in_files("tools.0.connection_id is odd"), "tools.0.connection is odd");
    }

    #[test]
    fn the_errors_of_the_api_are_told_in_the_words_of_files() {
        let place = Place::file("a/b.yaml").below("agents[0]");
        let error = ApiError::invalid_fields(vec![
            FieldError::new("llm.fallbacks.1.connection_id", "is required"),
            FieldError::new("name", "must be a string"),
        ]);
        let texts: Vec<String> = place.problems(&error).iter().map(ToString::to_string).collect();
        let expected = [
            "a/b.yaml: agents[0].llm.fallbacks.1.connection: is required",
            "a/b.yaml: agents[0].name: must be a string: put it in quotes",
        ];
        assert_eq!(texts, expected);
        let detail = place.problems(&ApiError::conflict("name_taken", "An agent named \"A\u{1b}\" already exists."));
        assert_eq!(detail[0].to_string(), "a/b.yaml: agents[0]: An agent named \"A\\u{1b}\" already exists");
    }
}
