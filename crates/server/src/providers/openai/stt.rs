//! OpenAI's two ways of speech to text, and the servers that offer the same: a request for each segment, or a realtime session.

use std::sync::Arc;

use super::realtime_stt::{self, Realtime};
use super::server::SpeechServer;
use super::transcriptions::{self, Transcriptions};
use crate::providers::Stt;
use crate::providers::connect::Connect;
use crate::providers::streaming::{Terms, recogniser};

/// The name by which errors speak of us.
pub(super) const PROVIDER: &str = "openai";

/// More than this is beyond what a prompt for Whisper holds (224 tokens), and slows others down.
pub(super) const TERMS: Terms = Terms { most: 100, longest: 200, together: 800 };

#[derive(Clone, Copy)]
enum Api {
    Transcriptions,
    Realtime,
}

/// Which of both a connection uses: `stt_api` is `transcriptions` (the default) or `realtime`.
fn api(connect: &Connect<'_>) -> Result<Api, String> {
    let apis = [("transcriptions", Api::Transcriptions), ("realtime", Api::Realtime)];
    Ok(connect.choice("stt_api", &apis)?.unwrap_or(Api::Transcriptions))
}

/// The model when neither the agent nor the connection names one.
pub(crate) fn usual_model(connect: &Connect<'_>) -> Result<&'static str, String> {
    Ok(match api(connect)? {
        Api::Transcriptions => transcriptions::USUAL_MODEL,
        Api::Realtime => realtime_stt::USUAL_MODEL,
    })
}

/// The recogniser of a connection.
///
/// # Errors
/// A sentence that names the setting that is of no use.
pub fn connect(connect: &Connect<'_>) -> Result<Arc<dyn Stt>, String> {
    let server = SpeechServer::read(connect)?;
    match api(connect)? {
        Api::Transcriptions => Ok(Arc::new(Transcriptions::new(connect, server)?)),
        Api::Realtime => Ok(recogniser(connect, Realtime::new(connect, server)?)),
    }
}
