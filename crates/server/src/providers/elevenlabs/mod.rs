//! ElevenLabs.

pub mod stt;
