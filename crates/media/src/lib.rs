//! Sound for Switchhook: between bytes on the wire and 20 ms frames.
//!
//! Everything here is a function of its samples: no clock, no socket, no runtime. Calls are 8 kHz, 16 bit, mono.

pub mod dtmf;
pub mod frame;
pub mod g711;
pub mod level;
pub mod resample;
pub mod tone;
pub mod vad;
pub mod wav;
