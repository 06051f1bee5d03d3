//! Conversations in virtual time with each STT provider.

use std::sync::Arc;

use crate::providers::rehearsal::{FakeProviders, VirtualCall, always, and_goodbye};
use serde_json::{Value, json};
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::FailureCode;
use switchhook_providers::{self, Stt};

use super::caller::{Make, connect_stt, text};
use crate::doubles::openai_transcriptions::{Answers, Whisper};
use crate::doubles::stt::{SttBehaviour, SttServer};
use crate::doubles::{assemblyai_stt, cartesia_stt, deepgram_stt, elevenlabs_stt, openai_stt};

macro_rules! every_stt {
    ($($module:ident $kind:ident)*) => { $(
        mod $module {
            #[tokio::test(start_paused = true)]
            async fn a_table_is_booked() {
                super::a_table_is_booked(super::Kind::$kind).await;
            }
            #[tokio::test(start_paused = true)]
            async fn no_failure_leaves_dead_air() {
                super::no_failure_leaves_dead_air(super::Kind::$kind).await;
            }
        }
    )* };
}

every_stt! {
    deepgram_nova Nova
    deepgram_flux Flux
    assemblyai AssemblyAi
    openai_realtime Realtime
    openai_transcriptions Transcriptions
    elevenlabs ElevenLabs
    cartesia Cartesia
    cartesia_turns CartesiaTurns
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Nova,
    Flux,
    AssemblyAi,
    Realtime,
    Transcriptions,
    ElevenLabs,
    Cartesia,
    CartesiaTurns,
}

/// The double of a provider.
pub(super) enum Server {
    Stream(SttServer),
    Requests(Whisper),
}

impl Server {
    pub(super) fn complaints(&self) -> Vec<String> {
        match self {
            Self::Stream(double) => double.complaints(),
            Self::Requests(double) => double.complaints(),
        }
    }
}

/// A failure in the middle of a sentence, and the code with which the call ends; without a code it continues.
struct Trouble {
    name: &'static str,
    happens: Happens,
    code: Option<FailureCode>,
}

enum Happens {
    /// The open connection behaves like this, and then those that follow it.
    Stream(SttBehaviour, Vec<SttBehaviour>),
    /// Requests behave like this from then on.
    Requests(Vec<Answers>),
}

impl Kind {
    /// Starts its double, whose first connection works and whose later ones behave as given.
    async fn serve(self, after: Vec<SttBehaviour>) -> Server {
        self.serve_as(std::iter::once(SttBehaviour::Well).chain(after).collect()).await
    }

    /// Starts its double, whose connections behave as given; the last behaviour is that of all further ones.
    pub(super) async fn serve_as(self, behaviours: Vec<SttBehaviour>) -> Server {
        Server::Stream(match self {
            Self::Transcriptions => return Server::Requests(whisper_as(&behaviours).await),
            Self::Nova => SttServer::start(behaviours, deepgram_stt::Nova::default).await,
            Self::Flux => SttServer::start(behaviours, deepgram_stt::Flux::default).await,
            Self::AssemblyAi => SttServer::start(behaviours, assemblyai_stt::AssemblyAi::default).await,
            Self::Realtime => SttServer::start(behaviours, openai_stt::Realtime::default).await,
            Self::ElevenLabs => SttServer::start(behaviours, elevenlabs_stt::Scribe::default).await,
            Self::Cartesia => SttServer::start(behaviours, cartesia_stt::Manual::default).await,
            Self::CartesiaTurns => SttServer::start(behaviours, cartesia_stt::Turns::default).await,
        })
    }

    pub(super) fn stt(self, server: &Server) -> Arc<dyn Stt> {
        let (make, settings, key): (Make, Value, _) = match self {
            Self::Nova => (switchhook_providers::deepgram::stt::connect, json!({}), "dg-key"),
            Self::Flux => {
                (switchhook_providers::deepgram::stt::connect, json!({ "stt_model": "flux-general-en" }), "dg-key")
            }
            Self::AssemblyAi => (switchhook_providers::assemblyai::stt::connect, json!({}), "aai-key"),
            Self::Realtime => (switchhook_providers::openai::stt::connect, json!({ "stt_api": "realtime" }), "sk-key"),
            Self::Transcriptions => {
                (switchhook_providers::openai::stt::connect, json!({ "stt_sample_rate": 8_000 }), "sk-key")
            }
            Self::ElevenLabs => (switchhook_providers::elevenlabs::stt::connect, json!({}), "xi-key"),
            Self::Cartesia => (switchhook_providers::cartesia::stt::connect, json!({}), "ca-key"),
            Self::CartesiaTurns => {
                (switchhook_providers::cartesia::stt::connect, json!({ "stt_finalize": false }), "ca-key")
            }
        };
        let mut settings = settings;
        settings["base_url"] = match server {
            Server::Stream(double) => json!(double.url()),
            Server::Requests(double) => json!(double.url()),
        };
        connect_stt(make, &settings, key).expect("settings of use")
    }

    fn judges_turns(self) -> bool {
        matches!(self, Self::Flux | Self::CartesiaTurns)
    }

    fn troubles(self) -> Vec<Trouble> {
        if self == Self::Transcriptions { troubles_of_requests() } else { troubles_of_streams() }
    }
}

/// Starts a server of requests, which has no connections that behave; it may be wild.
async fn whisper_as(behaviours: &[SttBehaviour]) -> Whisper {
    let server = Whisper::start([]).await;
    if let Some(SttBehaviour::Wild(seed)) = behaviours.first() {
        server.go_wild(*seed);
    }
    server
}

fn troubles_of_streams() -> Vec<Trouble> {
    let refuses = |status, headers| vec![SttBehaviour::Refuses(status, headers, r#"{"error":"No."}"#)];
    let well = || vec![SttBehaviour::Well];
    let dies = SttBehaviour::Dies(1);
    let lost = |name, now, after| Trouble { name, happens: Happens::Stream(now, after), code: None };
    let fails = |name, now, after, code| Trouble { name, happens: Happens::Stream(now, after), code: Some(code) };
    vec![
        lost("a connection that breaks", dies.clone(), well()),
        lost("a server that closes", SttBehaviour::Closes(1, 1011, "going away"), well()),
        lost("a server that says junk", SttBehaviour::Says(1, "{ this is not JSON".to_owned()), well()),
        lost("a connection that is dead", SttBehaviour::Freezes(1), well()),
        fails("connections that break", dies.clone(), vec![SttBehaviour::Dies(3)], FailureCode::Pipeline),
        fails("a key that is revoked", dies.clone(), refuses(401, vec![]), FailureCode::Pipeline),
        fails("a long pause", dies.clone(), refuses(429, vec![("retry-after", "60")]), FailureCode::Pipeline),
        fails("a server that is down", dies.clone(), refuses(503, vec![]), FailureCode::Pipeline),
        fails("a server that no longer answers", dies, vec![SttBehaviour::Silent], FailureCode::ProviderTimeout),
        fails(
            "a network that is gone",
            SttBehaviour::Freezes(1),
            vec![SttBehaviour::Silent],
            FailureCode::ProviderTimeout,
        ),
        fails(
            "a server that hears nothing",
            SttBehaviour::Deaf(0),
            vec![SttBehaviour::Deaf(1)],
            FailureCode::ProviderTimeout,
        ),
    ]
}

fn troubles_of_requests() -> Vec<Trouble> {
    let refuses = |status, headers| Answers::With(status, headers, r#"{"error":{"message":"No."}}"#);
    let junk = || Answers::With(200, vec![("content-type", "application/json")], "{ not JSON");
    let lost = |name, once| Trouble { name, happens: Happens::Requests(vec![once, Answers::Well]), code: None };
    let fails = |name, always, code| Trouble { name, happens: Happens::Requests(vec![always]), code: Some(code) };
    vec![
        lost("a server in trouble", refuses(500, vec![])),
        lost("a short pause", refuses(429, vec![("retry-after", "1")])),
        lost("an answer that is junk", junk()),
        fails("a key that is revoked", refuses(401, vec![]), FailureCode::Pipeline),
        fails("a long pause", refuses(429, vec![("retry-after", "60")]), FailureCode::Pipeline),
        fails("a server that is down", refuses(503, vec![]), FailureCode::Pipeline),
        fails("answers that are junk", junk(), FailureCode::Pipeline),
        fails("a server that no longer answers", Answers::Never, FailureCode::ProviderTimeout),
    ]
}

pub(super) fn agent() -> AgentConfig {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Harbor Table, hello?".to_owned();
    agent.turn_taking.speculative = false;
    agent
}

async fn a_table_is_booked(kind: Kind) {
    let server = kind.serve(Vec::new()).await;
    let llm = and_goodbye(
        ["For when?", "There is one at seven, and there is another one at nine by the window. Which do you want?"],
        "It is yours. Goodbye.",
    );
    let mut agent = agent();
    // STT alone would wait this long after each sentence.
    agent.turn_taking.min_silence_ms = 1_500;
    let mut talk =
        VirtualCall::begin(&agent, FakeProviders { stt: kind.stt(&server), ..FakeProviders::scripted(llm) }).await;
    talk.until_silent_for(500, 0).await;
    let spoke = talk.caller_says("name").await;
    talk.until_silent_for(500, spoke).await;
    let spoke = talk.caller_says("day").await;
    talk.until_heard(1_500, spoke).await;
    let spoke = talk.caller_says("interrupt").await;
    talk.until_silent_for(20_000, spoke).await;

    assert!(talk.was_ended_by_the_agent(), "{:?}", talk.end);
    let (said, cut): (Vec<_>, Vec<_>) =
        talk.transcript.iter().map(|line| ((line.by_agent, &*line.text), line.interrupted)).unzip();
    let answer = said[4].1;
    assert_eq!(
        said,
        [
            (true, "Harbor Table, hello?"),
            (false, text("name")),
            (true, "For when?"),
            (false, text("day")),
            (true, answer),
            (false, text("interrupt")),
            (true, "It is yours. Goodbye."),
        ]
    );
    assert!("There is one at seven, and there is another".starts_with(answer) && answer.len() > 10, "{answer}");
    assert_eq!(cut, [false, false, false, false, true, false, false]);
    let waited = talk.transcript.iter().filter_map(|line| line.latency_ms).collect::<Vec<_>>();
    let range = if kind.judges_turns() { 700..1_500 } else { 2_200..2_500 };
    assert!(waited.len() == 3 && waited.iter().all(|ms| range.contains(ms)), "{waited:?}");
    assert_eq!(server.complaints(), Vec::<String>::new());
}

async fn no_failure_leaves_dead_air(kind: Kind) {
    let mut broken = Vec::new();
    for trouble in kind.troubles() {
        let name = trouble.name;
        broken.extend(promises_broken(kind, trouble).await.into_iter().map(|promise| format!("{name}: {promise}")));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

async fn promises_broken(kind: Kind, Trouble { happens, code, .. }: Trouble) -> Vec<String> {
    let after = if let Happens::Stream(_, after) = &happens { after.clone() } else { Vec::new() };
    let server = kind.serve(after).await;
    let cast = FakeProviders { stt: kind.stt(&server), ..FakeProviders::scripted(always("I have noted that.")) };
    let mut talk = VirtualCall::begin(&agent(), cast).await;
    talk.until_silent_for(500, 0).await;
    let spoke = talk.caller_says("day").await;
    talk.until_silent_for(500, spoke).await;
    let begins = || match (&server, happens) {
        (Server::Stream(double), Happens::Stream(now, _)) => double.now(now),
        (Server::Requests(double), Happens::Requests(answers)) => double.now(answers),
        _ => unreachable!("each has troubles of its own"),
    };
    let spoke = talk.caller_says_and("people", begins).await;
    let mut broken = Vec::from_iter(talk.dead_air_since(spoke).await);
    // One line may be lost while the STT reconnects.
    for line in ["time", "no", "yes"] {
        broken.extend(talk.says_and_is_answered(line).await);
    }
    if talk.failure() != code {
        broken.push(format!("it ends by {:?} and not by {code:?}", talk.end));
    }
    let heard: Vec<_> = talk.said().into_iter().filter(|(by_agent, _)| !by_agent).map(|(_, text)| text).collect();
    if code.is_none() && heard != ["day", "people", "time", "no", "yes"].map(text) {
        broken.push(format!("the caller is understood as {heard:?}"));
    }
    broken.extend(server.complaints());
    broken
}
