//! Fake peers on local sockets. They speak the protocols of real ones, and complain about anything those would refuse.

pub(crate) mod anthropic_llm;
pub(crate) mod assemblyai_stt;
pub(crate) mod cartesia_stt;
pub(crate) mod cartesia_tts;
pub(crate) mod complaints;
pub(crate) mod deepgram_stt;
pub(crate) mod deepgram_tts;
pub(crate) mod elevenlabs_stt;
pub(crate) mod elevenlabs_tts;
pub(crate) mod gemini_llm;
pub(crate) mod mcp;
pub(crate) mod model;
pub(crate) mod oidc;
pub(crate) mod openai_llm;
pub(crate) mod openai_realtime;
pub(crate) mod openai_stt;
pub(crate) mod openai_transcriptions;
pub(crate) mod openai_tts;
pub(crate) mod stt;
pub(crate) mod telnyx;
pub(crate) mod tts;
pub(crate) mod twilio;
mod wild;
pub(crate) mod wild_llm;
pub(crate) mod wild_mcp;
pub(crate) mod wild_oidc;
pub(crate) mod wild_stream;
mod wild_stt;
mod wild_transcriptions;
pub(crate) mod wild_tts;

use axum::serve::{ListenerExt as _, TapIo};
use tokio::net::{TcpListener, TcpStream};

/// Returns a listener that sends data at once, as servers of speech do, without waiting for acknowledgements of earlier data.
pub(crate) fn without_delay(listener: TcpListener) -> TapIo<TcpListener, fn(&mut TcpStream)> {
    listener.tap_io(|stream| stream.set_nodelay(true).expect("a socket"))
}
