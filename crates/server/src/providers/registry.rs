//! Which providers there are, and one instance of each connection's for all calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use uuid::Uuid;

use super::local::{LocalStt, LocalTts};
use super::openai::OpenAiLlm;
use super::scripted::{ScriptedLlm, ScriptedStt, ScriptedTts};
use super::{Llm, Stt, Tts};
use crate::config::Config;
use crate::models::Models;
use crate::store::connections::ConnectionRow;
use crate::vault::Vault;

/// What one connection can do.
#[derive(Clone, Default)]
pub struct Provider {
    name: String,
    stt: Option<Arc<dyn Stt>>,
    llm: Option<Arc<dyn Llm>>,
    tts: Option<Arc<dyn Tts>>,
}

impl Provider {
    /// Its speech to text.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn stt(self) -> Result<Arc<dyn Stt>, String> {
        self.stt.ok_or_else(|| format!("provider {} does no speech to text", self.name))
    }

    /// Its language model.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn llm(self) -> Result<Arc<dyn Llm>, String> {
        self.llm.ok_or_else(|| format!("provider {} has no language model", self.name))
    }

    /// Its text to speech.
    ///
    /// # Errors
    /// A sentence when it has none.
    pub fn tts(self) -> Result<Arc<dyn Tts>, String> {
        self.tts.ok_or_else(|| format!("provider {} does no text to speech", self.name))
    }
}

/// Makes and keeps providers.
pub struct Registry {
    http: reqwest::Client,
    local: Provider,
    scripted: Provider,
    made: Mutex<HashMap<(Uuid, i64), Provider>>,
}
