//! Doubles of what is on the other side of a wire. They speak its protocol over real sockets and complain about everything
//! that the real one would refuse.

pub(crate) mod assemblyai_stt;
pub(crate) mod cartesia_stt;
pub(crate) mod cartesia_tts;
pub(crate) mod deepgram_stt;
pub(crate) mod deepgram_tts;
pub(crate) mod elevenlabs_stt;
pub(crate) mod elevenlabs_tts;
pub(crate) mod listening;
pub(crate) mod openai_stt;
pub(crate) mod openai_transcriptions;
pub(crate) mod openai_tts;
pub(crate) mod voice;
