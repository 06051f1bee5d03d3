//! Attacks, and the handling of secrets.

mod keys;
