//! Webhook deliveries: the worker that sends them, and a receiver for development.

pub mod receiver;
pub mod worker;

/// The event header.
pub const EVENT: &str = "x-voice-event";
/// The delivery id header.
pub const DELIVERY: &str = "x-voice-delivery";
/// The signature header.
pub const SIGNATURE: &str = "x-voice-signature";
