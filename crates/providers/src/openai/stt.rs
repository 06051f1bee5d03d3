//! OpenAI's two STT APIs, and compatible servers: one request per segment, or a realtime session.

use std::sync::Arc;

use super::realtime_stt::{self, Realtime};
use super::server::SpeechServer;
use super::transcriptions::{self, Transcriptions};
use crate::Stt;
use crate::adapter_config::AdapterConfig;
use crate::stt::streaming_stt;

#[derive(Clone, Copy)]
enum Api {
    Transcriptions,
    Realtime,
}

/// Returns the API that a connection uses: `stt_api` is `transcriptions` (the default) or `realtime`.
fn api(config: &AdapterConfig<'_>) -> Result<Api, String> {
    let apis = [("transcriptions", Api::Transcriptions), ("realtime", Api::Realtime)];
    Ok(config.choice("stt_api", &apis)?.unwrap_or(Api::Transcriptions))
}

/// Returns the model for when neither the agent nor the connection names one.
pub(crate) fn default_model(config: &AdapterConfig<'_>) -> Result<&'static str, String> {
    Ok(match api(config)? {
        Api::Transcriptions => transcriptions::DEFAULT_MODEL,
        Api::Realtime => realtime_stt::DEFAULT_MODEL,
    })
}

/// Creates speech to text for a connection.
///
/// # Errors
/// A sentence that names the invalid setting.
pub fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Stt>, String> {
    let server = SpeechServer::read(config)?;
    match api(config)? {
        Api::Transcriptions => Ok(Arc::new(Transcriptions::new(config, server)?)),
        Api::Realtime => Ok(streaming_stt(config, Realtime::new(config, server)?)),
    }
}
