//! Fake peers on sockets of this machine. They speak the protocols of real ones, and complain about whatever those would refuse.

pub(crate) mod anthropic_llm;
pub(crate) mod complaints;
pub(crate) mod gemini_llm;
pub(crate) mod model;
pub(crate) mod openai_llm;
pub(crate) mod twilio;
