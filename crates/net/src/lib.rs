//! Reaching strangers: the guarded client for addresses that customers choose, and queues bounded in bytes for what they send.

pub mod outbound;
pub mod queues;
