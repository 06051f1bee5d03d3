//! Fuzzes the parsers of this crate with damaged messages, and drives those of one kind alike.

use std::path::Path;

use serde_json::Value;
use switchhook_fuzz::{Read, Sources, Target};
use switchhook_net::outbound::ws::Message;

use crate::llm::{LlmResponse, StreamStep};
use crate::prices::Rates;
use crate::realtime::RealtimeEvent;
use crate::realtime::protocol::{RealtimeMessage, RealtimeProtocol};
use crate::stt::{self, SttMessage};
use crate::tts::protocol::{TtsEvent, TtsProtocol};
use crate::voices::{self, Voice, VoiceList};

/// The size counted for a message without text, in bytes.
const SMALL: usize = 16;

/// Drives a streaming STT provider; final words are requested after every message.
pub(crate) fn stt(protocol: &mut dyn stt::SttProtocol, messages: &[Vec<u8>]) -> Read {
    let size = |message: &SttMessage| match message {
        SttMessage::Partial(text) | SttMessage::Final(text) => text.len(),
        SttMessage::Reply(reply) => reply.len(),
        SttMessage::Ready | SttMessage::Finalized | SttMessage::Failed(_) | SttMessage::EndOfTurn => SMALL,
    };
    Read::each_text(messages, |message| {
        let read = protocol.read(message).map(|messages| messages.iter().map(size).sum());
        protocol.finalize();
        read
    })
}

/// Drives a streaming TTS provider. Messages that are not text are audio.
pub(crate) fn tts(protocol: &impl TtsProtocol, messages: &[Vec<u8>]) -> Read {
    let size = |event: &TtsEvent| match event {
        TtsEvent::Audio(chunk) => chunk.audio.len(),
        TtsEvent::Done | TtsEvent::Cancelled | TtsEvent::Failed(_) => SMALL,
    };
    Read::each(messages, |message| {
        let message = match std::str::from_utf8(message) {
            Ok(text) => Message::text(text),
            Err(_) => Message::binary(message.to_vec()),
        };
        protocol.read(&message).map(|messages| messages.iter().map(|message| size(&message.event)).sum())
    })
}

/// Drives a language model: the data of each event of its stream, then its end.
pub(crate) fn llm<R: LlmResponse>(messages: &[Vec<u8>]) -> Read {
    let mut response = R::default();
    let mut read = Read::each(messages, |message| {
        let event: Value = serde_json::from_slice(message).map_err(drop)?;
        let step = response.take(&event).map_err(drop)?;
        let usage = response.usage().unwrap_or_default();
        let _ = Rates::price(None, usage + usage);
        Ok::<_, ()>(if let StreamStep::Text(text) = step { text.len() } else { SMALL })
    });
    let calls = response.finish(true).unwrap_or_default();
    read.given +=
        calls.iter().map(|call| call.name.len() + call.id.len() + call.arguments.to_string().len()).sum::<usize>();
    read
}

/// Drives a speech-to-speech session.
pub(crate) fn realtime(protocol: &mut dyn RealtimeProtocol, messages: &[Vec<u8>]) -> Read {
    let size = |message: &RealtimeMessage| match message {
        RealtimeMessage::Reply(text) => text.len(),
        RealtimeMessage::Event(RealtimeEvent::Audio { samples, .. }) => 2 * samples.len(),
        RealtimeMessage::Ready | RealtimeMessage::Event(_) => SMALL,
    };
    Read::each_text(messages, |message| protocol.read(message).map(|messages| messages.iter().map(size).sum()))
}

/// Drives the reader of a provider's list of voices.
pub(crate) fn voices(read: fn(&Value) -> VoiceList, messages: &[Vec<u8>]) -> Read {
    let size = |voice: &Voice| {
        assert!(!voice.voice.is_empty() && !voice.name.is_empty(), "{voice:?}");
        let languages: usize = voice.languages.iter().map(String::len).sum();
        SMALL + voice.voice.len() + voice.name.len() + languages + voice.description.as_ref().map_or(0, String::len)
    };
    Read::each(messages, |message| {
        let list = voices::read_list(message, read).map_err(drop)?;
        if list.data.is_empty() { Err(()) } else { Ok(list.data.iter().map(size).sum()) }
    })
}

const TARGETS: [&Target; 25] = [
    &crate::anthropic::wire::FUZZED,
    &crate::assemblyai::stt::FUZZED,
    &crate::cartesia::stt::FUZZED,
    &crate::cartesia::tts::FUZZED,
    &crate::cartesia::voices::FUZZED,
    &crate::deepgram::flux::FUZZED,
    &crate::deepgram::nova::FUZZED,
    &crate::deepgram::tts::FUZZED,
    &crate::elevenlabs::stt::FUZZED,
    &crate::elevenlabs::tts::FUZZED,
    &crate::elevenlabs::voices::FUZZED,
    &crate::gemini::wire::FUZZED,
    &crate::llm::analysis::FUZZED,
    &crate::llm::speech_filter::FUZZED,
    &crate::llm::unstreamed::FUZZED,
    &crate::openai::realtime_stt::FUZZED,
    &crate::openai::speech_to_speech::wire::FUZZED,
    &crate::openai::transcriptions::FUZZED,
    &crate::openai::wire::FUZZED,
    &crate::failure::FUZZED,
    &crate::failure::pause::FUZZED,
    &crate::failure::unexpected::FUZZED,
    &crate::model_schema::FUZZED,
    &crate::sse::FUZZED,
    &crate::tts::decoder::FUZZED,
];

#[test]
fn every_file_that_reads_what_strangers_send_is_driven() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let elsewhere = &[
        ("llm/mod.rs", "passes the events of sse.rs to the response readers, which have targets"),
        ("llm/refused_tools.rs", "reads the names of tools that it wrote as JSON"),
        ("llm/turns.rs", "reads the arguments of calls for the response readers, which have targets"),
        ("llm/written_calls.rs", "reads the calls that speech_filter.rs finds, which has a target"),
        ("llm/written_calls/tags.rs", "reads the calls that speech_filter.rs finds, which has a target"),
        ("websocket/message.rs", "used by the adapters, which have targets"),
        ("voices.rs", "reads the answers of the adapters' voices.rs, which have targets"),
    ];
    Sources { root, folders: &[""], elsewhere }.assert_all_driven(&TARGETS);
}

#[test]
fn what_each_target_begins_with_is_what_its_parser_takes() {
    switchhook_fuzz::assert_seeds_are_taken(&TARGETS);
}

#[test]
fn whatever_strangers_send_is_read_or_refused() {
    switchhook_fuzz::assert_all_is_read_or_refused(&TARGETS);
}
