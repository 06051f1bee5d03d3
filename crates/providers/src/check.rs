//! Tests a connection for real: runs a small request of each kind that the provider offers.
//!
//! Checks use the provider's traits, so a new provider needs no code here.

use std::time::Duration;

use serde::Serialize;
use switchhook_caller_audio as recordings;
use switchhook_core::conversation::{Message, Role};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use tokio::sync::mpsc;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::entry::Provider;
use super::realtime::{Instructions, Realtime, RealtimeCommand, RealtimeEvent, RealtimeOptions};
use super::{Llm, LlmRequest, ProviderError, Stt, SttEvent, SttOptions, ToolSpec, Tts, TtsAudio, TtsRequest};

/// How long all checks may take.
pub const CHECKS_TIMEOUT: Duration = Duration::from_secs(15);
/// Token limit. The response is one word; reasoning models need more before it.
const TOKENS: u32 = 512;
/// The recording to transcribe: a short line of the simulated caller.
const LINE: &str = "hello";
/// The text to speak.
const WORD: &str = "Hello.";

/// One thing that was tried.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Check {
    /// What a check tries.
    #[schema(value_type = CheckName, example = "language_model")]
    pub name: &'static str,
    /// Whether it worked.
    pub ok: bool,
    /// Result in one sentence.
    #[schema(example = "It responded.")]
    pub detail: String,
    /// Duration.
    pub duration_ms: u64,
}

/// What a check tries.
#[derive(ToSchema)]
#[schema(as = ConnectionCheckName, rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the name of a Check")]
enum CheckName {
    /// The settings, as far as they can be checked without a request.
    Settings,
    /// The carrier.
    Carrier,
    /// The language model.
    LanguageModel,
    /// Speech to text.
    SpeechToText,
    /// Text to speech.
    TextToSpeech,
    /// The speech-to-speech model.
    SpeechToSpeech,
    /// The service that tools use.
    Service,
}

impl Check {
    /// Creates a failed check for a problem that was found without a request.
    #[must_use]
    pub fn failed(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, ok: false, detail: detail.into(), duration_ms: 0 }
    }

    /// Runs `work` within `deadline`; it returns a sentence about its result or about what is wrong.
    pub async fn within(
        deadline: Duration,
        name: &'static str,
        work: impl Future<Output = Result<String, String>>,
    ) -> Self {
        let began = Instant::now();
        let late = || Err(format!("There was no response within {} seconds.", deadline.as_secs()));
        let result = tokio::time::timeout(deadline, work).await.unwrap_or_else(|_| late());
        let ok = result.is_ok();
        let detail = result.unwrap_or_else(|words| words);
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Self { name, ok, detail, duration_ms }
    }
}

/// The tools of agents that use a connection.
#[derive(Clone, Debug, Default)]
pub struct AgentTools {
    /// Of its language model, in as many requests as it takes for their names to be unique in each.
    pub language_model: Vec<Vec<ToolSpec>>,
    /// Of its speech-to-speech model.
    pub speech_to_speech: Vec<ToolSpec>,
}

/// Requests with tools in one test.
const REQUESTS: usize = 3;
/// Requests to find a tool that the model's server refuses without naming it.
const MOST_SEARCHES: usize = 8;
/// Tools in one request; some models refuse more.
const MOST_TOOLS: usize = 128;

impl AgentTools {
    /// Adds the tools of an agent whose language model this is.
    pub fn add(&mut self, tools: Vec<ToolSpec>) {
        for tool in tools {
            let same = |known: &ToolSpec| known.name == tool.name;
            if self.language_model.iter().flatten().any(|known| same(known) && known.parameters == tool.parameters) {
                continue;
            }
            let free = |request: &&mut Vec<ToolSpec>| request.len() < MOST_TOOLS && !request.iter().any(same);
            if let Some(request) = self.language_model.iter_mut().find(free) {
                request.push(tool);
            } else if self.language_model.len() < REQUESTS {
                self.language_model.push(vec![tool]);
            }
        }
    }
}

/// Checks everything that `provider` offers concurrently, within `deadline`.
pub async fn provider(provider: &Provider, tools: AgentTools, deadline: Duration) -> Vec<Check> {
    let AgentTools { language_model: requests, speech_to_speech: tools } = tools;
    let language_model = async {
        match provider.clone().llm() {
            Ok(llm) => Some(Check::within(deadline, "language_model", think(&*llm, requests)).await),
            Err(_) => None,
        }
    };
    let speech_to_text = async {
        match provider.clone().stt() {
            Ok(stt) => Some(Check::within(deadline, "speech_to_text", hear(&*stt)).await),
            Err(_) => None,
        }
    };
    let text_to_speech = async {
        match provider.clone().tts() {
            Ok(tts) => Some(Check::within(deadline, "text_to_speech", speak(&*tts)).await),
            Err(_) => None,
        }
    };
    let speech_to_speech = async {
        match provider.clone().realtime() {
            Ok(realtime) => Some(Check::within(deadline, "speech_to_speech", greet(&*realtime, tools)).await),
            Err(_) => None,
        }
    };
    let (first, second, third, fourth) = tokio::join!(language_model, speech_to_text, text_to_speech, speech_to_speech);
    [first, second, third, fourth].into_iter().flatten().collect()
}

fn sentence(error: &ProviderError) -> String {
    format!("{}.", error.to_string().trim_end_matches('.'))
}

/// Checks a language model and the tools that calls would send. Refused tools would be missing in calls.
async fn think(llm: &dyn Llm, requests: Vec<Vec<ToolSpec>>) -> Result<String, String> {
    llm.forget_refusals();
    if requests.is_empty() {
        return respond(llm, Vec::new()).await.map(|()| "It responded.".to_owned());
    }
    let (mut refused, mut count) = (Vec::new(), 0);
    for tools in requests {
        respond(llm, tools.clone()).await?;
        let mut searches = 0..MOST_SEARCHES;
        while llm.is_searching_refused(&tools) && searches.next().is_some() {
            respond(llm, tools.clone()).await?;
        }
        count += tools.len();
        refused.extend(llm.refused(&tools));
    }
    if refused.is_empty() {
        let tools = if count == 1 { "a tool" } else { "the tools" };
        return Ok(format!("It responded and takes {tools} of the agents that use it."));
    }
    let refused: Vec<String> = refused.iter().map(|tool| format!("{} ({})", tool.name, tool.message)).collect();
    Err(format!(
        "It responded, but refuses tools of the agents that use it, which calls leave out: {}.",
        refused.join(", ")
    ))
}

/// Requests a response. Its first piece is enough: dropping the request cancels the rest.
async fn respond(llm: &dyn Llm, tools: Vec<ToolSpec>) -> Result<(), String> {
    let request = LlmRequest {
        model: None,
        // In the form of a call, which reveals templates that do not accept it.
        messages: vec![
            Message::new(Role::System, "You answer with one word."),
            Message::new(Role::Assistant, "Hello, how can I help you?"),
            Message::new(Role::User, "Say yes."),
        ],
        tools,
        temperature: None,
        max_tokens: Some(TOKENS),
        withheld: None,
    };
    let (events, mut pieces) = mpsc::channel(8);
    let mut responding = std::pin::pin!(llm.respond(request, events));
    tokio::select! {
        biased;
        Some(_) = pieces.recv() => Ok(()),
        result = &mut responding => result.map(drop).map_err(|error| sentence(&error)),
    }
}

async fn speak(tts: &dyn Tts) -> Result<String, String> {
    let format = AudioFormat::default();
    let (text, language) = (WORD.to_owned(), "en-US".to_owned());
    let request = TtsRequest { text, voice: None, model: None, speed: 1.0, language, format };
    let (audio, mut pieces) = mpsc::channel::<TtsAudio>(8);
    let listening = async {
        let mut samples = 0;
        while let Some(piece) = pieces.recv().await {
            samples += piece.samples.len() as u64;
        }
        samples
    };
    match tokio::join!(tts.speak(request, audio), listening) {
        (Ok(_), 0) => Err("It returned no audio.".to_owned()),
        (Ok(_), samples) => Ok(format!("It spoke a word in {} ms of audio.", format.duration(samples).as_millis())),
        (Err(error), _) => Err(sentence(&error)),
    }
}

async fn hear(stt: &dyn Stt) -> Result<String, String> {
    let (events, mut heard) = mpsc::channel(64);
    let options = SttOptions { language: "en-US".to_owned(), ..SttOptions::default() };
    let format = options.format;
    let mut session = stt.open(options, events).await.map_err(|error| sentence(&error))?;
    let line = recordings::recording(LINE).expect("a shipped recording");
    session.speech_started();
    for samples in line.samples(format).chunks(format.frame_samples()) {
        session.audio(&CallerAudio(Frame::from_slice(format, samples)));
    }
    session.speech_stopped(0);
    loop {
        match heard.recv().await {
            Some(SttEvent::Final { text, .. }) if text.trim().is_empty() => {
                return Err("It heard no words in a recorded one.".to_owned());
            }
            Some(SttEvent::Final { .. }) => return Ok("It understood a recorded word.".to_owned()),
            Some(SttEvent::Failed { message, .. }) => return Err(format!("{}.", message.trim_end_matches('.'))),
            Some(SttEvent::Partial { .. } | SttEvent::EndOfTurn) => {}
            None => return Err("It stopped without having said anything.".to_owned()),
        }
    }
}

/// Checks speech to speech. The first audio of a word is enough: dropping the session ends it.
async fn greet(realtime: &dyn Realtime, tools: Vec<ToolSpec>) -> Result<String, String> {
    let options = RealtimeOptions {
        model: None,
        voice: None,
        language: "en-US".to_owned(),
        messages: vec![Message::new(Role::System, "You answer with one word.")],
        tools,
        interruptible: true,
        min_silence_ms: 500,
        max_silence_ms: 2_000,
        pcm: false,
        format: AudioFormat::default(),
    };
    let (events, mut said) = mpsc::channel(64);
    let mut session = realtime.open(options, events).await.map_err(|error| sentence(&error))?;
    session.send(RealtimeCommand::Respond { request: 1, instructions: Instructions::Exactly(WORD.to_owned()) });
    loop {
        match said.recv().await {
            Some(RealtimeEvent::Audio { .. }) => return Ok("It spoke.".to_owned()),
            Some(RealtimeEvent::ResponseDone { failed, .. }) => {
                let words = failed.unwrap_or_else(|| "its response contained no audio".to_owned());
                return Err(format!("{}.", words.trim_end_matches('.')));
            }
            Some(RealtimeEvent::ResponseRefused { .. }) => {
                return Err("Its content filter withheld the response.".to_owned());
            }
            Some(RealtimeEvent::Lost(error)) => return Err(sentence(&error)),
            Some(_) => {}
            None => return Err("It stopped without having said anything.".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tool(name: &str, parameters: Value) -> ToolSpec {
        ToolSpec { name: name.to_owned(), description: String::new(), parameters }
    }

    #[test]
    fn tools_of_many_agents_fill_few_requests_in_which_each_name_stands_once() {
        let mut tools = AgentTools::default();
        let end = || tool("end_call", json!({}));
        tools.add(vec![end(), tool("book", json!(1))]);
        tools.add(vec![end(), tool("book", json!(2)), tool("tables", json!(1))]);
        for other in 3..9 {
            tools.add(vec![end(), tool("book", json!(other))]);
        }
        let names = |request: &Vec<ToolSpec>| -> Vec<String> {
            request.iter().map(|tool| format!("{} {}", tool.name, tool.parameters)).collect()
        };
        let requests: Vec<_> = tools.language_model.iter().map(names).collect();
        assert_eq!(requests, [vec!["end_call {}", "book 1", "tables 1"], vec!["book 2"], vec!["book 3"]]);
    }

    #[tokio::test]
    async fn what_does_not_answer_is_a_failed_check_and_not_a_hang() {
        let check = Check::within(Duration::from_millis(20), "carrier", std::future::pending()).await;
        assert!(!check.ok && check.duration_ms >= 20 && check.detail.contains("no response"), "{check:?}");
    }
}
