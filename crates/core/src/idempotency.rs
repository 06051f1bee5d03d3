//! Fingerprints of idempotent requests.
