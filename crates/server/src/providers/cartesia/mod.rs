//! Cartesia.

pub mod stt;
