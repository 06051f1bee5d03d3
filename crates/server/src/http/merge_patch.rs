//! `PATCH`: JSON Merge Patch (RFC 7396). The merged resource is validated like a new one.

use std::time::Duration;

use serde_json::{Map, Value};
use switchhook_core::Timestamp;

/// Applies `patch` to `target`: values replace, `null` removes, objects are merged. At the paths in `nullable`, such as
/// `silence.hangup_after_seconds`, `null` is itself a value.
pub fn merge(target: &mut Map<String, Value>, patch: Map<String, Value>, nullable: &[&str]) {
    merge_below("", target, patch, nullable);
}

fn merge_below(above: &str, target: &mut Map<String, Value>, patch: Map<String, Value>, nullable: &[&str]) {
    for (name, value) in patch {
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        match value {
            Value::Null if !nullable.contains(&path.as_str()) => drop(target.remove(&name)),
            Value::Object(inner) => {
                let slot = target.entry(name).or_insert(Value::Null);
                if !slot.is_object() {
                    *slot = Value::Object(Map::new());
                }
                merge_below(&path, slot.as_object_mut().expect("set to an object above"), inner, nullable);
            }
            value => drop(target.insert(name, value)),
        }
    }
}

/// Returns `updated_at` for a changed row: now, but always later than before, even if the clock is not, so that caches of the
/// row notice the change.
#[must_use]
pub fn newer(before: i64, now: Timestamp) -> i64 {
    now.max(Timestamp::from_micros(before) + Duration::from_micros(1)).as_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(json: &str) -> Map<String, Value> {
        serde_json::from_str(json).expect("an object")
    }

    #[test]
    fn merges_as_the_rfc_says_but_keeps_null_where_it_means_something() {
        for (target, patch, merged) in [
            // From the appendix of RFC 7396.
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":"foo"}"#, r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
            (r#"{"s":{"never":3,"x":1}}"#, r#"{"s":{"never":null,"x":null}}"#, r#"{"s":{"never":null}}"#),
        ] {
            let mut changed = object(target);
            merge(&mut changed, object(patch), &["s.never"]);
            assert_eq!(changed, object(merged), "{target} {patch}");
        }
    }
}
