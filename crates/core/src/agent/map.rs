//! Size limits of the maps that customers attach to agents and calls.

use serde::Serialize;

use super::FieldError;

/// Maximum keys of a map.
pub const MAX_KEYS: usize = 50;
/// Maximum size as JSON without spaces, in bytes.
pub(super) const MAX_BYTES: usize = 16 * 1024;

/// Validates a map with this many `keys`, serialised as `json`.
pub fn check_map(path: &str, keys: usize, json: &impl Serialize) -> Option<FieldError> {
    if keys > MAX_KEYS {
        return Some(FieldError::new(path, format!("must have at most {MAX_KEYS} keys")));
    }
    // A map that cannot be serialised cannot be stored either.
    let fits = serde_json::to_vec(json).is_ok_and(|json| json.len() <= MAX_BYTES);
    (!fits).then(|| FieldError::new(path, format!("must be at most {MAX_BYTES} bytes of JSON")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_map_has_a_bound_of_keys_and_of_bytes() {
        let of = |keys: usize, bytes: usize| {
            let map: BTreeMap<String, String> = (0..keys).map(|key| (format!("{key:02}"), "x".repeat(bytes))).collect();
            check_map("metadata", map.len(), &map).map(|error| error.message)
        };
        assert_eq!(of(MAX_KEYS, 10), None);
        assert_eq!(of(MAX_KEYS + 1, 1).as_deref(), Some("must have at most 50 keys"));
        let overhead = r#"{"00":""}"#.len();
        assert_eq!(of(1, MAX_BYTES - overhead), None);
        assert_eq!(of(1, MAX_BYTES - overhead + 1).as_deref(), Some("must be at most 16384 bytes of JSON"));
    }
}
