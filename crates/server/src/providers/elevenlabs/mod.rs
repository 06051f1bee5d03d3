//! ElevenLabs.

pub mod stt;
pub mod tts;
