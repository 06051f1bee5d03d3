//! OpenAI's two ways of speech to text, and the servers that offer the same: a request for each segment, or a realtime session.

use std::sync::Arc;

use super::OPENAI_URL;
use super::realtime_stt::Realtime;
use super::transcriptions::Transcriptions;
use crate::providers::Stt;
use crate::providers::connect::Connect;
use crate::providers::streaming::StreamingStt;

/// The name by which errors speak of us.
pub(super) const PROVIDER: &str = "openai";

#[derive(Clone, Copy)]
enum Api {
    Transcriptions,
    Realtime,
}

/// The recogniser of a connection. `stt_api` is `transcriptions` (the default) or `realtime`.
///
/// # Errors
/// A sentence that names the setting that is of no use.
pub fn connect(connect: &Connect<'_>) -> Result<Arc<dyn Stt>, String> {
    let apis = [("transcriptions", Api::Transcriptions), ("realtime", Api::Realtime)];
    let base = versioned(connect.base_url(OPENAI_URL)?);
    match connect.choice("stt_api", &apis)?.unwrap_or(Api::Transcriptions) {
        Api::Transcriptions => Ok(Arc::new(Transcriptions::new(connect, &base)?)),
        Api::Realtime => Ok(Arc::new(StreamingStt::new(connect, Realtime::new(connect, base)?))),
    }
}

/// With `/v1` when there is no path at all.
pub(super) fn versioned(base: String) -> String {
    let has_path = base.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    if has_path { base } else { format!("{base}/v1") }
}
