//! Peers that are not there: real sockets on loopback, which follow the documentation of the real ones and complain about
//! everything that these would refuse.

pub(crate) mod anthropic_llm;
pub(crate) mod gemini_llm;
pub(crate) mod model;
pub(crate) mod openai_llm;
