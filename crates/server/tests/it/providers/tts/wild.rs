//! Holds conversations in virtual time with TTS servers that follow their documentation loosely: every sentence is heard once and whole.

use switchhook_core::agent::AgentConfig;

use super::{FakeProviders, Kind};
use crate::providers::rehearsal::{self, VirtualCall, and_goodbye};
use crate::providers::wild_seeds::try_seeds;

/// Number of seeds of each provider.
const SEEDS: u64 = 24;
/// The caller's lines, and what the agent says after each.
const TURNS: [(&str, &str); 3] = [
    ("day", "There is one at seven, close to the kitchen, and there is another one at nine by the window."),
    ("time", "For how many?"),
    ("people", "Under which name shall I book it?"),
];
const GREETING: &str = "Harbor Table, hello?";
const GOODBYE: &str = "It is yours. Goodbye.";
/// The length of a character in the doubles' speech, in milliseconds.
const PER_CHARACTER: u64 = 10;
/// How much longer or shorter speech may be on the line, for each sentence and gap, in milliseconds.
const TOLERANCE: u64 = 60;

/// Returns what is wrong with the conversation of a seed.
async fn fault_of(kind: Kind, seed: u64) -> Option<String> {
    let cast = FakeProviders::start(kind).await;
    cast.state.go_wild(seed);
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = GREETING.to_owned();
    agent.turn_taking.speculative = seed.is_multiple_of(2);
    let llm = and_goodbye(TURNS.map(|(_, answer)| answer), GOODBYE);
    let call = rehearsal::FakeProviders { tts: cast.voice.clone(), ..rehearsal::FakeProviders::scripted(llm) };
    let mut talk = VirtualCall::begin(&agent, call).await;
    talk.until_silent_for(500, 0).await;
    let mut wrong = Vec::new();
    for (line, answer) in TURNS {
        let spoke = talk.caller_says(line).await;
        wrong.extend(talk.dead_air_since(spoke).await);
        let sounds = talk.sounds().iter().filter(|(began, _)| *began > spoke);
        let heard: u64 = sounds.clone().map(|(began, ended)| ended - began).sum();
        let (length, tolerance) = (answer.len() as u64 * PER_CHARACTER, TOLERANCE * sounds.count() as u64);
        if heard.abs_diff(length) > tolerance {
            wrong.push(format!("{heard} ms are heard of {answer:?}, which takes {length} ms"));
        }
    }
    let spoke = talk.caller_says("yes").await;
    talk.until_silent_for(20_000, spoke).await;
    let answers = TURNS.iter().flat_map(|(line, answer)| [(false, rehearsal::words(line)), (true, *answer)]);
    let rest = [(false, rehearsal::words("yes")), (true, GOODBYE)];
    let expected: Vec<_> = std::iter::once((true, GREETING)).chain(answers).chain(rest).collect();
    if talk.said() != expected || talk.transcript.iter().any(|line| line.interrupted) {
        wrong.push(format!("it says {:?}", talk.said()));
    }
    if !talk.was_ended_by_the_agent() {
        wrong.push(format!("it ends with {:?}", talk.end));
    }
    (!wrong.is_empty()).then(|| format!("seed {seed}: {}\n  the server: {:?}", wrong.join("; "), cast.state.wild_log()))
}

#[tokio::test(start_paused = true)]
async fn cartesia_is_heard_whole() {
    try_seeds(SEEDS, 0, 1, async |seed| fault_of(Kind::Cartesia, seed).await).await;
}

#[tokio::test(start_paused = true)]
async fn deepgram_is_heard_whole() {
    try_seeds(SEEDS, 0, 1, async |seed| fault_of(Kind::Deepgram, seed).await).await;
}

#[tokio::test(start_paused = true)]
async fn elevenlabs_is_heard_whole() {
    try_seeds(SEEDS, 0, 1, async |seed| fault_of(Kind::ElevenLabs, seed).await).await;
}

#[tokio::test(start_paused = true)]
async fn openai_is_heard_whole() {
    try_seeds(SEEDS, 0, 1, async |seed| fault_of(Kind::OpenAi, seed).await).await;
}
