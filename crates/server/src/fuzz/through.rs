//! How the parsers of one kind are driven.

use serde_json::Value;
use switchhook_media::format::AudioFormat;
use switchhook_net::outbound::ws::Message;

use super::Read;
use crate::carrier::stream;
use crate::carrier::stream::codec::StreamDecoder;
use crate::providers::llm::{LlmResponse, StreamStep};
use crate::providers::prices::Rates;
use crate::providers::realtime::RealtimeEvent;
use crate::providers::realtime::protocol::{RealtimeMessage, RealtimeProtocol};
use crate::providers::stt::{self, SttMessage};
use crate::providers::tts::protocol::{TtsEvent, TtsProtocol};

/// Bytes of a thing without words.
const SMALL: usize = 16;

/// A streaming STT provider; final words are requested after every message.
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

/// A streaming TTS provider. Messages that are not text are audio.
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

/// A language model: the data of each event of its stream, then its end.
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

/// A speech-to-speech session.
pub(crate) fn realtime(protocol: &mut dyn RealtimeProtocol, messages: &[Vec<u8>]) -> Read {
    let size = |message: &RealtimeMessage| match message {
        RealtimeMessage::Reply(text) => text.len(),
        RealtimeMessage::Event(RealtimeEvent::Audio { samples, .. }) => 2 * samples.len(),
        RealtimeMessage::Ready | RealtimeMessage::Event(_) => SMALL,
    };
    Read::each_text(messages, |message| protocol.read(message).map(|messages| messages.iter().map(size).sum()))
}

/// A carrier's media stream, its audio decoded.
pub(crate) fn media(wire: &mut dyn stream::StreamProtocol, messages: &[Vec<u8>]) -> Read {
    use stream::StreamEvent;
    let (mut decoder, mut payload, mut samples) = (None::<StreamDecoder>, Vec::new(), Vec::new());
    Read::each_text(messages, |message| {
        Ok(match wire.read(message, &mut payload) {
            StreamEvent::Malformed(words) => return Err(words),
            StreamEvent::Start(start) => {
                decoder = StreamDecoder::new(start.inbound, AudioFormat::Narrowband).ok();
                SMALL
            }
            StreamEvent::Audio { payload, .. } => {
                samples.clear();
                if let Some(decoder) = &mut decoder {
                    decoder.decode(payload, &mut samples);
                }
                2 * samples.len()
            }
            StreamEvent::Error(words) => words.len(),
            StreamEvent::Ignored | StreamEvent::Dtmf(_) | StreamEvent::Mark(_) | StreamEvent::Stop => SMALL,
        })
    })
}
