//! Speech to text: each STT transcribes a simulated caller, while its provider behaves or fails as real ones do.

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
mod wild;
