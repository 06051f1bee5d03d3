//! Conversations in virtual time with each voice.

use serde_json::json;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::FailureCode;

use super::{Cast, Kind};
use crate::doubles::voice::{Manner, No};
use crate::providers::rehearsal::{self, Rehearsal, always, and_goodbye};

macro_rules! every_voice {
    ($($module:ident $kind:ident)*) => { $(
        mod $module {
            #[tokio::test(start_paused = true)]
            async fn a_table_is_booked() {
                super::a_table_is_booked(super::Kind::$kind).await;
            }
            #[tokio::test(start_paused = true)]
            async fn whatever_fails_nobody_listens_to_a_dead_line() {
                super::whatever_fails_nobody_listens_to_a_dead_line(super::Kind::$kind).await;
            }
            #[tokio::test(start_paused = true)]
            async fn whoever_answers_the_phone_is_greeted_or_let_go() {
                super::whoever_answers_the_phone_is_greeted_or_let_go(super::Kind::$kind).await;
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

/// Milliseconds of a character, as the doubles speak.
const PER_CHARACTER: u64 = 10;
/// As often as anybody asks.
const EVER: usize = 60;

fn agent() -> AgentConfig {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Harbor Table, hello?".to_owned();
    agent.turn_taking.speculative = false;
    agent
}

async fn a_table_is_booked(kind: Kind) {
    let cast = Cast::start(kind).await;
    let answer = "Let me see. There is one at seven close to the kitchen and there is another one at nine in the evening \
                  that stands by the window and has a view of the harbor and all of the ships in it.";
    let mind = and_goodbye(["For when?", answer], "It is yours. Goodbye.");
    let call = rehearsal::Cast { mouth: cast.voice.clone(), ..rehearsal::Cast::scripted(mind) };
    let mut talk = Rehearsal::begin(&agent(), call).await;
    talk.until_silent_for(500, 0).await;
    let spoke = talk.caller_says("name").await;
    talk.until_silent_for(500, spoke).await;
    // More of the sentence is still being made when the caller has heard enough.
    cast.stage.next([Manner::Well, Manner::Stall(30)]);
    let spoke = talk.caller_says("day").await;
    talk.until_heard(900, spoke).await;
    let spoke = talk.caller_says("interrupt").await;
    let (began, ended) = *talk.sounds().last().expect("it was heard");
    assert_eq!(cast.stage.seen(|seen| seen.stopped), 1, "what nobody hears is not made");
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
    // The longest word is one that was not heard to its end; without times there is only a careful guess.
    let least = if kind.tells_words() { played - 150 } else { 50 };
    assert!(told >= least, "{played} ms were heard, and more than {heard}");
}

/// What goes wrong, and with which code the call ends; without one it goes on.
struct Trouble {
    name: &'static str,
    /// How utterances are spoken from then on.
    manners: Vec<Manner>,
    /// How new connections are refused.
    refusals: Vec<No>,
    code: Option<FailureCode>,
}

fn troubles(kind: Kind) -> Vec<Trouble> {
    let once = |name, manner| Trouble { name, manners: vec![manner], refusals: Vec::new(), code: None };
    let ever =
        |name, manner, code| Trouble { name, manners: vec![manner; EVER], refusals: Vec::new(), code: Some(code) };
    let refused = |name, status, retry_after, times, code| {
        let no = No { status, retry_after, body: json!({ "message": "So I am told." }) };
        // A socket that is open is not asked for its key again; it ends, and the next one is refused.
        let manners = if kind == Kind::OpenAi { Vec::new() } else { vec![Manner::Die(0)] };
        Trouble { name, manners, refusals: vec![no; times], code }
    };
    let timeout = FailureCode::ProviderTimeout;
    let nonsense = if kind == Kind::OpenAi { FailureCode::Config } else { FailureCode::Pipeline };
    vec![
        once("a voice that does not begin once", Manner::Stall(0)),
        once("a voice that stops in the middle once", Manner::Stall(4)),
        once("a connection that breaks once before it speaks", Manner::Die(0)),
        once("a connection that breaks once in the middle", Manner::Die(4)),
        once("a connection that is dead once", Manner::Freeze),
        ever("a voice that never begins", Manner::Stall(0), timeout),
        ever("a voice that always stops in the middle", Manner::Stall(4), timeout),
        ever("connections that break before they speak", Manner::Die(0), FailureCode::Pipeline),
        ever("connections that break in the middle", Manner::Die(4), FailureCode::Pipeline),
        ever("connections that are dead", Manner::Freeze, timeout),
        ever("a voice that sends nonsense", Manner::Nonsense, nonsense),
        refused("a server in trouble once", 503, None, 1, None),
        refused("a key that is revoked", 401, None, EVER, Some(FailureCode::Config)),
        refused("a long pause", 429, Some("60"), EVER, Some(FailureCode::Pipeline)),
        refused("a server that is down", 503, None, EVER, Some(FailureCode::Pipeline)),
    ]
}

async fn whatever_fails_nobody_listens_to_a_dead_line(kind: Kind) {
    let mut broken = Vec::new();
    for trouble in troubles(kind) {
        let name = trouble.name;
        broken.extend(promises_broken(kind, trouble).await.into_iter().map(|promise| format!("{name}: {promise}")));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

async fn whoever_answers_the_phone_is_greeted_or_let_go(kind: Kind) {
    let mut broken = Vec::new();
    for Trouble { name, manners, refusals, code } in troubles(kind) {
        let cast = Cast::start(kind).await;
        cast.stage.next(manners);
        cast.stage.refuse(refusals);
        let mut talk = begin(&cast).await;
        broken.extend(talk.dead_air_since(0).await.map(|promise| format!("{name}: {promise}")));
        if talk.failure() != code {
            broken.push(format!("{name}: it ends by {:?} and not by {code:?}", talk.end));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// A call whose agent says the same again and again.
async fn begin(cast: &Cast) -> Rehearsal {
    let mind = always("There is one at seven and there is another one at nine.");
    let call = rehearsal::Cast { mouth: cast.voice.clone(), ..rehearsal::Cast::scripted(mind) };
    Rehearsal::begin(&agent(), call).await
}

async fn promises_broken(kind: Kind, Trouble { manners, refusals, code, .. }: Trouble) -> Vec<String> {
    let cast = Cast::start(kind).await;
    let mut talk = begin(&cast).await;
    talk.until_silent_for(5_000, 0).await;
    cast.stage.next(manners);
    cast.stage.refuse(refusals);
    let mut broken = Vec::new();
    for line in ["name", "day", "time", "people"] {
        broken.extend(talk.says_and_is_answered(line).await);
    }
    if talk.failure() != code {
        broken.push(format!("it ends by {:?} and not by {code:?}", talk.end));
    }
    let last = talk.said().pop();
    if code.is_none() && last != Some((true, "There is one at seven and there is another one at nine.")) {
        broken.push(format!("in the end it says {last:?}"));
    }
    broken
}
