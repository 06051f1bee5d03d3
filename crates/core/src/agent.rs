//! What an agent is: how it greets, listens, thinks, speaks, waits and ends.
//!
//! Everything but the name and the instructions has a default, so `{"name": "…", "instructions": "…"}` is a whole agent.
//! Field names are those of the API.

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
mod validate;

pub use keys::{Dtmf, is_key};
pub use map::{MAX_KEYS, check_map};
pub use privacy::Privacy;
pub use tools::{Destination, HttpMethod, Tool, ToolKind};
pub use validate::FieldError;

/// The configuration of an agent, one version of it. A call keeps the version it started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentConfig {
    /// What the language model is told about its job; `{{variable}}` is replaced by the call's variables.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 100_000, pattern = r"\S"))]
    pub instructions: String,
    /// BCP 47 tag of the language spoken.
    #[serde(default = "default_language")]
    #[cfg_attr(
        feature = "openapi",
        schema(max_length = 35, pattern = "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", example = "en-US")
    )]
    pub language: String,
    /// How the conversation is opened.
    #[serde(default)]
    pub greeting: Greeting,
    /// Speech to text; local when absent.
    #[serde(default)]
    pub stt: Option<SttChoice>,
    /// Language model; the scripted dialogue when absent.
    #[serde(default)]
    pub llm: Option<LlmChoice>,
    /// Text to speech; local when absent.
    #[serde(default)]
    pub tts: Option<TtsChoice>,
    /// A speech-to-speech model that hears, thinks and speaks in place of `stt`, `llm` and `tts`. Then `llm` only looks back on the
    /// call, and `tts` speaks where the model cannot: to bridge a long wait, or when the model is gone.
    #[serde(default)]
    pub realtime: Option<RealtimeChoice>,
    /// When the caller has finished a turn.
    #[serde(default)]
    pub turn_taking: TurnTaking,
    /// What happens when the caller talks over the agent.
    #[serde(default)]
    pub interruption: Interruption,
    /// What happens when the caller says nothing.
    #[serde(default)]
    pub silence: Silence,
    /// How long a call may ring and last.
    #[serde(default)]
    pub limits: Limits,
    /// What to do about voicemail.
    #[serde(default)]
    pub answering_machine: AnsweringMachine,
    /// What happens to keys that the caller presses.
    #[serde(default)]
    pub dtmf: Dtmf,
    /// Tools the model may call.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 32))]
    pub tools: Vec<Tool>,
    /// What is written down after the call.
    #[serde(default)]
    pub analysis: AnalysisSettings,
    /// Whether calls are recorded.
    #[serde(default)]
    pub recording: Recording,
    /// What is kept of a call's words, and for how long.
    #[serde(default)]
    pub privacy: Privacy,
    /// Variables that calls may or must give; at most 50, and 16 KiB of JSON.
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
}

fn default_language() -> String {
    "en-US".to_owned()
}

/// The opening of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Greeting {
    /// Who speaks first.
    pub mode: GreetingMode,
    /// What is said in mode `speak`.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    pub text: String,
    /// Whether the caller may talk over it.
    pub interruptible: bool,
}

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
    /// The agent says the greeting's text as soon as there is media.
    Speak,
    /// The agent waits for the caller; it greets by itself after two seconds of silence.
    Wait,
    /// The language model writes the greeting.
    Generate,
}

/// A speech-to-text provider and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SttChoice {
    /// The connection used; `null` is the local recogniser.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<uuid::Uuid>))]
    pub connection_id: Option<ConnectionId>,
    /// The provider's model name.
    #[serde(default)]
    pub model: Option<String>,
    /// Words the recogniser should expect.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 200))]
    pub keyterms: Vec<String>,
    /// Tried in order when this one fails.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 5))]
    pub fallbacks: Vec<Fallback>,
}

/// A language model and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LlmChoice {
    /// The connection used; `null` is the scripted dialogue.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<uuid::Uuid>))]
    pub connection_id: Option<ConnectionId>,
    /// The provider's model name.
    #[serde(default)]
    pub model: Option<String>,
    /// Sampling temperature, 0 to 2.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 2))]
    pub temperature: Option<f32>,
    /// The longest answer, in tokens.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub max_tokens: Option<u32>,
    /// Tried in order when this one fails.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 5))]
    pub fallbacks: Vec<Fallback>,
    /// Whether the next model, or the same one where there is no other, is asked as well when the first has not begun to
    /// answer within the time in which it usually does. Whoever answers first is heard; both are paid for.
    #[serde(default)]
    pub hedge: bool,
}

/// A text-to-speech provider and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TtsChoice {
    /// The connection used; `null` is the local voice.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<uuid::Uuid>))]
    pub connection_id: Option<ConnectionId>,
    /// The provider's voice name.
    #[serde(default)]
    pub voice: Option<String>,
    /// The provider's model name.
    #[serde(default)]
    pub model: Option<String>,
    /// Speaking rate, 0.5 to 2; 1 is the voice's own.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 0.5, maximum = 2))]
    pub speed: Option<f32>,
    /// Tried in order when this one fails.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 5))]
    pub fallbacks: Vec<Fallback>,
}

/// A speech-to-speech model and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RealtimeChoice {
    /// The connection used.
    #[cfg_attr(feature = "openapi", schema(value_type = uuid::Uuid))]
    pub connection_id: ConnectionId,
    /// The provider's model name.
    #[serde(default)]
    pub model: Option<String>,
    /// The provider's voice name.
    #[serde(default)]
    pub voice: Option<String>,
    /// Tried in order when the one before cannot be reached, is lost again and again, or understands nothing.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 5))]
    pub fallbacks: Vec<Fallback>,
}

/// A provider to try when the first one fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fallback {
    /// The connection used.
    #[cfg_attr(feature = "openapi", schema(value_type = uuid::Uuid))]
    pub connection_id: ConnectionId,
    /// The provider's model name.
    #[serde(default)]
    pub model: Option<String>,
    /// The provider's voice name, for text to speech.
    #[serde(default)]
    pub voice: Option<String>,
}

/// When the caller has finished a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TurnTaking {
    /// Silence after a sentence that sounds finished, in milliseconds, 100 to 5000.
    #[cfg_attr(feature = "openapi", schema(minimum = 100, maximum = 5_000))]
    pub min_silence_ms: u32,
    /// Silence after which a turn ends whatever was said, in milliseconds, 200 to 10000.
    #[cfg_attr(feature = "openapi", schema(minimum = 200, maximum = 10_000))]
    pub max_silence_ms: u32,
    /// Whether the model is asked on a likely end of turn already, its answer thrown away if the caller goes on.
    pub speculative: bool,
}

impl Default for TurnTaking {
    fn default() -> Self {
        Self { min_silence_ms: 400, max_silence_ms: 2_000, speculative: true }
    }
}

/// What happens when the caller talks over the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Interruption {
    /// Whether the caller can interrupt at all.
    pub enabled: bool,
    /// Speech needed to interrupt, in milliseconds, 50 to 5000; shorter noises only pause the agent.
    #[cfg_attr(feature = "openapi", schema(minimum = 50, maximum = 5_000))]
    pub min_speech_ms: u32,
    /// Recognised words needed to interrupt before `min_speech_ms` has passed; 0 does not look at words.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 20))]
    pub min_words: u32,
    /// Words that never interrupt by themselves.
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

/// What happens when the caller says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Silence {
    /// Silence after which the agent asks again, in seconds, 2 to 600.
    #[cfg_attr(feature = "openapi", schema(minimum = 2, maximum = 600))]
    pub reprompt_after_seconds: u32,
    /// How often it asks, 0 to 10.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 10))]
    pub max_reprompts: u32,
    /// Silence of the caller after which the agent hangs up, in seconds, 5 to 3600; `null` never.
    #[cfg_attr(feature = "openapi", schema(minimum = 5, maximum = 3_600))]
    pub hangup_after_seconds: Option<u32>,
}

impl Default for Silence {
    fn default() -> Self {
        Self { reprompt_after_seconds: 8, max_reprompts: 2, hangup_after_seconds: Some(30) }
    }
}

/// How long a call may ring and last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Limits {
    /// The longest conversation, in seconds, 10 to 14400.
    #[cfg_attr(feature = "openapi", schema(minimum = 10, maximum = 14_400))]
    pub max_duration_seconds: u32,
    /// How long the phone rings before the call counts as not answered, in seconds, 5 to 120.
    #[cfg_attr(feature = "openapi", schema(minimum = 5, maximum = 120))]
    pub ring_timeout_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_duration_seconds: 1_800, ring_timeout_seconds: 30 }
    }
}

/// What to do about voicemail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AnsweringMachine {
    /// Whether machines are looked for.
    pub mode: MachineDetection,
    /// What happens when one answers.
    pub on_machine: OnMachine,
    /// What is said after the beep when `on_machine` is `leave_message`.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    pub message: Option<String>,
}

/// Whether answering machines are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MachineDetection {
    /// The agent talks to a machine like to anybody.
    #[default]
    Off,
    /// A machine is recognised by its greeting and beep.
    Detect,
}

/// What happens when a machine answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnMachine {
    /// The agent hangs up; the call is completed with `end_reason` `voicemail`.
    #[default]
    Hangup,
    /// The agent speaks `message` after the beep, then hangs up.
    LeaveMessage,
}

/// What is written down after the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AnalysisSettings {
    /// Whether the language model writes a summary.
    pub summary: bool,
    /// JSON Schema of `outcome`; without one the provider decides what it found worth keeping, unless no summary is
    /// wanted either: then the model is not asked to look back at all.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub schema: Option<Value>,
}

impl Default for AnalysisSettings {
    fn default() -> Self {
        Self { summary: true, schema: None }
    }
}

/// Whether calls are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Recording {
    /// A stereo WAV is kept: caller left, agent right.
    pub enabled: bool,
}

/// A variable of a call, used as `{{name}}` in texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Variable {
    /// Whether a call must give it.
    pub required: bool,
    /// Used when a call does not give it.
    #[cfg_attr(feature = "openapi", schema(max_length = 16_000))]
    pub default: Option<String>,
}

impl AgentConfig {
    /// An agent with these instructions and every default.
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

    /// Every connection this agent names, with the path of the field that names it.
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

/// Replaces every `{{name}}` in `text` by its value; an unknown name becomes nothing.
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
