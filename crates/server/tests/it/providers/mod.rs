//! Adapters of providers, against doubles that speak their protocols.

mod llm;
mod stt;
mod tts;
