//! Finds the settings of an agent that its providers do not support, so that none is ignored silently.

use switchhook_core::agent::{AgentConfig, Fallback};
use switchhook_core::id::{ConnectionId, TenantId};
use switchhook_media::format::AudioFormat;
use switchhook_providers::entry::Provider;
use switchhook_providers::{SttOptions, TtsRequest};

use super::{Setup, SetupError, with_fallbacks};
use crate::store::Conn;

impl Setup {
    /// Returns the settings that the agent's speech to text and voices do not support, as sentences for the person who saves it. Invalid
    /// connections are reported elsewhere.
    ///
    /// # Errors
    /// The database's error.
    pub async fn unsupported_options(
        &self,
        conn: &mut Conn,
        tenant: TenantId,
        agent: &AgentConfig,
    ) -> Result<Vec<String>, sqlx::Error> {
        let mut sentences = Vec::new();
        // Speech to speech uses no STT.
        if agent.realtime.is_none() {
            sentences = self.not_heard(conn, tenant, agent).await?;
        }
        let choice = agent.tts.as_ref();
        let (id, model) = choice.map_or((None, None), |tts| (tts.connection_id, tts.model.clone()));
        let voice = choice.and_then(|tts| tts.voice.clone());
        let fallbacks = choice.map_or(&[] as &[Fallback], |tts| &tts.fallbacks);
        for (at, (id, model, voice)) in with_fallbacks(id, model, voice, fallbacks).enumerate() {
            let Some((name, tts)) = self.found(conn, tenant, id, Provider::tts).await? else { continue };
            let (text, language, format) = (String::new(), agent.language.clone(), AudioFormat::default());
            let like = TtsRequest { text, voice, model, speed: 1.0, language, format };
            sentences.extend(tts.unsupported_options(&like).map(|words| sentence("tts", at, &name, &words)));
        }
        Ok(sentences)
    }

    async fn not_heard(
        &self,
        conn: &mut Conn,
        tenant: TenantId,
        agent: &AgentConfig,
    ) -> Result<Vec<String>, sqlx::Error> {
        let choice = agent.stt.as_ref();
        let (id, model) = choice.map_or((None, None), |stt| (stt.connection_id, stt.model.clone()));
        let keyterms = choice.map(|stt| stt.keyterms.clone()).unwrap_or_default();
        let fallbacks = choice.map_or(&[] as &[Fallback], |stt| &stt.fallbacks);
        let mut sentences = Vec::new();
        for (at, (id, model, _)) in with_fallbacks(id, model, None, fallbacks).enumerate() {
            let Some((name, stt)) = self.found(conn, tenant, id, Provider::stt).await? else { continue };
            let options = SttOptions {
                language: agent.language.clone(),
                model,
                keyterms: keyterms.clone(),
                ..SttOptions::default()
            };
            sentences.extend(stt.unsupported_options(&options).iter().map(|words| sentence("stt", at, &name, words)));
        }
        Ok(sentences)
    }

    /// Returns what a provider offers, and its name; `None` if the connection is invalid.
    async fn found<T>(
        &self,
        conn: &mut Conn,
        tenant: TenantId,
        id: Option<ConnectionId>,
        part: impl Fn(Provider) -> Result<T, String>,
    ) -> Result<Option<(String, T)>, sqlx::Error> {
        let provider = SetupError::apart(self.provider(conn, tenant, id, "local").await)?;
        Ok(provider.ok().and_then(|provider| Some((provider.name().to_owned(), part(provider).ok()?))))
    }
}

/// Returns a sentence about the provider at this position: the first is the agent's choice, the others are its fallbacks.
fn sentence(part: &str, at: usize, name: &str, words: &str) -> String {
    let path = at.checked_sub(1).map_or_else(|| part.to_owned(), |fallback| format!("{part}.fallbacks.{fallback}"));
    format!("{path}: {name} {words}.")
}
