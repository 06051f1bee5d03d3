//! The demo, which newcomers run first, with the real speech models.

use serde_json::{Value, json};

use crate::harness::process::Node;

/// Returns where models are kept between runs.
fn models() -> String {
    std::env::var("SWITCHHOOK_TEST_MODELS")
        .unwrap_or_else(|_| concat!(env!("CARGO_TARGET_TMPDIR"), "/../test-models").to_owned())
}

fn demo(node: &Node, data_dir: &str) -> (Option<i32>, Value, String) {
    let output = node.command().args(["demo", "--json", "--data-dir", data_dir]).output().expect("the binary starts");
    let printed = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code(), printed, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn the_demo_holds_a_spoken_conversation_and_can_be_listened_to() {
    let node = Node::new().await;
    let (code, printed, err) = demo(&node, &models());
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(printed["speech"], json!({ "stt": "moonshine-base-en", "llm": "scripted", "tts": "hibari" }));
    assert_eq!(printed["call"]["outcome"]["people"], 4, "{}", printed["call"]);
    assert!(printed["latency_ms"]["p50"].as_u64().is_some_and(|p50| p50 > 0));
    let deliveries = printed["deliveries"].as_array().expect("a list");
    assert_eq!(deliveries.len(), 5);
    assert!(deliveries.iter().all(|delivery| delivery["verified"] == true));
    listen(&std::fs::read(printed["recording"].as_str().expect("a path")).expect("a recording"));
}

/// Silence that ends a turn, as the other side speaks in it. On a busy machine the sentences of one turn may be most of a second apart.
const TURN_GAP_MS: u64 = 1_500;

/// Checks that both voices are on their own channels, not clipped, and not cut off in the middle of a sentence.
fn listen(recording: &[u8]) {
    use switchhook_media::format::AudioFormat;
    use switchhook_media::{level, wav};
    let audio = wav::read(recording).expect("a WAV file");
    assert_eq!((audio.sample_rate, audio.channels.len()), (8_000, 2));
    let spans: Vec<Vec<level::Span>> = audio
        .channels
        .iter()
        .map(|channel| level::voiced_spans(AudioFormat::Narrowband, channel, TURN_GAP_MS))
        .collect();
    assert_eq!(spans[0].len(), 5, "the caller says five things: {:?}", spans[0]);
    assert_eq!(spans[1].len(), 6, "the agent greets, asks, reads back and says goodbye: {:?}", spans[1]);
    for channel in &audio.channels {
        assert_eq!(level::clipped(channel), 0);
        assert!(level::peak(channel) > 6_000, "loud enough to be heard");
    }
    let overlaps =
        |one: &level::Span| spans[1].iter().any(|other| one.start_ms < other.end_ms && other.start_ms < one.end_ms);
    assert!(!spans[0].iter().any(overlaps), "each voice is on its own channel and waits for the other: {spans:?}");
}
