//! Validates values from models against JSON Schemas.
//!
//! Schemas come from customers and values from models: both are compiled and validated on separate threads, few at a time and
//! within a deadline, so that neither delays the audio of calls. Patterns are matched in linear time.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use switchhook_core::schema_limits::written_out;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Maximum problems to report.
const MAX_PROBLEMS: usize = 5;
/// Maximum characters of a problem, which may quote the value.
const PROBLEM: usize = 300;
/// Maximum size of a compiled pattern, and of all patterns of a schema, in bytes.
const PATTERN: usize = 256 * 1024;
const PATTERNS: usize = 512 * 1024;
/// Maximum length of a pattern, and of all patterns of a schema, in bytes. They are read before their compiled size is known.
const PATTERN_TEXT: usize = 4 * 1024;
const PATTERNS_TEXT: usize = 16 * 1024;
/// Maximum number of Unicode classes, and of classes where case is ignored, in all patterns of a schema: each may stand for 100,000
/// characters.
const LARGE_CLASSES: usize = 64;
/// Maximum size of a value, in bytes of JSON.
const VALUE: usize = 64 * 1024;
/// Deadline of compiling or validating, including the wait for a thread.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(2);
/// Concurrent validation threads on this node. A thread past its deadline counts until it is done.
const AT_A_TIME: usize = 4;

static THREADS: LazyLock<Threads> = LazyLock::new(Threads::new);

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Schema(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    source: Value,
    validator: Validator,
}

/// Why schemas were not compiled.
#[derive(Debug)]
pub enum CompileError {
    /// One of them is unusable.
    Unusable {
        /// The position of the first one that is.
        position: usize,
        /// The problem with it, as part of a sentence.
        reason: String,
    },
    /// They were not compiled in time. On a busy node that says nothing about them.
    Late,
}

impl Schema {
    /// Compiles schemas of any draft, all or none.
    ///
    /// # Errors
    /// When one is unusable, or they were not compiled in time.
    pub async fn compile(schemas: Vec<Value>) -> Result<Vec<Self>, CompileError> {
        if schemas.is_empty() {
            return Ok(Vec::new());
        }
        let compile = move || {
            let one = |(position, schema): (usize, &Value)| {
                Self::new(schema).map_err(|reason| CompileError::Unusable { position, reason })
            };
            schemas.iter().enumerate().map(one).collect()
        };
        THREADS.run(compile).await.unwrap_or(Err(CompileError::Late))
    }

    /// Compiles a schema on this thread.
    ///
    /// # Errors
    /// Its error, as part of a sentence.
    pub fn new(source: &Value) -> Result<Self, String> {
        let schema = written_out(source).map_err(|refusal| refusal.to_string())?;
        let patterns = patterns(&schema);
        check_texts(&patterns)?;
        let most = (PATTERNS / patterns.len().max(1)).min(PATTERN);
        let patterns = PatternOptions::regex().size_limit(most).dfa_size_limit(most);
        let validator = jsonschema::options().with_pattern_options(patterns).build(&schema);
        let compiled = |validator| Self(Arc::new(Compiled { source: source.clone(), validator }));
        validator.map(compiled).map_err(|error| {
            let place = error.instance_path.to_string();
            let words: String = error.to_string().chars().take(200).collect();
            let words = format!("is not a usable JSON Schema: {words}");
            if place.is_empty() { words } else { format!("{words} (at {place})") }
        })
    }

    /// Returns the original schema.
    #[must_use]
    pub fn source(&self) -> &Value {
        &self.0.source
    }

    /// Returns how many threads of this process are compiling schemas or validating values.
    #[must_use]
    pub fn under_way() -> usize {
        AT_A_TIME - THREADS.0.available_permits()
    }

    /// Validates `value`; returns its problems.
    pub async fn problems(&self, value: &Value) -> Vec<String> {
        let (schema, value) = (self.clone(), value.clone());
        let late = || vec!["this could not be validated in time: make it shorter".to_owned()];
        THREADS.run(move || schema.problems_at_once(&value)).await.unwrap_or_else(late)
    }

    /// Validates `value` on this thread; returns its problems.
    #[must_use]
    pub fn problems_at_once(&self, value: &Value) -> Vec<String> {
        if value.to_string().len() > VALUE {
            return vec![format!("this is longer than {VALUE} bytes of JSON")];
        }
        let described = |error: jsonschema::ValidationError<'_>| {
            let place = error.instance_path.to_string();
            let words = if place.is_empty() { error.to_string() } else { format!("{place}: {error}") };
            words.chars().take(PROBLEM).collect()
        };
        self.0.validator.iter_errors(value).take(MAX_PROBLEMS).map(described).collect()
    }
}

/// Returns the patterns of a schema: every text under such a name, even where it is not a pattern.
fn patterns(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(fields) => {
            let named = fields.get("patternProperties").and_then(Value::as_object);
            let named = named.into_iter().flat_map(|named| named.keys().map(String::as_str));
            let own = fields.get("pattern").and_then(Value::as_str);
            named.chain(own).chain(fields.values().flat_map(patterns)).collect()
        }
        Value::Array(values) => values.iter().flat_map(patterns).collect(),
        _ => Vec::new(),
    }
}

/// Refuses patterns that would take long to parse.
fn check_texts(patterns: &[&str]) -> Result<(), String> {
    let bytes: usize = patterns.iter().map(|pattern| pattern.len()).sum();
    if bytes > PATTERNS_TEXT || patterns.iter().any(|pattern| pattern.len() > PATTERN_TEXT) {
        return Err(format!("may have at most {PATTERN_TEXT} bytes in a pattern and {PATTERNS_TEXT} in all of them"));
    }
    if patterns.iter().copied().map(large_classes).sum::<usize>() > LARGE_CLASSES {
        return Err(format!(
            "may have at most {LARGE_CLASSES} Unicode classes (\\p), and classes where case is ignored, in its patterns"
        ));
    }
    Ok(())
}

fn large_classes(pattern: &str) -> usize {
    let unicode = pattern.matches("\\p").count() + pattern.matches("\\P").count();
    // Flags such as `(?i)` and `(?s-i:`; `(?P<` and `(?<` begin a group with a name.
    let flags =
        pattern.split("(?").skip(1).map(|rest| rest.split([')', ':', '<', '=', '!']).next().unwrap_or_default());
    let ignores_case = flags.into_iter().any(|flags| flags.contains('i'));
    let classes = ['[', '\\'].map(|begin| pattern.matches(begin).count()).iter().sum::<usize>();
    unicode + if ignores_case { classes } else { 0 }
}

/// The validation threads of this node.
struct Threads(Arc<Semaphore>);

impl Threads {
    fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_A_TIME)))
    }

    /// Runs `work` on a thread; returns `None` after the deadline.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let working = async {
            let place = self.0.clone().acquire_owned().await.ok()?;
            let working = tokio::task::spawn_blocking(move || {
                let _place = place;
                work()
            });
            working.await.ok()
        };
        timeout(SCHEMA_TIMEOUT, working).await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn values_are_held_against_schemas_and_schemas_against_reason() {
        let schema = json!({
            "type": "object", "required": ["day"],
            "properties": { "day": { "type": "string", "pattern": "^[A-Z]" }, "people": { "type": "integer" } },
        });
        let schema = Schema::compile(vec![schema]).await.expect("a schema").remove(0);
        assert!(schema.problems(&json!({ "day": "Friday" })).await.is_empty());
        let problems = schema.problems(&json!({ "people": "four" })).await;
        assert!(problems.len() == 2 && problems.iter().any(|problem| problem.starts_with("/people: ")), "{problems:?}");
        assert!(schema.problems(&json!({ "day": "A".repeat(VALUE) })).await[0].contains("longer than"));
        let refused = Schema::compile(vec![json!({}), json!({ "type": "table" })]).await.expect_err("no type");
        assert!(matches!(refused, CompileError::Unusable { position: 1, .. }), "the second: {refused:?}");
        assert!(Schema::new(&json!({ "$ref": "http://127.0.0.1:9/schema.json" })).is_err(), "nothing is fetched");
        assert!(Schema::new(&json!({ "$ref": "file:///etc/passwd" })).is_err());
        assert!(Schema::new(&json!({ "pattern": "(a+)+\\1" })).is_err(), "no pattern that could take for ever");
    }

    #[tokio::test(start_paused = true)]
    async fn where_no_thread_is_free_a_schema_is_late_and_not_refused() {
        let free = || THREADS.0.clone().try_acquire_owned().expect("a free thread");
        let held: Vec<_> = (0..AT_A_TIME).map(|_| free()).collect();
        let late = Schema::compile(vec![json!({ "type": "object" })]).await;
        assert!(matches!(late, Err(CompileError::Late)), "{late:?}");
        drop(held);
        assert!(Schema::compile(vec![json!({ "type": "object" })]).await.is_ok());
    }

    #[test]
    fn the_patterns_of_a_schema_have_one_budget() {
        let many = |pattern: &str| Schema::new(&json!({ "allOf": vec![json!({ "pattern": pattern }); 200] }));
        let large = "^[^a]{150}$";
        assert!(Schema::new(&json!({ "pattern": large })).is_ok(), "one may be large");
        assert!(many(large).is_err());
        assert!(many("^[0-9]{4}-[0-9]{2}$").is_ok());
    }

    #[test]
    fn patterns_that_take_long_to_read_are_refused_before_they_are_read() {
        let refused = |pattern: &str| Schema::new(&json!({ "pattern": pattern })).expect_err("it is too much");
        for (pattern, words) in [
            (format!("(?i){}", "[!-\u{1e943}]".repeat(300)), "case is ignored"),
            (format!("(?i){}", "[!-\u{1e943}]".repeat(3_000)), "bytes in a pattern"),
            (format!("(?s-i:(?xi){})", "[!-\u{1e943}]".repeat(300)), "case is ignored"),
            ("\\pL".repeat(1_000), "Unicode classes"),
            ("\\cA".repeat(8_000), "bytes in a pattern"),
        ] {
            assert!(refused(&pattern).contains(words), "{words}");
        }
        let many = vec![json!({ "pattern": "a".repeat(2_000) }); 9];
        assert!(Schema::new(&json!({ "allOf": many })).is_err());
        let mail = "^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}$";
        assert!(Schema::new(&json!({ "allOf": vec![json!({ "pattern": mail }); 100] })).is_ok());
        for fine in ["(?i)^(mon|tues|wednes)day$", "^\\p{L}+$", "(?P<island>[a-z])", "(?<in>[a-z]+)"] {
            assert!(Schema::new(&json!({ "pattern": fine })).is_ok(), "{fine}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_given_up_and_holds_its_thread_and_no_more() {
        let threads = Arc::new(Threads::new());
        let (release, held) = std::sync::mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let begin = |threads: &Arc<Threads>| {
            let (threads, held) = (threads.clone(), held.clone());
            tokio::spawn(async move { threads.run(move || held.lock().expect("whole").recv().is_ok()).await })
        };
        let stuck: Vec<_> = (0..AT_A_TIME).map(|_| begin(&threads)).collect();
        while threads.0.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let behind = begin(&threads);
        tokio::task::yield_now().await;
        tokio::time::advance(SCHEMA_TIMEOUT).await;
        for given_up in stuck.into_iter().chain([behind]) {
            assert_eq!(given_up.await.expect("no panic"), None);
        }
        assert_eq!(threads.0.available_permits(), 0, "no more is begun while they go on");
        drop(release);
        while threads.0.available_permits() < AT_A_TIME {
            tokio::task::yield_now().await;
        }
        assert_eq!(threads.run(|| 1).await, Some(1));
    }
}
