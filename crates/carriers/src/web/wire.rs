//! The texts of a browser's media websocket, beside which audio goes as bare PCM. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchhook_media::dtmf::is_key;

use super::FORMAT;
use crate::media::ResponseTiming;

/// What a browser said. `Debug` would print keys and tokens, so there is none.
#[derive(PartialEq, Eq)]
pub(super) enum BrowserMessage {
    /// It begins, in the one rate there is.
    Start,
    /// A key was pressed.
    Dtmf(char),
    /// Everything before this mark was played or cleared.
    Mark(u64),
    /// The person ends the call.
    HangUp,
    /// This socket goes on where a lost one ended.
    Resume(String),
    /// It would carry audio over WebRTC: SDP.
    RtcOffer(String),
    /// The microphone goes over this from here on.
    Transport(Transport),
    /// Nothing that this version knows.
    Ignored,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TextMessage {
    Start {
        sample_rate: u32,
    },
    Dtmf {
        digit: String,
    },
    Mark {
        name: String,
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
    /// Reads a text.
    ///
    /// # Errors
    /// A sentence when it makes no sense.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        // What serde says may quote the text.
        let text = serde_json::from_str(text).map_err(|_| "a text is no message of this protocol".to_owned())?;
        match text {
            TextMessage::Start { sample_rate } if sample_rate == FORMAT.sample_rate() => Ok(Self::Start),
            TextMessage::Start { .. } => Err(format!("sample_rate must be {}", FORMAT.sample_rate())),
            TextMessage::Dtmf { digit } => match digit.chars().next() {
                Some(key) if digit.len() == 1 && is_key(key) => Ok(Self::Dtmf(key)),
                _ => Err("digit must be one of 0 to 9, *, # and A to D".to_owned()),
            },
            // Marks of others are none of ours.
            TextMessage::Mark { name } => Ok(name.parse().map_or(Self::Ignored, Self::Mark)),
            TextMessage::Hangup => Ok(Self::HangUp),
            TextMessage::Resume { token } => Ok(Self::Resume(token)),
            TextMessage::RtcOffer { sdp } => Ok(Self::RtcOffer(sdp)),
            TextMessage::Transport { transport } => Ok(Self::Transport(transport)),
            TextMessage::Unknown => Ok(Self::Ignored),
        }
    }
}

/// A text for the browser. `Debug` would print spoken words, so there is none.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ServiceMessage<'t> {
    /// The first: how audio is sampled, both ways, and whether the browser may offer WebRTC.
    Start {
        sample_rate: u32,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        rtc: bool,
    },
    /// The answer to an offer.
    RtcAnswer { sdp: &'t str },
    /// An offer comes to nothing; audio stays on the socket.
    RtcUnavailable { reason: &'t str },
    /// The agent's audio goes over this from here on, and so should the microphone.
    Transport { transport: Transport },
    /// What the agent does now; and, once per socket, how to go on when it is lost.
    State {
        state: AgentState,
        #[serde(skip_serializing_if = "Option::is_none")]
        resume: Option<&'t str>,
    },
    /// What somebody says.
    Transcript {
        role: &'static str,
        text: &'t str,
        #[serde(rename = "final")]
        is_final: bool,
    },
    /// To be sent back once everything before it has been played or cleared.
    Mark { name: String },
    /// Throw away what was not played.
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
    /// The last: how the call ended.
    End { end_reason: Option<&'t str>, error_code: Option<&'t str> },
}

impl ServiceMessage<'_> {
    /// The times of a response, since the conversation began.
    pub(super) fn latency(times: &ResponseTiming) -> Self {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self::Latency {
            // The difference of the times as they are shown, not rounded on its own.
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

/// What carries audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Transport {
    /// Binary messages of this socket.
    Websocket,
    /// RTP of the WebRTC session.
    Udp,
}

/// What the agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentState {
    /// It is the person's turn.
    Listening,
    /// The person has said something.
    Thinking,
    /// Its voice is being played.
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
