//! A call at 16 kHz from end to end.

use reqwest::Method;
use serde_json::json;
use switchhook_media::{resample, wav};

use crate::harness::{TestService, text};

/// Returns the share of the energy of 16 kHz audio above 4 kHz, which telephone networks do not carry.
fn share_above_4_khz(samples: &[i16]) -> f64 {
    let power = |samples: &[i16]| {
        samples.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / samples.len().max(1) as f64
    };
    let telephone = resample::whole(samples, 16_000, 8_000).expect("supported");
    1.0 - power(&telephone) / power(samples)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_over_a_wideband_carrier_is_understood_and_recorded_at_16_khz() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let (_, connections) = client.get("/v1/connections").await;
    let carrier = connections["data"].as_array().expect("a list").iter().find(|one| one["provider"] == "simulator");
    let path = format!("/v1/connections/{}", text(&carrier.expect("a simulator")["id"]));
    let (_, changed) = client.patch(&path, json!({ "settings": { "time_scale": 0.05, "sample_rate": 16_000 } })).await;
    assert_eq!(changed["settings"]["sample_rate"], 16_000, "{changed}");

    let call = client.place(&agent, "+12025550100").await;
    client.hang_up_after(&call, 2).await;
    let ended = client.wait_for(&call, |call| call["recording_url"].is_string()).await;
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    let said = transcript["data"].as_array().expect("a list");
    assert!(said.iter().any(|line| line["role"] == "caller" && text(&line["text"]).contains("Sarah Miller")));

    let recording = client.request(Method::GET, &text(&ended["recording_url"])).send().await.expect("an answer");
    let recording = wav::read(&recording.bytes().await.expect("a whole body")).expect("a WAV file");
    assert_eq!((recording.sample_rate, recording.channels.len()), (16_000, 2));
    for (channel, who) in recording.channels.iter().zip(["the caller", "the agent"]) {
        let share = share_above_4_khz(channel);
        assert!(share > 0.01, "{who}: {share}");
        let telephone = resample::whole(channel, 16_000, 8_000).expect("supported");
        let upsampled = resample::whole(&telephone, 8_000, 16_000).expect("supported");
        assert!(share_above_4_khz(&upsampled) < 0.001, "a narrowband path would show");
    }
    service.stop().await;
}
