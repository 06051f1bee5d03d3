//! Holds conversations in virtual time with STT servers that follow their documentation loosely and break off: every sentence of the
//! caller is understood once and answered.

use super::caller::text;
use super::conversation::{Kind, agent};
use crate::doubles::stt::SttBehaviour;
use crate::providers::rehearsal::{FakeProviders, VirtualCall, always};
use crate::providers::wild_seeds::try_seeds;

/// Number of seeds of each provider.
const SEEDS: u64 = 16;
/// Lines that the double's STT recognises as a whole: without a pause within.
const LINES: [&str; 6] = ["day", "people", "time", "no", "interrupt", "yes"];

/// Returns what is wrong with the conversation of a seed.
async fn fault_of(kind: Kind, seed: u64) -> Option<String> {
    let server = kind.serve_as(vec![SttBehaviour::Wild(seed)]).await;
    let cast = FakeProviders { stt: kind.stt(&server), ..FakeProviders::scripted(always("I have noted that.")) };
    let mut talk = VirtualCall::begin(&agent(), cast).await;
    talk.until_silent_for(500, 0).await;
    let mut wrong = Vec::new();
    for line in LINES {
        wrong.extend(talk.says_and_is_answered(line).await);
    }
    let heard: Vec<_> = talk.said().into_iter().filter(|(by_agent, _)| !by_agent).map(|(_, text)| text).collect();
    if heard != LINES.map(text) {
        wrong.push(format!("the caller is understood as {heard:?}"));
    }
    if let Some(end) = &talk.end {
        wrong.push(format!("it ends with {end:?}"));
    }
    wrong.extend(server.complaints());
    (!wrong.is_empty()).then(|| format!("seed {seed}: {}", wrong.join("; ")))
}

macro_rules! every_stt {
    ($($name:ident $kind:ident)*) => { $(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            try_seeds(SEEDS, 0, 1, async |seed| fault_of(Kind::$kind, seed).await).await;
        }
    )* };
}

every_stt! {
    deepgram_nova_understands_each_sentence_once Nova
    deepgram_flux_understands_each_sentence_once Flux
    assemblyai_understands_each_sentence_once AssemblyAi
    openai_understands_each_sentence_once Realtime
    openai_transcriptions_understand_each_sentence_once Transcriptions
    elevenlabs_understands_each_sentence_once ElevenLabs
    cartesia_understands_each_sentence_once Cartesia
    cartesia_turns_understand_each_sentence_once CartesiaTurns
}
