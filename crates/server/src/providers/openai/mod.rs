//! OpenAI's interfaces, OpenAI's own and the many servers that offer the same.

pub mod chat;
pub(crate) mod realtime_stt;
mod server;
pub mod speech;
pub mod speech_to_speech;
pub mod stt;
pub(crate) mod transcriptions;
pub(crate) mod wire;

/// Where OpenAI itself listens.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";
