//! The decisions of Switchhook.
//!
//! Everything here is a function of its arguments: `(state, now, input) -> effects`. There is no clock, no randomness, no socket
//! and no SQL; time arrives as [`Timestamp`] and randomness as bytes. The `switchhook` package executes the effects.

pub mod agent;
pub mod api_key;
pub mod call;
pub mod conversation;
pub mod dial_policy;
pub mod dtmf;
pub mod entered;
pub mod event;
pub mod header;
pub mod histogram;
pub mod id;
pub mod idempotency;
pub mod language;
pub mod number_words;
pub mod phone_number;
pub mod privacy;
pub mod private;
pub mod quota;
pub mod rate;
pub mod replay;
pub mod retry_after;
pub mod schema_limits;
pub mod sign_in;
pub mod time;
pub mod webhook;
pub mod wire;

pub use time::Timestamp;
