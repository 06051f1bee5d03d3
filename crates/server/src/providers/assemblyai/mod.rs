//! AssemblyAI.

pub mod stt;
