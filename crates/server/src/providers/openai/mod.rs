//! OpenAI's interfaces, OpenAI's own and the many servers that offer the same.

pub mod chat;
mod realtime_stt;
mod server;
pub mod speech;
pub mod stt;
mod transcriptions;
mod wire;

/// Where OpenAI itself listens.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";
