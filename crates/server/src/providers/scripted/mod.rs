//! Providers that need no model: for development, tests, and machines where models cannot be had.
//!
//! [`ScriptedLlm`] leads a dialogue by a [`flow`] of questions, read with the rules of [`extraction`]. [`ScriptedStt`] knows the
//! recordings of the simulated caller and nothing else; [`ScriptedTts`] plays a tone for every word. All three go through
//! the same traits as everybody else.

pub mod extraction;
pub mod flow;
mod llm;
mod stt;
mod tts;

pub use llm::{NeverResponds, ScriptedLlm};
pub use stt::ScriptedStt;
pub use tts::ScriptedTts;

/// The name in errors.
const PROVIDER: &str = "scripted";
