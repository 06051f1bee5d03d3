//! Adapters of providers, against doubles that speak their protocols.

mod llm;
mod own_machines;
mod realtime;
mod refusals;
mod rehearsal;
mod stt;
mod tts;
mod turns;
pub(super) mod wild_seeds;
