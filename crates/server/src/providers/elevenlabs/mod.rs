//! ElevenLabs.

pub mod tts;
