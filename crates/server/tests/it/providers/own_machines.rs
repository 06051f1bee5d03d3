//! The self-hosted servers in the documentation's example, run with doubles.

use serde_json::{Value, json};

use crate::doubles::model::{self, Double, Piece, Reply, says};
use crate::doubles::openai_llm::OpenAi;
use crate::doubles::openai_transcriptions::Whisper;
use crate::doubles::openai_tts;
use crate::doubles::tts::{self, TtsState};
use crate::harness::{TestService, text};

const DOCUMENTATION: &str = include_str!("../../../../../docs/agents.md");

/// Returns the connection with this name in the documentation.
fn documented(name: &str) -> Value {
    let blocks = DOCUMENTATION.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut parsed = blocks.filter_map(|block| serde_json::from_str::<Value>(block).ok());
    parsed.find(|block| block["name"] == name && block["provider"].is_string()).expect("it is documented")
}

/// Returns the addresses that the documentation allows the service to reach.
fn allowed() -> &'static str {
    let (_, rest) = DOCUMENTATION.split_once("SWITCHHOOK_OUTBOUND_ALLOW=127").expect("it is documented");
    let end = rest.find(' ').expect("a command follows");
    let begin = DOCUMENTATION.len() - rest.len() - "127".len();
    &DOCUMENTATION[begin..begin + "127".len() + end]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_held_by_three_servers_of_ones_own_and_costs_nothing() {
    let goodbye = Piece::Tool { id: "call_1", name: "end_call", arguments: json!({}) };
    let llm = Double::start(OpenAi, vec![says("Yes."), Reply::Answer(vec![Piece::Text("Goodbye."), goodbye])]).await;
    let stt = Whisper::start([]).await;
    let tts = TtsState::default();
    let tts_url = format!("http://{}", openai_tts::serve(tts.clone()).await);
    let service = TestService::start_allowing(allowed()).await;
    let client = &service.client;

    let mut chosen = json!({ "turn_taking": { "speculative": false }, "analysis": { "summary": false } });
    for (name, kind, check, url, key) in [
        ("local-llm", "llm", "language_model", llm.base_url(), model::KEY),
        ("local-stt", "stt", "speech_to_text", stt.url(), "sk-key"),
        ("local-tts", "tts", "text_to_speech", tts_url, tts::KEY),
    ] {
        let mut connection = documented(name);
        // The doubles listen elsewhere, require keys, and support one sample rate only.
        connection["settings"]["base_url"] = json!(format!("{url}/v1"));
        connection["credentials"] = json!({ "api_key": key });
        if kind == "stt" {
            connection["settings"]["stt_sample_rate"] = json!(8_000);
        }
        let id = client.create("/v1/connections", connection).await["id"].clone();
        let (_, tested) = client.post(&format!("/v1/connections/{}/test", text(&id)), json!({})).await;
        let checks = tested["checks"].as_array().expect("a list");
        assert!(checks.len() == 1 && checks[0]["name"] == check && tested["ok"] == true, "{name}: {tested}");
        chosen[kind] = json!({ "connection_id": id });
    }
    let agent = client.scripted_agent(chosen).await;
    let call = client.place(&agent, "+12025550100").await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("agent_hangup")), "{ended}");
    let usage = &ended["usage"];
    assert_eq!((&usage["cost_usd"], &usage["unpriced"]), (&json!(0.0), &json!(false)), "{usage}");
    for used in ["stt_audio_ms", "llm_output_tokens", "tts_characters"] {
        assert!(usage[used].as_u64().is_some_and(|used| used > 0), "{used}: {usage}");
    }
    let asked = &llm.asked()[1];
    assert_eq!(asked["model"], documented("local-llm")["settings"]["model"]);
    let spoken = tts.seen(|seen| seen.asked.clone());
    assert!(spoken.iter().all(|asked| asked["model"] == "kokoro" && asked["voice"] == "af_heart"), "{spoken:?}");
    assert_eq!((stt.complaints(), tts.complaints()), (vec![], vec![]));
    llm.finish();
    service.stop().await;
}
