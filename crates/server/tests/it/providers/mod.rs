//! Adapters of providers, against doubles that speak their protocols.

mod llm;
mod realtime;
mod rehearsal;
mod stt;
mod tts;
