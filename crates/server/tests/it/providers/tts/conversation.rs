//! Conversations in virtual time with each TTS provider.

use std::sync::Arc;
use std::time::Duration;

use crate::providers::rehearsal::{self, VirtualCall, always, and_goodbye};
use async_trait::async_trait;
use serde_json::json;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::FailureCode;
use switchhook_providers::scripted::ScriptedTts;
use switchhook_providers::{ProviderError, Tts, TtsAudio, TtsRequest, Usage};
use tokio::sync::mpsc;

use super::{FakeProviders, Kind};
use crate::doubles::tts::{Refusal, TtsBehaviour};

macro_rules! every_voice {
    ($($module:ident $kind:ident)*) => { $(
        mod $module {
            #[tokio::test(start_paused = true)]
            async fn a_table_is_booked() {
                super::a_table_is_booked(super::Kind::$kind).await;
            }
            #[tokio::test(start_paused = true)]
            async fn a_connection_that_breaks_in_the_middle_is_not_noticed() {
                super::a_connection_that_breaks_in_the_middle_is_not_noticed(super::Kind::$kind).await;
            }
            #[tokio::test(start_paused = true)]
            async fn no_failure_leaves_dead_air() {
                super::no_failure_leaves_dead_air(super::Kind::$kind).await;
            }
            #[tokio::test(start_paused = true)]
            async fn answered_call_is_greeted_or_ended() {
                super::answered_call_is_greeted_or_ended(super::Kind::$kind).await;
            }
        }
    )* };
}

every_voice! {
    cartesia Cartesia
    deepgram Deepgram
    elevenlabs ElevenLabs
    openai OpenAi
}

/// The length of a character in the doubles' speech, in milliseconds.
const PER_CHARACTER: u64 = 10;
/// By then the agent has cached the phrases that it is most likely to need.
const REMEMBERS: u64 = 5_000;
/// What the agent says to everything.
const ANSWER: &str = "There is one at seven and there is another one at nine.";
/// More refusals than there are requests.
const EVER: usize = 60;

fn agent() -> AgentConfig {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Harbor Table, hello?".to_owned();
    agent.turn_taking.speculative = false;
    agent
}

async fn a_table_is_booked(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    let answer = "Sure thing. There is one at seven close to the kitchen and there is another one at nine in the evening \
                  that stands by the window and has a view of the harbor and all of the ships in it.";
    let llm = and_goodbye(["For when?", answer], "It is yours. Goodbye.");
    let call = rehearsal::FakeProviders { tts: cast.voice.clone(), ..rehearsal::FakeProviders::scripted(llm) };
    let mut talk = VirtualCall::begin(&agent(), call).await;
    talk.until_silent_for(500, 0).await;
    let spoke = talk.caller_says("name").await;
    talk.until_silent_for(500, spoke).await;
    // More of the sentence is still being synthesized when the caller has heard enough.
    cast.state.next_of("close to the kitchen", TtsBehaviour::Stall(30));
    let spoke = talk.caller_says("day").await;
    talk.until_heard(900, spoke).await;
    let spoke = talk.caller_says("interrupt").await;
    let (began, ended) = *talk.sounds().last().expect("it was heard");
    assert_eq!(cast.state.seen(|seen| seen.stopped), 1, "what nobody hears is not made");
    talk.until_silent_for(20_000, spoke).await;

    assert!(talk.was_ended_by_the_agent(), "{:?}", talk.end);
    let said = talk.said();
    let heard = said[4].1;
    let lines = ["name", "day", "interrupt"].map(|line| (false, rehearsal::words(line)));
    let agents = ["Harbor Table, hello?", "For when?", heard, "It is yours. Goodbye."].map(|text| (true, text));
    assert_eq!(said, [agents[0], lines[0], agents[1], lines[1], agents[2], lines[2], agents[3]]);
    assert!(talk.transcript[4].interrupted && answer.starts_with(heard), "{heard}");
    let (told, played) = (heard.len() as u64 * PER_CHARACTER, ended - began);
    assert!(told <= played + 40, "{played} ms were heard, and not {heard}");
    // The longest word may be missing, as it was not heard completely; without word timings the text is a careful guess.
    let least = if kind.tells_words() { played - 150 } else { 50 };
    assert!(told >= least, "{played} ms were heard, and more than {heard}");
}

/// A failure to inject.
struct Trouble {
    name: &'static str,
    how: How,
    /// The code of a call that ends with it.
    code: FailureCode,
}

enum How {
    /// The next response and the greeting are spoken like this once.
    Once(TtsBehaviour),
    /// All utterances are spoken like this.
    Ever(TtsBehaviour),
    /// The open connection ends, and this many new ones are refused.
    Refused(Refusal, usize),
}

impl Trouble {
    /// Injects the failure.
    fn begin(&self, cast: &FakeProviders) {
        match &self.how {
            How::Once(behaviour) => {
                cast.state.next_of("Harbor Table", behaviour.clone());
                cast.state.next_of("There is one", behaviour.clone());
            }
            How::Ever(behaviour) => cast.state.next(vec![behaviour.clone(); EVER]),
            How::Refused(refusal, times) => {
                // An open socket does not send its key again.
                cast.state.next((cast.kind != Kind::OpenAi).then_some(TtsBehaviour::Die(0)));
                cast.state.refuse(vec![refusal.clone(); *times]);
            }
        }
    }

    fn is_over_at_last(&self) -> bool {
        matches!(self.how, How::Once(_) | How::Refused(_, 1))
    }
}

fn troubles(kind: Kind) -> Vec<Trouble> {
    use FailureCode::{Config, Pipeline, ProviderTimeout};
    let refused = |status, retry_after, times| {
        How::Refused(Refusal { status, retry_after, body: json!({ "message": "So I am told." }) }, times)
    };
    let nonsense = if kind == Kind::OpenAi { Config } else { Pipeline };
    // There, a stalled utterance ends as soon as another one is spoken.
    let stops = || if kind == Kind::ElevenLabs { TtsBehaviour::Deaf } else { TtsBehaviour::Stall(2) };
    let table = [
        ("a voice that does not begin once", How::Once(TtsBehaviour::Stall(0)), ProviderTimeout),
        ("a voice that stops in the middle once", How::Once(stops()), ProviderTimeout),
        ("a connection that breaks once before it speaks", How::Once(TtsBehaviour::Die(0)), Pipeline),
        ("a connection that breaks once in the middle", How::Once(TtsBehaviour::Die(2)), Pipeline),
        ("a connection that is dead once", How::Once(TtsBehaviour::Freeze), ProviderTimeout),
        ("a voice that never begins", How::Ever(TtsBehaviour::Stall(0)), ProviderTimeout),
        ("a voice that always stops in the middle", How::Ever(stops()), ProviderTimeout),
        ("connections that break before they speak", How::Ever(TtsBehaviour::Die(0)), Pipeline),
        ("connections that break in the middle", How::Ever(TtsBehaviour::Die(2)), Pipeline),
        ("connections that are dead", How::Ever(TtsBehaviour::Freeze), ProviderTimeout),
        ("a voice that sends nonsense", How::Ever(TtsBehaviour::Nonsense), nonsense),
        ("a server in trouble once", refused(503, None, 1), Pipeline),
        ("a key that is revoked", refused(401, None, EVER), Config),
        ("a long pause", refused(429, Some("60"), EVER), Pipeline),
        ("a server that is down", refused(503, None, EVER), Pipeline),
    ];
    table.into_iter().map(|(name, how, code)| Trouble { name, how, code }).collect()
}

async fn a_connection_that_breaks_in_the_middle_is_not_noticed(kind: Kind) {
    let cast = FakeProviders::start(kind).await;
    let mut talk = begin(&cast).await;
    talk.until_silent_for(REMEMBERS, 0).await;
    cast.state.next_of("There is one", TtsBehaviour::Die(4));
    let spoke = talk.caller_says("name").await;
    assert_eq!(talk.dead_air_since(spoke).await, None);
    assert_eq!(talk.said().last(), Some(&(true, ANSWER)), "{:?}", talk.said());
    assert!(talk.transcript.iter().all(|line| !line.interrupted));
    let heard: u64 = talk.sounds().iter().filter(|(began, _)| *began > spoke).map(|(began, ended)| ended - began).sum();
    let length = ANSWER.len() as u64 * PER_CHARACTER;
    assert!(heard.abs_diff(length) <= 40, "{heard} ms of {length} ms are heard");
}

async fn no_failure_leaves_dead_air(kind: Kind) {
    let mut broken = Vec::new();
    for trouble in troubles(kind) {
        let name = trouble.name;
        broken.extend(promises_broken(kind, trouble).await.into_iter().map(|promise| format!("{name}: {promise}")));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

async fn answered_call_is_greeted_or_ended(kind: Kind) {
    let mut broken = Vec::new();
    for trouble in troubles(kind) {
        let cast = FakeProviders::start(kind).await;
        trouble.begin(&cast);
        let mut talk = begin(&cast).await;
        let name = trouble.name;
        broken.extend(talk.dead_air_since(0).await.map(|promise| format!("{name}: {promise}")));
        // A short failure may or may not end the call.
        let ended = talk.failure();
        if ended != Some(trouble.code) && !(trouble.is_over_at_last() && talk.end.is_none()) {
            broken.push(format!("{name}: it ends by {:?} and not by {:?}", talk.end, trouble.code));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Begins a call whose agent repeats the same sentence.
async fn begin(cast: &FakeProviders) -> VirtualCall {
    let llm = always(ANSWER);
    let call = rehearsal::FakeProviders { tts: cast.voice.clone(), ..rehearsal::FakeProviders::scripted(llm) };
    VirtualCall::begin(&agent(), call).await
}

async fn promises_broken(kind: Kind, trouble: Trouble) -> Vec<String> {
    let cast = FakeProviders::start(kind).await;
    let mut talk = begin(&cast).await;
    talk.until_silent_for(REMEMBERS, 0).await;
    trouble.begin(&cast);
    let mut broken = Vec::new();
    for line in ["name", "day", "time", "people"] {
        broken.extend(talk.says_and_is_answered(line).await);
    }
    // A refusal by a provider that has spoken is not a configuration error.
    let refused = if trouble.code == FailureCode::Config { FailureCode::Refused } else { trouble.code };
    let code = (!trouble.is_over_at_last()).then_some(refused);
    if talk.failure() != code {
        broken.push(format!("it ends by {:?} and not by {code:?}", talk.end));
    }
    let last = talk.said().pop();
    if code.is_none() && last != Some((true, ANSWER)) {
        broken.push(format!("in the end it says {last:?}"));
    }
    broken
}

/// A TTS that takes this long for texts that contain these words.
struct Late(Duration, &'static str);

#[async_trait]
impl Tts for Late {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        if request.text.contains(self.1) {
            tokio::time::sleep(self.0).await;
        }
        ScriptedTts.speak(request, audio).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_goodbye_whose_audio_is_late_is_heard_before_the_call_ends() {
    let goodbye = "Then have a good evening.";
    for (late, said) in [(2_300, goodbye), (4_000, goodbye), (20_000, "Goodbye.")] {
        let tts = Arc::new(Late(Duration::from_millis(late), goodbye));
        let call = rehearsal::FakeProviders { tts, ..rehearsal::FakeProviders::scripted(and_goodbye([], goodbye)) };
        let mut talk = VirtualCall::begin(&agent(), call).await;
        talk.until_silent_for(REMEMBERS, 0).await;
        assert_eq!(talk.says_and_is_answered("name").await, None, "{late}");
        talk.wait(20_000).await;
        assert!(talk.was_ended_by_the_agent(), "{late}: {:?}", talk.end);
        assert_eq!(talk.said().last(), Some(&(true, said)), "{late}: {:?}", talk.said());
    }
}
