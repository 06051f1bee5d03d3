//! Speech to text: each STT hears a simulated caller, while its provider does what providers do.

mod call;
mod caller;
mod conversation;
mod early;
mod options;
mod requests;
mod slow;
mod streams;
mod takeover;
mod trouble;
