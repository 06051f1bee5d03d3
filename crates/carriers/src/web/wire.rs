//! The texts of a browser's media websocket; audio is sent as bare PCM in between. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FORMAT;
use crate::media::ResponseTiming;
use crate::stream::media_message::{dtmf_digit, whole_number};

/// A browser's message. Not `Debug`, which would print keys and tokens.
#[derive(PartialEq, Eq)]
pub(super) enum BrowserMessage {
    /// Starts, at the only supported sample rate.
    Start,
    /// A key was pressed.
    Dtmf(char),
    /// Everything before this mark was played or cleared.
    Mark(u64),
    /// The person hangs up.
    HangUp,
    /// This socket resumes a lost one; its token.
    Resume(String),
    /// Offers audio over WebRTC; the SDP.
    RtcOffer(String),
    /// The microphone uses this transport from here on.
    Transport(Transport),
    /// Unknown to this version.
    Ignored,
}

/// Numbers may be text, and the other way round.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TextMessage {
    Start {
        sample_rate: Value,
    },
    Dtmf {
        digit: Value,
    },
    Mark {
        name: Value,
    },
    Hangup,
    Resume {
        token: String,
    },
    RtcOffer {
        sdp: String,
    },
    Transport {
        transport: Transport,
    },
    #[serde(other)]
    Unknown,
}

impl BrowserMessage {
    /// Parses a text.
    ///
    /// # Errors
    /// A sentence when it is invalid.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        // Serde's error may quote the text.
        let text = serde_json::from_str(text).map_err(|_| "a text is no message of this protocol".to_owned())?;
        match text {
            TextMessage::Start { sample_rate }
                if whole_number(&sample_rate) == Some(u64::from(FORMAT.sample_rate())) =>
            {
                Ok(Self::Start)
            }
            TextMessage::Start { .. } => Err(format!("sample_rate must be {}", FORMAT.sample_rate())),
            TextMessage::Dtmf { digit } => {
                let key = dtmf_digit(&digit).map(Self::Dtmf);
                key.ok_or_else(|| "digit must be one of 0 to 9, *, # and A to D".to_owned())
            }
            // Ignore marks that we did not set.
            TextMessage::Mark { name } => Ok(whole_number(&name).map_or(Self::Ignored, Self::Mark)),
            TextMessage::Hangup => Ok(Self::HangUp),
            TextMessage::Resume { token } => Ok(Self::Resume(token)),
            TextMessage::RtcOffer { sdp } => Ok(Self::RtcOffer(sdp)),
            TextMessage::Transport { transport } => Ok(Self::Transport(transport)),
            TextMessage::Unknown => Ok(Self::Ignored),
        }
    }
}

/// A text for the browser. Not `Debug`, which would print spoken words.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ServiceMessage<'t> {
    /// The first message: the sample rate in both directions, and whether the browser may offer WebRTC.
    Start {
        sample_rate: u32,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        rtc: bool,
    },
    /// The answer to an offer.
    RtcAnswer { sdp: &'t str },
    /// An offer failed; audio stays on the socket.
    RtcUnavailable { reason: &'t str },
    /// The agent's audio uses this transport from here on, and the microphone should too.
    Transport { transport: Transport },
    /// The agent's state; and, once per socket, how to resume when it is lost.
    State {
        state: AgentState,
        #[serde(skip_serializing_if = "Option::is_none")]
        resume: Option<&'t str>,
    },
    /// A transcript of the caller or the agent.
    Transcript {
        role: &'static str,
        text: &'t str,
        #[serde(rename = "final")]
        is_final: bool,
    },
    /// Must be sent back once everything before it has been played or cleared.
    Mark { name: String },
    /// Discards audio that has not been played.
    Clear,
    /// How long the person waited for a response.
    Latency {
        latency_ms: u64,
        end_of_speech_ms: u64,
        end_of_turn_ms: u64,
        first_token_ms: u64,
        first_audio_ms: u64,
        heard_ms: u64,
    },
    /// The last message: how the call ended.
    End { end_reason: Option<&'t str>, error_code: Option<&'t str> },
}

impl ServiceMessage<'_> {
    /// Returns the timing of a response, since the conversation began.
    pub(super) fn latency(times: &ResponseTiming) -> Self {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self::Latency {
            // The difference of the times as they are shown, not rounded separately.
            latency_ms: ms(times.heard).saturating_sub(ms(times.end_of_speech)),
            end_of_speech_ms: ms(times.end_of_speech),
            end_of_turn_ms: ms(times.end_of_turn),
            first_token_ms: ms(times.first_token),
            first_audio_ms: ms(times.first_audio),
            heard_ms: ms(times.heard),
        }
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers are JSON")
    }
}

/// A transport of audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Transport {
    /// Binary messages of this socket.
    Websocket,
    /// RTP of the WebRTC session.
    Udp,
}

/// The agent's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentState {
    /// It is the person's turn.
    Listening,
    /// The person has said something.
    Thinking,
    /// Its audio is being played.
    Speaking,
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let texts = [
            r#"{"type":"start","sample_rate":16000}"#,
            r#"{"type":"dtmf","digit":"5"}"#,
            r#"{"type":"mark","name":"17"}"#,
            r#"{"type":"hangup"}"#,
            r#"{"type":"resume","token":"00112233445566778899aabbccddeeff"}"#,
            r#"{"type":"rtc_offer","sdp":"v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"}"#,
            r#"{"type":"transport","transport":"udp"}"#,
        ];
        vec![texts.iter().map(|text| text.as_bytes().to_vec()).collect()]
    },
    read: |messages| {
        switchhook_fuzz::Read::each_text(messages, |text| {
            BrowserMessage::read(text).map(|message| match message {
                BrowserMessage::Resume(text) | BrowserMessage::RtcOffer(text) => text.len(),
                _ => 1,
            })
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_the_protocol_is_read_and_others_are_ignored_or_refused() {
        let read = |text: &str| BrowserMessage::read(text).unwrap_or_else(|words| panic!("{text}: {words}"));
        assert!(read(r#"{"type":"start","sample_rate":16000}"#) == BrowserMessage::Start);
        assert!(read("{\"type\":\"dtmf\",\"digit\":\"#\"}") == BrowserMessage::Dtmf('#'));
        assert!(read(r#"{"type":"mark","name":"7"}"#) == BrowserMessage::Mark(7));
        assert!(read(r#"{"type":"mark","name":"mine"}"#) == BrowserMessage::Ignored);
        assert!(read(r#"{"type":"hangup"}"#) == BrowserMessage::HangUp);
        assert!(read(r#"{"type":"resume","token":"x"}"#) == BrowserMessage::Resume("x".to_owned()));
        assert!(read(r#"{"type":"rtc_offer","sdp":"v=0"}"#) == BrowserMessage::RtcOffer("v=0".to_owned()));
        for (name, transport) in [("udp", Transport::Udp), ("websocket", Transport::Websocket)] {
            let text = format!(r#"{{"type":"transport","transport":"{name}"}}"#);
            assert!(read(&text) == BrowserMessage::Transport(transport));
        }
        assert!(read(r#"{"type":"applause","loud":true}"#) == BrowserMessage::Ignored);
        for wrong in [
            "",
            "[]",
            "{}",
            r#"{"type":"start"}"#,
            r#"{"type":"start","sample_rate":48000}"#,
            r#"{"type":"dtmf","digit":"12"}"#,
            r#"{"type":"dtmf","digit":"x"}"#,
            r#"{"type":"rtc_offer"}"#,
            r#"{"type":"transport","transport":"pigeon"}"#,
        ] {
            assert!(BrowserMessage::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_that_a_browser_writes_as_text_and_texts_as_numbers_are_read() {
        for (text, expected) in [
            (r#"{"type":"start","sample_rate":"16000"}"#, BrowserMessage::Start),
            (r#"{"type":"start","sample_rate":16000.0}"#, BrowserMessage::Start),
            (r#"{"type":"dtmf","digit":0}"#, BrowserMessage::Dtmf('0')),
            (r#"{"type":"dtmf","digit":"a"}"#, BrowserMessage::Dtmf('A')),
            (r#"{"type":"mark","name":7}"#, BrowserMessage::Mark(7)),
            (r#"{"type":"mark","name":null}"#, BrowserMessage::Ignored),
        ] {
            assert!(BrowserMessage::read(text).is_ok_and(|read| read == expected), "{text}");
        }
        assert!(BrowserMessage::read(r#"{"type":"dtmf","digit":12}"#).is_err());
    }

    #[test]
    fn texts_for_the_browser_are_as_documented() {
        let state = ServiceMessage::State { state: AgentState::Listening, resume: Some("r") };
        assert_eq!(state.text(), r#"{"type":"state","state":"listening","resume":"r"}"#);
        let said = ServiceMessage::Transcript { role: "caller", text: "Hi", is_final: true };
        assert_eq!(said.text(), r#"{"type":"transcript","role":"caller","text":"Hi","final":true}"#);
        let end = ServiceMessage::End { end_reason: Some("agent_hangup"), error_code: None };
        assert_eq!(end.text(), r#"{"type":"end","end_reason":"agent_hangup","error_code":null}"#);
        assert_eq!(ServiceMessage::Clear.text(), r#"{"type":"clear"}"#);
        let start = |rtc| ServiceMessage::Start { sample_rate: 16_000, rtc }.text();
        assert_eq!(start(false), r#"{"type":"start","sample_rate":16000}"#);
        assert_eq!(start(true), r#"{"type":"start","sample_rate":16000,"rtc":true}"#);
        assert_eq!(ServiceMessage::RtcAnswer { sdp: "v=0" }.text(), r#"{"type":"rtc_answer","sdp":"v=0"}"#);
        let unavailable = ServiceMessage::RtcUnavailable { reason: "off" };
        assert_eq!(unavailable.text(), r#"{"type":"rtc_unavailable","reason":"off"}"#);
        let transport = ServiceMessage::Transport { transport: Transport::Udp };
        assert_eq!(transport.text(), r#"{"type":"transport","transport":"udp"}"#);
        assert_eq!(ServiceMessage::Mark { name: 7.to_string() }.text(), r#"{"type":"mark","name":"7"}"#);
    }
}
