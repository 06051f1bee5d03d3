//! Validates values from models against JSON Schemas.
//!
//! Schemas come from customers and values from models: both are compiled and validated on separate threads, few at a time and
//! within a deadline, so that neither delays the audio of calls. Patterns are matched in linear time.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use switchhook_core::json_schema::written_out;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Maximum problems to report.
const MAX_PROBLEMS: usize = 5;
/// Maximum characters of a problem, which may quote the value.
const PROBLEM: usize = 300;
/// Maximum size of a compiled pattern, and of all patterns of a schema, in bytes.
const PATTERN: usize = 256 * 1024;
const PATTERNS: usize = 512 * 1024;
/// Maximum size of a value, in bytes of JSON.
const VALUE: usize = 64 * 1024;
/// Deadline of compiling or validating, including the wait for a thread.
const DEADLINE: Duration = Duration::from_secs(2);
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

impl Schema {
    /// Compiles schemas of any draft, all or none.
    ///
    /// # Errors
    /// The position of the first invalid one, and its error as part of a sentence.
    pub async fn compile(schemas: Vec<Value>) -> Result<Vec<Self>, (usize, String)> {
        if schemas.is_empty() {
            return Ok(Vec::new());
        }
        let compile = move || {
            let compiled =
                schemas.iter().enumerate().map(|(at, schema)| Self::new(schema).map_err(|words| (at, words)));
            compiled.collect()
        };
        THREADS.run(compile).await.unwrap_or_else(|| Err((0, "takes too long to compile".to_owned())))
    }

    /// Compiles a schema on this thread.
    ///
    /// # Errors
    /// Its error, as part of a sentence.
    pub fn new(source: &Value) -> Result<Self, String> {
        let schema = written_out(source).map_err(|refusal| refusal.to_string())?;
        let most = (PATTERNS / patterns(&schema).max(1)).min(PATTERN);
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

    /// How many schemas are compiled or values validated on threads of this process.
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

    /// The same on this thread.
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

/// Returns an upper bound of the number of patterns: counts every property with that name.
fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Object(fields) => {
            let named = fields.get("patternProperties").and_then(Value::as_object).map_or(0, serde_json::Map::len);
            let own = usize::from(fields.get("pattern").is_some_and(Value::is_string));
            named + own + fields.values().map(patterns).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(patterns).sum(),
        _ => 0,
    }
}

/// The validation threads of this node.
struct Threads(Arc<Semaphore>);

impl Threads {
    fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_A_TIME)))
    }

    /// Runs `work` on a thread; `None` after the deadline.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let working = async {
            let place = self.0.clone().acquire_owned().await.ok()?;
            let working = tokio::task::spawn_blocking(move || {
                let _place = place;
                work()
            });
            working.await.ok()
        };
        timeout(DEADLINE, working).await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
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
        assert_eq!(refused.0, 1, "the second: {}", refused.1);
        assert!(Schema::new(&json!({ "$ref": "http://127.0.0.1:9/schema.json" })).is_err(), "nothing is fetched");
        assert!(Schema::new(&json!({ "$ref": "file:///etc/passwd" })).is_err());
        assert!(Schema::new(&json!({ "pattern": "(a+)+\\1" })).is_err(), "no pattern that could take for ever");
    }

    #[test]
    fn the_patterns_of_a_schema_have_one_budget() {
        let many = |pattern: &str| Schema::new(&json!({ "allOf": vec![json!({ "pattern": pattern }); 200] }));
        let large = "^[^a]{150}$";
        assert!(Schema::new(&json!({ "pattern": large })).is_ok(), "one may be large");
        assert!(many(large).is_err());
        assert!(many("^[0-9]{4}-[0-9]{2}$").is_ok());
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
        tokio::time::advance(DEADLINE).await;
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
