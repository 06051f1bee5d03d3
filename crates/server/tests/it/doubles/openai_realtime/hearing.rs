//! Detects the beginnings and ends of the caller's turns.

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::session::{Over, Session};
use super::{Hears, locked};

/// Silence of the caller that ends a turn, in addition to that of the STT, in frames.
const SILENCE: u32 = 25;
/// The delay of a transcript after the response has begun.
const LATE: Duration = Duration::from_millis(400);

impl Session {
    pub(super) async fn hear(&mut self, message: &Value) -> Result<(), Over> {
        let sound = message["audio"].as_str().and_then(|audio| STANDARD.decode(audio).ok());
        let fits = |sound: &Vec<u8>| match self.law {
            Some(_) => sound.len() == 160,
            None => !sound.is_empty() && sound.len().is_multiple_of(2),
        };
        let Some(sound) = sound.filter(|sound| self.ready && fits(sound)) else {
            return Err(Over::Refused(
                "audio that is no 20 ms of the format, or came before the session was set up".to_owned(),
            ));
        };
        self.uncommitted = true;
        if !self.understands() {
            return Ok(());
        }
        let heard = self.decoded(&sound);
        self.stt.hear("linear16", &heard);
        self.pretend().await?;
        if self.hears() == Hears::WhatIsCommitted {
            return Ok(());
        }
        if self.stt.has_started() {
            self.stopped = None;
            if !self.speaking {
                self.starts().await?;
            }
        }
        if self.stt.has_stopped() {
            self.stopped = Some(0);
        }
        if let Some(frames) = &mut self.stopped {
            *frames += 1;
            if *frames > SILENCE {
                self.stopped = None;
                let words = self.stt.words();
                self.stops(&words).await?;
            }
        }
        Ok(())
    }

    fn hears(&self) -> Hears {
        locked(&self.shared.hears, |hears| *hears)
    }

    /// Returns whether it understands the audio.
    fn understands(&self) -> bool {
        match self.hears() {
            Hears::Well | Hears::WhatIsCommitted => true,
            Hears::PcmOnly => self.law.is_none(),
            Hears::Nothing => false,
        }
    }

    /// Decodes audio to 16-bit PCM at 8 kHz.
    fn decoded(&mut self, sound: &[u8]) -> Vec<u8> {
        let samples = match self.law {
            Some(law) => sound.iter().map(|byte| law.decode(*byte)).collect(),
            None => {
                let samples: Vec<i16> = sound.chunks_exact(2).map(|two| i16::from_le_bytes([two[0], two[1]])).collect();
                let mut out = Vec::new();
                self.resampler.process(&samples, &mut out);
                out
            }
        };
        samples.into_iter().flat_map(i16::to_le_bytes).collect()
    }

    /// Handles a commit of the caller's turn, which alone does not start a response.
    pub(super) async fn commit(&mut self, message: &Value) -> Result<(), Over> {
        if !std::mem::take(&mut self.uncommitted) {
            return self.error(message, "input_audio_buffer_commit_empty").await;
        }
        (self.speaking, self.stopped) = (false, None);
        let words = if self.understands() { self.stt.words() } else { String::new() };
        let item = self.name("item");
        self.say(json!({ "type": "input_audio_buffer.committed", "item_id": item })).await?;
        self.transcribe_late(&item, &words);
        Ok(())
    }

    /// Recognises the scripted turns.
    async fn pretend(&mut self) -> Result<(), Over> {
        let Some((after, lasts, words)) = locked(&self.shared.turns, |turns| turns.front().copied()) else {
            return Ok(());
        };
        self.heard_ms += 20;
        if self.heard_ms == after {
            self.starts().await?;
        }
        if self.heard_ms >= after + lasts {
            self.heard_ms = 0;
            locked(&self.shared.turns, VecDeque::pop_front);
            self.stops(words).await?;
        }
        Ok(())
    }

    async fn starts(&mut self) -> Result<(), Over> {
        self.speaking = true;
        self.say(json!({ "type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": "next" }))
            .await?;
        if self.interrupts { self.cancel("turn_detected").await } else { Ok(()) }
    }

    /// Ends the caller's turn: it is answered at once, and transcribed late.
    async fn stops(&mut self, words: &str) -> Result<(), Over> {
        (self.speaking, self.uncommitted) = (false, false);
        let item = self.name("item");
        self.say(json!({ "type": "input_audio_buffer.speech_stopped", "audio_end_ms": 0, "item_id": item })).await?;
        self.say(json!({ "type": "input_audio_buffer.committed", "item_id": item })).await?;
        if self.active.is_none() {
            let reply = self.reply();
            self.respond(reply, &Value::Null);
        }
        self.transcribe_late(&item, words);
        Ok(())
    }

    fn transcribe_late(&mut self, item: &str, words: &str) {
        let completed = json!({
            "type": "conversation.item.input_audio_transcription.completed", "item_id": item, "transcript": words,
        });
        let at = Instant::now() + LATE;
        let place = self.pending.iter().position(|(due, ..)| *due > at).unwrap_or(self.pending.len());
        self.pending.insert(place, (at, completed, false));
    }
}
