//! Providers in the cloud, against doubles that speak their protocols.

mod stt;
mod tts;
