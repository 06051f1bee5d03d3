//! How the parsers of one kind are driven.

use serde_json::Value;

use super::Read;
use crate::carrier::stream;
use crate::carrier::stream::codec::StreamDecoder;
use crate::outbound::ws::Message;
use crate::providers::llm::{Answer, Step};
use crate::providers::prices::Rates;
use crate::providers::realtime::RealtimeEvent;
use crate::providers::voice::wire::{What, Wire};
use crate::providers::{realtime, streaming};

/// Bytes of a thing without words.
const SMALL: usize = 16;

/// A recogniser on a websocket; we ask for the final words after every message.
pub(crate) fn recogniser(protocol: &mut dyn streaming::Protocol, messages: &[Vec<u8>]) -> Read {
    use streaming::Heard;
    let size = |heard: &Heard| match heard {
        Heard::Partial(text) | Heard::Words(text) => text.len(),
        Heard::Answer(message) => message.len(),
        Heard::Ready | Heard::Flushed | Heard::Failed(_) | Heard::TurnOver => SMALL,
    };
    Read::each_text(messages, |message| {
        let heard = protocol.read(message).map(|heard| heard.iter().map(size).sum());
        protocol.finalize();
        heard
    })
}

/// A voice on a websocket. Messages that are no text are sound.
pub(crate) fn voice(wire: &impl Wire, messages: &[Vec<u8>]) -> Read {
    let size = |what: &What| match what {
        What::Piece(piece) => piece.sound.len(),
        What::Done | What::Stopped | What::Refused(_) => SMALL,
    };
    Read::each(messages, |message| {
        let message = match std::str::from_utf8(message) {
            Ok(text) => Message::text(text),
            Err(_) => Message::binary(message.to_vec()),
        };
        wire.read(&message).map(|heard| heard.iter().map(|heard| size(&heard.what)).sum())
    })
}

/// A language model: the data of each event of its stream, then its end.
pub(crate) fn model<A: Answer>(messages: &[Vec<u8>]) -> Read {
    let mut answer = A::default();
    let mut read = Read::each(messages, |message| {
        let event: Value = serde_json::from_slice(message).map_err(drop)?;
        let step = answer.take(&event).map_err(drop)?;
        let usage = answer.usage().unwrap_or_default();
        let _ = Rates::price(None, usage + usage);
        Ok::<_, ()>(if let Step::Text(text) = step { text.len() } else { SMALL })
    });
    let calls = answer.finish(true).unwrap_or_default();
    read.given +=
        calls.iter().map(|call| call.name.len() + call.id.len() + call.arguments.to_string().len()).sum::<usize>();
    read
}

/// A speech-to-speech session.
pub(crate) fn session(protocol: &mut dyn realtime::protocol::Protocol, messages: &[Vec<u8>]) -> Read {
    use realtime::protocol::Heard;
    let size = |heard: &Heard| match heard {
        Heard::Answer(text) => text.len(),
        Heard::Event(RealtimeEvent::Sound { samples, .. }) => 2 * samples.len(),
        Heard::Ready | Heard::Event(_) => SMALL,
    };
    Read::each_text(messages, |message| protocol.read(message).map(|heard| heard.iter().map(size).sum()))
}

/// A carrier's media stream, its audio decoded.
pub(crate) fn media(wire: &mut dyn stream::StreamProtocol, messages: &[Vec<u8>]) -> Read {
    use stream::StreamEvent;
    let (mut decoder, mut payload, mut samples) = (None::<StreamDecoder>, Vec::new(), Vec::new());
    Read::each_text(messages, |message| {
        Ok(match wire.read(message, &mut payload) {
            StreamEvent::Malformed(words) => return Err(words),
            StreamEvent::Start(start) => {
                decoder = StreamDecoder::new(start.inbound).ok();
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
