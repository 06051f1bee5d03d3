//! Fake peers on real sockets. They speak as the real ones do, and complain about what those would refuse.

pub(crate) mod assemblyai_stt;
pub(crate) mod cartesia_stt;
pub(crate) mod deepgram_stt;
pub(crate) mod elevenlabs_stt;
pub(crate) mod listening;
pub(crate) mod openai_stt;
pub(crate) mod openai_transcriptions;
