//! Webhook deliveries: the worker that sends them, and a receiver for development.

pub mod receiver;
pub mod worker;

/// Names our event.
pub const EVENT: &str = "x-voice-event";
/// Names our delivery.
pub const DELIVERY: &str = "x-voice-delivery";
/// Our signature.
pub const SIGNATURE: &str = "x-voice-signature";
