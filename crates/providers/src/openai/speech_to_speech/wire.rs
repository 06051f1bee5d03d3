//! The messages of one session, with the names of the API's general release; the names of its beta, which some servers still use, are
//! understood too.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use switchhook_core::conversation::{Message, Role, ToolCall, WITHHELD_WORDS};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;

use super::PROVIDER;
use super::audio::{Format, Incoming, Outgoing};
use crate::Usage;
use crate::failure::{self, FailureClass};
use crate::llm::finish_reason::FinishReason;
use crate::llm::tool_names::{fitting_name, without_namespace};
use crate::llm::turns::whole_arguments;
use crate::realtime::protocol::{RealtimeMessage, RealtimeProtocol};
use crate::realtime::{Instructions, RealtimeCommand, RealtimeEvent};
use crate::websocket::{StreamError, field, json as parse};

/// Prefix of the `event_id` of a `response.create`, which errors quote.
const REQUEST: &str = "request_";
/// The most tool calls of a response whose items have not arrived.
const MOST_CALLS: usize = 64;
/// The status of an item or a response that is complete.
const COMPLETED: &str = "completed";
/// Precedes text that must be spoken verbatim.
const EXACTLY: &str = "Say the following words to the caller, exactly as they stand here, and nothing else:";

pub(super) struct OpenAiRealtime {
    /// The session as requested.
    session: Value,
    instructions: String,
    /// The conversation before this session, one item each.
    before: Vec<Value>,
    format: Format,
    outgoing: Outgoing,
    incoming: Incoming,
    ready: bool,
    /// Responses that were requested and have not begun.
    requests: VecDeque<u32>,
    /// Whether the server repeats our metadata, so that a response without it was started by the server itself.
    echoes: bool,
    /// Items of the model whose text arrived in pieces.
    worded: HashSet<String>,
    /// Tool calls that were reported; each arrives up to three times.
    called: HashSet<String>,
    /// Tool calls of which only the arguments have arrived.
    arguments: Vec<Value>,
    turns: CallerTurns,
    /// The last response of which something was spoken.
    spoken: String,
}

impl OpenAiRealtime {
    /// Creates the protocol for a call whose audio has the format `call`.
    pub(super) fn new(
        session: Value,
        instructions: String,
        messages: &[Message],
        format: Format,
        call: AudioFormat,
    ) -> Self {
        Self {
            session,
            instructions,
            before: messages.iter().flat_map(items).collect(),
            format,
            outgoing: Outgoing::new(format, call),
            incoming: Incoming::new(format, call),
            ready: false,
            requests: VecDeque::new(),
            echoes: false,
            worded: HashSet::new(),
            called: HashSet::new(),
            arguments: Vec::new(),
            turns: CallerTurns::default(),
            spoken: String::new(),
        }
    }

    /// Checks the session's settings: a server that accepted them but uses others would produce noise.
    fn updated(&mut self, message: &Value) -> Result<Vec<RealtimeMessage>, StreamError> {
        if std::mem::replace(&mut self.ready, true) {
            return Ok(Vec::new());
        }
        let session = &message["session"];
        let [input, output] = ["input", "output"].map(|direction| &session["audio"][direction]["format"]);
        // A server with the beta's names ignores the formats that were requested. What the beta reports of its input may be wrong.
        let output = if output.is_null() { &session["output_audio_format"] } else { output };
        for (direction, format) in [("input", input), ("output", output)] {
            if let Some(other) = self.format.other(format) {
                let wanted = self.format.name();
                return Err(StreamError::Permanent(format!(
                    "it uses {other} for {direction} in place of {wanted}; choose another settings.realtime_format"
                )));
            }
        }
        let before = std::mem::take(&mut self.before);
        let items = before.into_iter().map(|item| RealtimeMessage::Reply(create_item(item)));
        Ok(items.chain([RealtimeMessage::Ready]).collect())
    }

    fn response_started(&mut self, response: &Value) -> Vec<RealtimeMessage> {
        let named = response["metadata"]["request"].as_str().and_then(|request| request.parse().ok());
        self.echoes |= named.is_some();
        let request = match named {
            Some(request) => Some(request),
            None if self.echoes => None,
            None => self.requests.front().copied(),
        };
        self.requests.retain(|other| Some(*other) != request);
        vec![RealtimeMessage::Event(RealtimeEvent::ResponseStarted {
            response: field(response, "id").to_owned(),
            request,
        })]
    }

    fn audio(&mut self, message: &Value) -> Result<Vec<RealtimeMessage>, StreamError> {
        self.note_spoken(message);
        let samples = self.incoming.push(field(message, "delta"));
        let samples = samples.ok_or_else(|| StreamError::Retryable("it sent audio that is not base64".to_owned()))?;
        Ok(vec![made(message, samples)])
    }

    fn note_spoken(&mut self, message: &Value) {
        let response = field(message, "response_id");
        if self.spoken != response {
            response.clone_into(&mut self.spoken);
        }
    }

    fn audio_done(&mut self, message: &Value) -> Vec<RealtimeMessage> {
        let rest = self.incoming.finish();
        let rest = (!rest.is_empty()).then(|| made(message, rest));
        let done = RealtimeEvent::AudioDone { item: field(message, "item_id").to_owned() };
        rest.into_iter().chain([RealtimeMessage::Event(done)]).collect()
    }

    /// Handles text, which arrives in pieces or only as a whole.
    fn words(&mut self, message: &Value, text: &str, whole: bool) -> Vec<RealtimeMessage> {
        let item = field(message, "item_id");
        let known = self.worded.contains(item);
        if text.is_empty() || (whole && known) {
            return Vec::new();
        }
        self.worded.insert(item.to_owned());
        self.note_spoken(message);
        let response = field(message, "response_id").to_owned();
        vec![RealtimeMessage::Event(RealtimeEvent::Text { response, item: item.to_owned(), text: text.to_owned() })]
    }

    /// Returns a completed tool call the first time it arrives. One that broke off may lack the arguments that restrict it. `whole` says
    /// whether its response is complete, once that is known.
    fn tool_call(&mut self, response: &str, item: &Value, whole: Option<bool>) -> Option<RealtimeMessage> {
        let id = field(item, "call_id");
        let completed = match field(item, "status") {
            COMPLETED => true,
            "incomplete" => false,
            // Without arguments it may have broken off before them.
            "" => whole.unwrap_or_else(|| item["status"].is_null() && has_arguments(item)),
            _ => whole.unwrap_or(false),
        };
        if field(item, "type") != "function_call" || id.is_empty() || !completed || !self.called.insert(id.to_owned()) {
            return None;
        }
        let arguments = whole_arguments(item.get("arguments"));
        let name = without_namespace(field(item, "name")).to_owned();
        let call = ToolCall { id: id.to_owned(), name, arguments, signature: None };
        Some(RealtimeMessage::Event(RealtimeEvent::ToolCall { response: response.to_owned(), call }))
    }

    fn response_done(&mut self, response: &Value) -> Vec<RealtimeMessage> {
        let id = field(response, "id");
        let output = response["output"].as_array().map(Vec::as_slice).unwrap_or_default();
        // If the response broke off, only items with the status completed are whole.
        let whole = response["status"].is_null() || field(response, "status") == COMPLETED;
        let alone = std::mem::take(&mut self.arguments);
        let alone = alone.iter().filter(|item| field(item, "response_id") == id);
        let mut messages: Vec<RealtimeMessage> =
            output.iter().chain(alone).filter_map(|item| self.tool_call(id, item, Some(whole))).collect();
        let details = &response["status_details"];
        let acts = !messages.is_empty() || output.iter().any(|item| self.called.contains(field(item, "call_id")));
        let refused = is_refused(field(response, "status"), details);
        if refused && !acts && (self.spoken.is_empty() || self.spoken != id) {
            return self.refused(id, usage(&response["usage"]));
        }
        if whole && !acts {
            self.turns.answered();
        }
        let (failed, retry_after) = match field(response, "status") {
            // The caller has heard what the model said before the filter stopped it.
            _ if refused => (None, None),
            "failed" => (Some(words(&details["error"], "it failed to respond")), pause(&details["error"])),
            "incomplete" => (Some(format!("it broke off ({})", field(details, "reason"))), None),
            _ => (None, None),
        };
        let (response, usage) = (id.to_owned(), usage(&response["usage"]));
        messages.push(RealtimeMessage::Event(RealtimeEvent::ResponseDone { response, failed, retry_after, usage }));
        messages
    }

    /// Reports a response that was withheld, and leaves what the caller said out of the conversation: as long as it is in there, every
    /// response may be withheld.
    fn refused(&mut self, response: &str, usage: Usage) -> Vec<RealtimeMessage> {
        let left_out = self.turns.leave_out();
        let in_their_place = (!left_out.is_empty()).then(|| create_item(said("user", WITHHELD_WORDS)));
        let refused =
            RealtimeEvent::ResponseRefused { response: response.to_owned(), left_out: left_out.clone(), usage };
        let delete = |item: String| json!({ "type": "conversation.item.delete", "item_id": item }).to_string();
        let replies = left_out.into_iter().map(delete).chain(in_their_place).map(RealtimeMessage::Reply);
        replies.chain([RealtimeMessage::Event(refused)]).collect()
    }

    fn error(&mut self, error: &Value) -> Result<Vec<RealtimeMessage>, StreamError> {
        let code = [field(error, "code"), field(error, "type")].into_iter().find(|code| !code.is_empty());
        let code = code.unwrap_or("error");
        let request = field(error, "event_id").strip_prefix(REQUEST).and_then(|request| request.parse().ok());
        match (code, request) {
            _ if !self.ready => Err(match failure::classify_message(error).class {
                FailureClass::Provider | FailureClass::Timeout => StreamError::Retryable(words(error, "it failed")),
                _ => StreamError::Permanent(words(error, "it refused")),
            }),
            ("session_expired", _) => Err(StreamError::Retryable(words(error, "the session expired"))),
            ("conversation_already_has_active_response", request) => {
                let request = request.or_else(|| self.requests.front().copied());
                self.requests.retain(|other| Some(*other) != request);
                Ok(request.map(|request| RealtimeMessage::Event(RealtimeEvent::Busy { request })).into_iter().collect())
            }
            (_, Some(request)) => Ok(self.request_failed(request, error)),
            // There was nothing left to stop or to commit.
            ("response_cancel_not_active" | "input_audio_buffer_commit_empty", None) => Ok(Vec::new()),
            // Some servers do not quote the request.
            _ => match self.requests.front().copied().filter(|_| failure::is_about_request(error)) {
                Some(request) => Ok(self.request_failed(request, error)),
                None => {
                    tracing::warn!(
                        provider = PROVIDER,
                        code,
                        "a speech-to-speech session reported an error and continues"
                    );
                    Ok(Vec::new())
                }
            },
        }
    }

    /// Reports a request that failed before its response began.
    fn request_failed(&mut self, request: u32, error: &Value) -> Vec<RealtimeMessage> {
        self.requests.retain(|other| *other != request);
        let (response, failed) = (format!("{REQUEST}{request}"), Some(words(error, "it refused to respond")));
        let started = RealtimeEvent::ResponseStarted { response: response.clone(), request: Some(request) };
        if failure::classify_message(error).class == FailureClass::ContentRefused {
            let refused = self.refused(&response, Usage::default());
            return std::iter::once(RealtimeMessage::Event(started)).chain(refused).collect();
        }
        let (retry_after, usage) = (pause(error), Usage::default());
        let done = RealtimeEvent::ResponseDone { response, failed, retry_after, usage };
        vec![RealtimeMessage::Event(started), RealtimeMessage::Event(done)]
    }

    fn transcribed(&self, message: &Value, text: &str) -> Vec<RealtimeMessage> {
        let item = field(message, "item_id").to_owned();
        let usage = transcription(&message["usage"]);
        vec![RealtimeMessage::Event(RealtimeEvent::TurnTranscribed { item, text: text.trim().to_owned(), usage })]
    }
}

impl RealtimeProtocol for OpenAiRealtime {
    fn audio(&mut self, frame: &Frame) -> Option<String> {
        let audio = self.outgoing.push(frame)?;
        Some(json!({ "type": "input_audio_buffer.append", "audio": audio }).to_string())
    }

    fn send(&mut self, command: RealtimeCommand) -> Vec<String> {
        vec![match command {
            RealtimeCommand::Respond { request, instructions } => {
                self.requests.push_back(request);
                let mut response = json!({ "metadata": { "request": request.to_string() } });
                match instructions {
                    Instructions::Freely => {}
                    // A response's instructions replace the session's.
                    Instructions::Directed(text) => {
                        response["instructions"] = json!(format!("{}\n\n{text}", self.instructions));
                    }
                    Instructions::Exactly(text) => {
                        response["instructions"] = json!(format!("{EXACTLY}\n\n{text}"));
                        response["tool_choice"] = json!("none");
                    }
                }
                let event_id = format!("{REQUEST}{request}");
                json!({ "type": "response.create", "event_id": event_id, "response": response }).to_string()
            }
            // By id, since another one may have begun meanwhile.
            RealtimeCommand::Cancel { response } => {
                json!({ "type": "response.cancel", "response_id": response }).to_string()
            }
            RealtimeCommand::Truncate { item, heard } => json!({
                "type": "conversation.item.truncate", "item_id": item, "content_index": 0,
                "audio_end_ms": u64::try_from(heard.as_millis()).unwrap_or(u64::MAX),
            })
            .to_string(),
            RealtimeCommand::ToolOutput { id, result } => {
                create_item(json!({ "type": "function_call_output", "call_id": id, "output": result.to_string() }))
            }
            RealtimeCommand::AddContext { text } => create_item(said("user", &text)),
            RealtimeCommand::EndTurn => json!({ "type": "input_audio_buffer.commit" }).to_string(),
        }]
    }

    fn read(&mut self, message: &str) -> Result<Vec<RealtimeMessage>, StreamError> {
        let message = parse(message)?;
        let event = |event| Ok(vec![RealtimeMessage::Event(event)]);
        let item = || field(&message, "item_id").to_owned();
        match field(&message, "type") {
            "session.created" => {
                let update = json!({ "type": "session.update", "session": self.session });
                Ok(vec![RealtimeMessage::Reply(update.to_string())])
            }
            "session.updated" => self.updated(&message),
            "input_audio_buffer.speech_started" => event(RealtimeEvent::SpeechStarted),
            "input_audio_buffer.speech_stopped" => event(RealtimeEvent::SpeechStopped),
            "input_audio_buffer.committed" => {
                self.turns.committed(item());
                event(RealtimeEvent::TurnCommitted { item: item() })
            }
            "conversation.item.input_audio_transcription.completed" => {
                Ok(self.transcribed(&message, field(&message, "transcript")))
            }
            "conversation.item.input_audio_transcription.failed" => {
                tracing::warn!(provider = PROVIDER, "could not transcribe a caller's turn");
                Ok(self.transcribed(&message, ""))
            }
            "response.created" => Ok(self.response_started(&message["response"])),
            "response.output_audio.delta" | "response.audio.delta" => Self::audio(self, &message),
            "response.output_audio.done" | "response.audio.done" => Ok(self.audio_done(&message)),
            "response.output_audio_transcript.delta" | "response.audio_transcript.delta" => {
                Ok(self.words(&message, field(&message, "delta"), false))
            }
            "response.output_audio_transcript.done" | "response.audio_transcript.done" => {
                Ok(self.words(&message, field(&message, "transcript"), true))
            }
            "response.output_item.done" => {
                Ok(self.tool_call(field(&message, "response_id"), &message["item"], None).into_iter().collect())
            }
            // Some servers send nothing else of a call. It counts with the end of its response, if that is complete.
            "response.function_call_arguments.done" if self.arguments.len() < MOST_CALLS => {
                let (response, id, name) =
                    (field(&message, "response_id"), field(&message, "call_id"), field(&message, "name"));
                self.arguments.push(json!({
                    "type": "function_call", "response_id": response, "call_id": id, "name": name,
                    "arguments": message["arguments"],
                }));
                Ok(Vec::new())
            }
            "response.done" => Ok(self.response_done(&message["response"])),
            "error" => self.error(&message["error"]),
            _ => Ok(Vec::new()),
        }
    }
}

/// The caller's turns that are items of the conversation.
#[derive(Default)]
struct CallerTurns {
    items: Vec<String>,
    /// How many of them, from the first on, have had a response.
    answered: usize,
    /// Whether some were left out since the last response.
    are_left_out: bool,
}

impl CallerTurns {
    fn committed(&mut self, item: String) {
        if !item.is_empty() && !self.items.contains(&item) {
            self.items.push(item);
        }
    }

    fn answered(&mut self) {
        (self.answered, self.are_left_out) = (self.items.len(), false);
    }

    /// Takes the turns since the last response, or the last turn if none came since; all of them at the next refusal in a row.
    fn leave_out(&mut self) -> Vec<String> {
        let last = self.items.len().saturating_sub(1);
        let first = if self.are_left_out { 0 } else { self.answered.min(last) };
        (self.answered, self.are_left_out) = (first, true);
        self.items.split_off(first)
    }
}

/// Returns whether a content filter withheld a response.
fn is_refused(status: &str, details: &Value) -> bool {
    let by_reason = || FinishReason::read(field(details, "reason")) == FinishReason::Refused;
    let by_error = || failure::classify_message(&details["error"]).class == FailureClass::ContentRefused;
    matches!(status, "incomplete" | "failed") && (by_reason() || by_error())
}

/// Returns whether a tool call has arguments.
fn has_arguments(item: &Value) -> bool {
    match &item["arguments"] {
        Value::String(text) => !text.trim().is_empty(),
        arguments => !arguments.is_null(),
    }
}

fn made(message: &Value, samples: Vec<i16>) -> RealtimeMessage {
    let (response, item) = (field(message, "response_id").to_owned(), field(message, "item_id").to_owned());
    RealtimeMessage::Event(RealtimeEvent::Audio { response, item, samples })
}

fn create_item(item: Value) -> String {
    json!({ "type": "conversation.item.create", "item": item }).to_string()
}

fn said(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}

/// Converts a message of an earlier session to items. Instructions are not an item.
fn items(message: &Message) -> Vec<Value> {
    match (message.role, &message.tool_call_id) {
        (Role::System, _) => Vec::new(),
        (Role::User, _) => vec![said("user", &message.text)],
        (Role::Tool, Some(id)) => {
            vec![json!({ "type": "function_call_output", "call_id": id, "output": message.text })]
        }
        (Role::Tool, None) => Vec::new(),
        (Role::Assistant, _) => {
            let words = (!message.text.is_empty()).then(|| said("assistant", &message.text));
            let calls = message.tool_calls.iter().map(|call| {
                let (name, arguments) = (fitting_name(&call.name), call.arguments.to_string());
                json!({ "type": "function_call", "call_id": call.id, "name": name, "arguments": arguments })
            });
            words.into_iter().chain(calls).collect()
        }
    }
}

/// Returns how long the provider asks to wait, even if that is longer than a caller waits for other models.
fn pause(error: &Value) -> Option<Duration> {
    let classified = failure::classify_message(error);
    classified.busy.or(classified.retry_after)
}

/// Returns the provider's message and error code.
fn words(error: &Value, otherwise: &str) -> String {
    let code = [field(error, "code"), field(error, "type")].into_iter().find(|code| !code.is_empty());
    let message = Some(field(error, "message")).filter(|message| !message.is_empty()).unwrap_or(otherwise);
    match code {
        Some(code) => format!("{message} ({code})"),
        None => message.to_owned(),
    }
}

/// Returns the usage of a turn's transcription, in seconds or tokens of another model, which the price table does not contain.
fn transcription(usage: &Value) -> Usage {
    let seconds = usage["seconds"].as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let stt_audio_ms = seconds.and_then(|seconds| u64::try_from(seconds.as_millis()).ok()).unwrap_or(0);
    Usage { stt_audio_ms, unpriced: usage.is_object(), ..Usage::default() }
}

fn usage(usage: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let (input, output) = (&usage["input_token_details"], &usage["output_token_details"]);
    let cached = &input["cached_tokens_details"];
    Usage {
        llm_input_tokens: count(&input["text_tokens"]),
        llm_cached_tokens: count(&cached["text_tokens"]),
        llm_output_tokens: count(&output["text_tokens"]),
        audio_input_tokens: count(&input["audio_tokens"]),
        audio_cached_tokens: count(&cached["audio_tokens"]),
        audio_output_tokens: count(&output["audio_tokens"]),
        ..Usage::default()
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"type":"session.created","session":{}}"##,
                r##"{"type":"session.updated","session":{"audio":{"input":{"format":{"type":"audio/pcmu"}},"output":{"format":{"type":"audio/pcmu"}}}}}"##,
                r##"{"type":"input_audio_buffer.speech_started","item_id":"i"}"##,
                r##"{"type":"input_audio_buffer.speech_stopped","item_id":"i"}"##,
                r##"{"type":"input_audio_buffer.committed","item_id":"i"}"##,
                r##"{"type":"conversation.item.input_audio_transcription.completed","item_id":"i","transcript":"Book a table.","usage":{"type":"duration","seconds":2.5}}"##,
                r##"{"type":"response.created","response":{"id":"r","metadata":{"request":"1"}}}"##,
                r##"{"type":"response.output_audio.delta","response_id":"r","item_id":"o","delta":"/38A/38A"}"##,
                r##"{"type":"response.output_audio_transcript.delta","response_id":"r","item_id":"o","delta":"Yes"}"##,
                r##"{"type":"response.output_audio.done","response_id":"r","item_id":"o"}"##,
                r##"{"type":"response.output_item.done","response_id":"r","item":{"type":"function_call","id":"f","call_id":"c","name":"book","arguments":"{\"people\":4}"}}"##,
                r##"{"type":"response.done","response":{"id":"r","status":"completed","output":[],"usage":{"input_token_details":{"text_tokens":9,"audio_tokens":7,"cached_tokens_details":{"text_tokens":1,"audio_tokens":1}},"output_token_details":{"text_tokens":3,"audio_tokens":4}}}}"##,
            ],
            &[
                r##"{"type":"session.updated","session":{}}"##,
                r##"{"type":"error","error":{"type":"invalid_request_error","code":"response_cancel_not_active","message":"No.","event_id":"request_1"}}"##,
                r##"{"type":"response.done","response":{"id":"r","status":"failed","status_details":{"error":{"type":"server_error","message":"No."}}}}"##,
            ],
        ])
    },
    read: |messages| {
        let mut wire = OpenAiRealtime::new(json!({}), String::new(), &[], Format::Linear16, AudioFormat::Narrowband);
        crate::fuzz::realtime(&mut wire, messages)
    },
};

#[cfg(test)]
mod tests;
