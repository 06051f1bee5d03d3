//! Audio for Switchhook: between bytes on the wire and 20 ms frames.
//!
//! Everything here is a function of its samples: no clock, no socket, no runtime. Audio inside a call is 16 bit, mono, in one
//! [`format::AudioFormat`].

pub mod dtmf;
pub mod echo;
pub mod format;
pub mod frame;
pub mod g711;
pub mod level;
pub mod resample;
pub mod tone;
pub mod vad;
pub mod wav;
