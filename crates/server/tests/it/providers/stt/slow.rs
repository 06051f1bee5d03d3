//! Conversations in virtual time with STT providers that finalise late, or never.

use std::time::Duration;

use crate::providers::rehearsal::{FakeProviders, VirtualCall, always};
use serde_json::{Value, json};
use switchhook_core::agent::AgentConfig;
use switchhook_providers::{assemblyai, deepgram};

use super::caller::{Make, connect_stt, text};
use crate::doubles::assemblyai_stt::AssemblyAi;
use crate::doubles::deepgram_stt::Nova;
use crate::doubles::stt::{SttBehaviour, SttServer};

const LATE: Duration = Duration::from_secs(2);

/// The provider's protocol, and which side ends speech.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nova,
    NovaAlone,
    AssemblyAi,
    AssemblyAiAlone,
}

const EVERY: [Kind; 4] = [Kind::Nova, Kind::NovaAlone, Kind::AssemblyAi, Kind::AssemblyAiAlone];

/// The delay of transcripts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    /// Final transcripts are late.
    LateFinals,
    /// All transcripts are late by this much.
    LateAltogether(Duration),
    /// No transcript is ever final.
    NeverFinal,
}

impl Kind {
    async fn serve(self, pace: Pace) -> SttServer {
        let is_final =
            |message: &str| ["\"is_final\":true", "\"end_of_turn\":true"].iter().any(|flag| message.contains(flag));
        let behaviour = match pace {
            Pace::LateFinals => SttBehaviour::LateWhere(LATE, is_final),
            Pace::LateAltogether(by) => SttBehaviour::Late(by),
            Pace::NeverFinal => SttBehaviour::Well,
        };
        let never = pace == Pace::NeverFinal;
        match self {
            Self::Nova | Self::NovaAlone if never => SttServer::start([behaviour], Nova::never_final).await,
            Self::Nova => SttServer::start([behaviour], Nova::default).await,
            Self::NovaAlone => SttServer::start([behaviour], Nova::without_finalize).await,
            Self::AssemblyAi | Self::AssemblyAiAlone if never => {
                SttServer::start([behaviour], AssemblyAi::never_final).await
            }
            Self::AssemblyAi | Self::AssemblyAiAlone => SttServer::start([behaviour], AssemblyAi::default).await,
        }
    }

    /// Starts a call with these additional settings.
    async fn call(self, double: &SttServer, more: Value) -> VirtualCall {
        let (make, key): (Make, _) = match self {
            Self::Nova | Self::NovaAlone => (deepgram::stt::connect, "dg-key"),
            Self::AssemblyAi | Self::AssemblyAiAlone => (assemblyai::stt::connect, "aai-key"),
        };
        let mut settings = more;
        settings["base_url"] = json!(double.url());
        settings["stt_finalize"] = json!(matches!(self, Self::Nova | Self::AssemblyAi));
        let stt = connect_stt(make, &settings, key).expect("settings of use");
        let mut agent = AgentConfig::new("Book tables.");
        agent.greeting.text = "Harbor Table, hello?".to_owned();
        let talk =
            VirtualCall::begin(&agent, FakeProviders { stt, ..FakeProviders::scripted(always("I have noted that.")) });
        let mut talk = talk.await;
        talk.until_silent_for(500, 0).await;
        talk
    }
}

/// Returns the transcript of the caller.
fn heard(talk: &VirtualCall) -> String {
    let words: Vec<_> = talk.said().into_iter().filter(|(by_agent, _)| !by_agent).map(|(_, text)| text).collect();
    words.join(" ").to_lowercase()
}

/// Returns what the caller said.
fn said(lines: &[&str]) -> String {
    lines.iter().map(|line| text(line)).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Checks that each line is answered and counted once, and that the call is not dropped.
async fn each_line_counts_once(kind: Kind, pace: Pace, settings: Value) -> Vec<String> {
    let double = kind.serve(pace).await;
    let mut talk = kind.call(&double, settings).await;
    let lines = ["name", "day", "time", "people", "yes"];
    let mut broken = Vec::new();
    for line in lines {
        broken.extend(talk.says_and_is_answered(line).await);
    }
    if heard(&talk) != said(&lines) {
        broken.push(format!("heard {:?}", talk.said()));
    }
    if double.connections() != 1 {
        broken.push(format!("{} connections", double.connections()));
    }
    broken.extend(double.complaints());
    broken.into_iter().map(|broken| format!("{kind:?}, {pace:?}: {broken}")).collect()
}

async fn with_every(pace: Pace, settings: Value) {
    let mut broken = Vec::new();
    for kind in EVERY {
        broken.extend(each_line_counts_once(kind, pace, settings.clone()).await);
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(start_paused = true)]
async fn words_that_are_final_two_seconds_later_count_once() {
    with_every(Pace::LateFinals, json!({})).await;
}

#[tokio::test(start_paused = true)]
async fn words_that_are_never_final_count_once() {
    with_every(Pace::NeverFinal, json!({})).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_two_seconds_late_is_awaited_as_long_as_the_settings_say() {
    with_every(Pace::LateAltogether(LATE), json!({ "stt_finalize_timeout_ms": 2_400 })).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_two_seconds_late_is_not_taken_for_a_dead_one() {
    let mut broken = Vec::new();
    for kind in EVERY {
        let double = kind.serve(Pace::LateAltogether(LATE)).await;
        let mut talk = kind.call(&double, json!({})).await;
        // The caller does not wait for the agent.
        for line in ["name", "day", "time", "people"] {
            talk.caller_says(line).await;
            talk.wait(300).await;
        }
        talk.until_silent_for(5_000, talk.now()).await;
        if heard(&talk) != said(&["name", "day", "time", "people"]) || double.connections() != 1 {
            broken.push(format!("{kind:?}: {} connections, {:?}", double.connections(), talk.said()));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(start_paused = true)]
async fn caller_continuing_before_the_final_text_is_transcribed_once() {
    let mut broken = Vec::new();
    // Preliminary text starts after the last final text, so a line must not be shorter than the delay of those.
    for (kind, pause) in EVERY.iter().flat_map(|kind| [1_000, 1_700].map(|pause| (*kind, pause))) {
        let double = kind.serve(Pace::LateFinals).await;
        let mut talk = kind.call(&double, json!({})).await;
        for line in ["name", "day", "people"] {
            talk.caller_says(line).await;
            talk.wait(pause).await;
        }
        talk.until_silent_for(5_000, talk.now()).await;
        if heard(&talk) != said(&["name", "day", "people"]) || double.connections() != 1 {
            broken.push(format!("{kind:?}, {pause} ms: {} connections, {:?}", double.connections(), talk.said()));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(start_paused = true)]
async fn first_words_are_awaited_as_long_as_the_settings_say() {
    let mut broken = Vec::new();
    for kind in EVERY {
        let double = kind.serve(Pace::LateAltogether(2 * LATE)).await;
        let mut talk = kind.call(&double, json!({ "stt_finalize_timeout_ms": 5_000 })).await;
        for line in ["name", "day", "time", "people"] {
            talk.caller_says(line).await;
            talk.wait(300).await;
        }
        // Each final transcript restarts the turn, and the last ones are four seconds late.
        talk.wait(9_000).await;
        if double.connections() != 1 || !talk.said().iter().any(|(by_agent, _)| !by_agent) {
            broken.push(format!("{kind:?}: {} connections, {:?}", double.connections(), talk.said()));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
