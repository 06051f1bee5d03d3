//! The configuration of an agent: greeting, providers, turn taking, silence, limits, tools.
//!
//! Everything but the name and the instructions has a default. Field names are those of the API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::ConnectionId;
use crate::language::{ENGLISH, Language, WordList};

mod keys;
mod map;
mod privacy;
mod schema;
mod tools;
mod traffic;
mod validate;

pub use keys::Dtmf;
pub use map::{MAX_KEYS, check_map};
pub use privacy::Privacy;
pub use tools::{Destination, HttpMethod, SEND_DTMF, Tool, ToolKind};
pub use traffic::{Traffic, TrafficPart};
pub use validate::{FieldError, is_language_tag};

/// A version of an agent's configuration. Calls keep their version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentConfig {
    /// System prompt; `{{variable}}` is replaced.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 100_000, pattern = r"\S"))]
    pub instructions: String,
    /// Spoken language (BCP 47).
    #[serde(default = "default_language")]
    #[cfg_attr(
        feature = "openapi",
        schema(max_length = 35, pattern = "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", example = "en-US")
    )]
    pub language: String,
    /// Start of the conversation.
    #[serde(default)]
    pub greeting: Greeting,
    /// Speech-to-text; local if absent.
    #[serde(default)]
    pub stt: Option<SttChoice>,
    /// Language model; a demo script if absent.
    #[serde(default)]
    pub llm: Option<LlmChoice>,
    /// Text-to-speech; local if absent.
    #[serde(default)]
    pub tts: Option<TtsChoice>,
    /// Speech-to-speech model in place of `stt`, `llm` and `tts`; `llm` then only analyses the call, `tts` only bridges waits.
    #[serde(default)]
    pub realtime: Option<RealtimeChoice>,
    /// End-of-turn detection.
    #[serde(default)]
    pub turn_taking: TurnTaking,
    /// Caller interruptions.
    #[serde(default)]
    pub interruption: Interruption,
    /// Caller silence.
    #[serde(default)]
    pub silence: Silence,
    /// Call time limits.
    #[serde(default)]
    pub limits: Limits,
    /// Answering machine handling.
    #[serde(default)]
    pub answering_machine: AnsweringMachine,
    /// DTMF from the caller.
    #[serde(default)]
    pub dtmf: Dtmf,
    /// Tools for the model.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<tools::TypedTool>, max_items = 32))]
    pub tools: Vec<Tool>,
    /// Post-call analysis.
    #[serde(default)]
    pub analysis: AnalysisSettings,
    /// Call recording.
    #[serde(default)]
    pub recording: Recording,
    /// Redaction and retention.
    #[serde(default)]
    pub privacy: Privacy,
    /// Variables that calls can or must set; at most 16 KiB of JSON.
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
}

fn default_language() -> String {
    "en-US".to_owned()
}

/// Start of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Greeting {
    /// Who speaks first.
    pub mode: GreetingMode,
    /// The text for mode `speak`.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    pub text: String,
    /// Whether the caller can interrupt it.
    pub interruptible: bool,
}

/// What an agent says before its greeting if nothing follows its instructions.
pub const DEMO_NOTICE: &str = "I have no language model yet, so this is a demo.";

impl Default for Greeting {
    fn default() -> Self {
        Self { mode: GreetingMode::Speak, text: ENGLISH.greeting.to_owned(), interruptible: true }
    }
}

/// Who speaks first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GreetingMode {
    /// The agent says the greeting's text as soon as there is audio.
    Speak,
    /// The caller speaks first; after two seconds of silence the agent does.
    Wait,
    /// The language model writes the greeting.
    Generate,
}

/// A speech-to-text provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SttChoice {
    /// `null` for local speech-to-text.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<uuid::Uuid>))]
    pub connection_id: Option<ConnectionId>,
    /// Model name.
    #[serde(default)]
    pub model: Option<String>,
    /// Words to expect.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 200))]
    pub keyterms: Vec<String>,
    /// Tried in order.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 5))]
    pub fallbacks: Vec<Fallback>,
}

/// A language model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LlmChoice {
    /// `null` for a demo script, which ignores the instructions.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<uuid::Uuid>))]
    pub connection_id: Option<ConnectionId>,
    /// Model name.
    #[serde(default)]
    pub model: Option<String>,
    /// Sampling temperature.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 2))]
    pub temperature: Option<f32>,
    /// Maximum tokens per response.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub max_tokens: Option<u32>,
    /// Tried in order.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 5))]
    pub fallbacks: Vec<Fallback>,
    /// Send a second request, to the next or the same model, if the first is slower than usual to respond. The response that starts first is
    /// spoken; both are charged.
    #[serde(default)]
    pub hedge: bool,
}

/// A text-to-speech provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TtsChoice {
    /// `null` for local text-to-speech.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<uuid::Uuid>))]
    pub connection_id: Option<ConnectionId>,
    /// Voice name.
    #[serde(default)]
    pub voice: Option<String>,
    /// Model name.
    #[serde(default)]
    pub model: Option<String>,
    /// Speaking rate; 1 is normal.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 0.5, maximum = 2))]
    pub speed: Option<f32>,
    /// Tried in order.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 5))]
    pub fallbacks: Vec<Fallback>,
}

/// A speech-to-speech model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RealtimeChoice {
    /// The connection.
    #[cfg_attr(feature = "openapi", schema(value_type = uuid::Uuid))]
    pub connection_id: ConnectionId,
    /// Model name.
    #[serde(default)]
    pub model: Option<String>,
    /// Voice name.
    #[serde(default)]
    pub voice: Option<String>,
    /// Tried in order if the previous one is unreachable, keeps disconnecting or understands nothing.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 5))]
    pub fallbacks: Vec<Fallback>,
}

/// A fallback provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fallback {
    /// The connection.
    #[cfg_attr(feature = "openapi", schema(value_type = uuid::Uuid))]
    pub connection_id: ConnectionId,
    /// Model name.
    #[serde(default)]
    pub model: Option<String>,
    /// Voice name, for text-to-speech.
    #[serde(default)]
    pub voice: Option<String>,
}

/// How soon the agent responds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Eagerness {
    /// Callers have time to think: half as much silence again.
    Low,
    /// As the numbers say.
    #[default]
    Normal,
    /// Short questions and answers: a third less silence.
    High,
}

/// End-of-turn detection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TurnTaking {
    /// How soon the agent responds: `low` waits half as long again, `high` a third less.
    pub eagerness: Eagerness,
    /// Silence that ends a turn after a complete sentence.
    #[cfg_attr(feature = "openapi", schema(minimum = 100, maximum = 5_000))]
    pub min_silence_ms: u32,
    /// Silence that always ends a turn.
    #[cfg_attr(feature = "openapi", schema(minimum = 200, maximum = 10_000))]
    pub max_silence_ms: u32,
    /// Ask the model when the turn has probably ended; discard the response if the caller continues.
    pub speculative: bool,
}

impl Default for TurnTaking {
    fn default() -> Self {
        Self { eagerness: Eagerness::Normal, min_silence_ms: 400, max_silence_ms: 2_000, speculative: true }
    }
}

/// Caller interruptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Interruption {
    /// Whether the caller can interrupt.
    pub enabled: bool,
    /// Speech that interrupts; shorter noises only pause the agent.
    #[cfg_attr(feature = "openapi", schema(minimum = 50, maximum = 5_000))]
    pub min_speech_ms: u32,
    /// Recognised words that interrupt before `min_speech_ms`; 0 ignores words.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 20))]
    pub min_words: u32,
    /// Words that do not interrupt on their own.
    #[cfg_attr(feature = "openapi", schema(max_items = 200))]
    pub backchannels: Vec<String>,
}

impl Default for Interruption {
    fn default() -> Self {
        Self { enabled: true, min_speech_ms: 500, min_words: 2, backchannels: owned(ENGLISH.backchannels) }
    }
}

fn owned(words: WordList) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Caller silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Silence {
    /// Silence after which the agent reprompts.
    #[cfg_attr(feature = "openapi", schema(minimum = 2, maximum = 600))]
    pub reprompt_after_seconds: u32,
    /// Maximum number of reprompts.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 10))]
    pub max_reprompts: u32,
    /// Silence after which the agent hangs up; `null` for never.
    #[cfg_attr(feature = "openapi", schema(minimum = 5, maximum = 3_600))]
    pub hangup_after_seconds: Option<u32>,
}

impl Default for Silence {
    fn default() -> Self {
        Self { reprompt_after_seconds: 8, max_reprompts: 2, hangup_after_seconds: Some(30) }
    }
}

/// Call time limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Limits {
    /// Maximum duration of the conversation.
    #[cfg_attr(feature = "openapi", schema(minimum = 10, maximum = 14_400))]
    pub max_duration_seconds: u32,
    /// Ring timeout.
    #[cfg_attr(feature = "openapi", schema(minimum = 5, maximum = 120))]
    pub ring_timeout_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_duration_seconds: 1_800, ring_timeout_seconds: 30 }
    }
}

/// Answering machine handling.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AnsweringMachine {
    /// Whether to detect answering machines.
    pub mode: MachineDetection,
    /// Action when a machine answers.
    pub on_machine: OnMachine,
    /// Message after the beep, for `leave_message`.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    pub message: Option<String>,
}

/// Whether to detect answering machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MachineDetection {
    /// The agent treats a machine like a person.
    #[default]
    Off,
    /// A machine is detected by its greeting and beep.
    Detect,
}

/// Action when a machine answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnMachine {
    /// Hang up; the call ends as `completed` with `end_reason` `voicemail`.
    #[default]
    Hangup,
    /// Say `message` after the beep, then hang up.
    LeaveMessage,
}

/// Post-call analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AnalysisSettings {
    /// Whether to write a summary.
    pub summary: bool,
    /// JSON Schema of `outcome`; without one, the provider picks the facts. Without schema and summary, there is no analysis.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub schema: Option<Value>,
}

impl Default for AnalysisSettings {
    fn default() -> Self {
        Self { summary: true, schema: None }
    }
}

/// Call recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Recording {
    /// Keep a stereo WAV: caller left, agent right.
    pub enabled: bool,
}

/// A call variable, used as `{{name}}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Variable {
    /// Whether a call must set it.
    pub required: bool,
    /// Used if a call does not set it.
    #[cfg_attr(feature = "openapi", schema(max_length = 16_000))]
    pub default: Option<String>,
}

impl AgentConfig {
    /// Creates an agent with these instructions and every default.
    #[must_use]
    pub fn new(instructions: impl Into<String>) -> Self {
        Self {
            instructions: instructions.into(),
            language: default_language(),
            greeting: Greeting::default(),
            stt: None,
            llm: None,
            tts: None,
            realtime: None,
            turn_taking: TurnTaking::default(),
            interruption: Interruption::default(),
            silence: Silence::default(),
            limits: Limits::default(),
            answering_machine: AnsweringMachine::default(),
            dtmf: Dtmf::default(),
            tools: Vec::new(),
            analysis: AnalysisSettings::default(),
            recording: Recording::default(),
            privacy: Privacy::default(),
            variables: BTreeMap::new(),
        }
    }

    /// Returns whether no language model is named. A demo script, which books restaurant tables, then leads the conversation and
    /// ignores the instructions.
    #[must_use]
    pub fn follows_demo_script(&self) -> bool {
        self.realtime.is_none() && self.llm.as_ref().is_none_or(|llm| llm.connection_id.is_none())
    }

    /// Says in the greeting of an agent without a language model that it follows a demo script.
    pub fn admit_demo_script(&mut self) {
        if self.follows_demo_script() && self.greeting.mode == GreetingMode::Speak {
            self.greeting.text = format!("{DEMO_NOTICE} {}", self.greeting.text).trim_end().to_owned();
        }
    }

    /// Puts the words of the agent's language in the place of the default greeting and backchannels, which are English. Where there are
    /// none, the language model writes the greeting.
    pub fn localise(&mut self) {
        let language = Language::of(&self.language);
        if self.greeting.text == ENGLISH.greeting {
            language.greeting.clone_into(&mut self.greeting.text);
            if self.greeting.text.is_empty() && self.greeting.mode == GreetingMode::Speak {
                self.greeting.mode = GreetingMode::Generate;
            }
        }
        if self.interruption.backchannels == ENGLISH.backchannels {
            self.interruption.backchannels = owned(language.backchannels);
        }
    }

    /// Returns every connection that this agent names, with the path of its field.
    #[must_use]
    pub fn connections(&self) -> Vec<(String, ConnectionId)> {
        let mut found = Vec::new();
        let mut part = |name: &str, main: Option<ConnectionId>, fallbacks: &[Fallback]| {
            found.extend(main.map(|id| (format!("{name}.connection_id"), id)));
            found.extend(
                fallbacks
                    .iter()
                    .enumerate()
                    .map(|(i, fallback)| (format!("{name}.fallbacks.{i}.connection_id"), fallback.connection_id)),
            );
        };
        if let Some(stt) = &self.stt {
            part("stt", stt.connection_id, &stt.fallbacks);
        }
        if let Some(llm) = &self.llm {
            part("llm", llm.connection_id, &llm.fallbacks);
        }
        if let Some(tts) = &self.tts {
            part("tts", tts.connection_id, &tts.fallbacks);
        }
        if let Some(realtime) = &self.realtime {
            part("realtime", Some(realtime.connection_id), &realtime.fallbacks);
        }
        for (i, tool) in self.tools.iter().enumerate() {
            part(&format!("tools.{i}"), tool.connection_id, &[]);
        }
        found
    }
}

/// Replaces every `{{name}}` in `text` by its value; removes unknown names.
#[must_use]
pub fn fill_in(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, tail)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            continue;
        };
        out.push_str(variables.get(name.trim()).map_or("", String::as_str));
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Returns the names that [`fill_in`] replaces, as often as they occur.
pub fn variable_names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (name, tail) = rest.split_once("{{")?.1.split_once("}}")?;
        rest = tail;
        Some(name.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_fields_are_a_whole_agent() {
        let agent: AgentConfig =
            serde_json::from_str(r#"{"instructions":"Book tables."}"#).expect("defaults fill the rest");
        assert_eq!(agent, AgentConfig::new("Book tables."));
        assert!(agent.validate().is_empty());
    }

    #[test]
    fn variables_are_filled_in_and_braces_survive() {
        let variables = BTreeMap::from([("name".to_owned(), "Ana {{x}}".to_owned())]);
        assert_eq!(fill_in("Hi {{ name }}, {{gone}}bye {{", &variables), "Hi Ana {{x}}, bye {{");
    }
}
