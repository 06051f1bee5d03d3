//! The providers in the cloud, each against a double of it.

mod tts;
