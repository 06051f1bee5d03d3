//! An STT server that recognises the recordings by their loudness over time, which survives a lossy codec. The other doubles compare
//! samples.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::json;
use switchhook_media::format::AudioFormat;
use switchhook_media::wav;
use tokio::net::TcpListener;

use crate::doubles::openai_transcriptions::file_of;
use crate::doubles::without_delay;

/// The minimum similarity of two loudness curves, at most 1.
const ALIKE: f64 = 0.9;

/// Starts the server. Returns its address.
pub(super) async fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let router = Router::new().route("/v1/audio/transcriptions", post(transcribe));
    tokio::spawn(async move { axum::serve(without_delay(listener), router).await });
    address
}

async fn transcribe(headers: HeaderMap, body: Bytes) -> Response {
    let file = file_of(&headers, &body).expect("a form with a file");
    let heard = wav::read(&file).expect("a WAV file");
    let text = recognised(&heard.channels[0], heard.sample_rate);
    ([("content-type", "application/json")], json!({ "text": text }).to_string()).into_response()
}

/// Returns the text of the recording in this audio; empty without one.
fn recognised(samples: &[i16], rate: u32) -> &'static str {
    let heard = course(samples, rate);
    let mut best = ("", ALIKE);
    for line in switchhook_caller_audio::all() {
        let known = course(line.samples(AudioFormat::Narrowband), 8_000);
        let alike = alike(&known, &heard);
        if alike > best.1 {
            best = (line.text, alike);
        }
    }
    best.0
}

/// Returns the loudness of each 20 ms.
fn course(samples: &[i16], rate: u32) -> Vec<f64> {
    let frame = usize::try_from(rate / 50).expect("small");
    let loudness = |frame: &[i16]| frame.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>().sqrt();
    samples.chunks_exact(frame).map(loudness).collect()
}

/// Returns the similarity of the second curve to the first at its best position; nine tenths of the first must be present.
fn alike(known: &[f64], heard: &[f64]) -> f64 {
    let (length, others) = (known.len().cast_signed(), heard.len().cast_signed());
    let energy = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
    let at_shift = |shift: isize| {
        let pairs = known.iter().zip(shift..).filter_map(|(value, at)| {
            let other = usize::try_from(at).ok().and_then(|at| heard.get(at));
            other.map(|other| (*value, *other))
        });
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let product: f64 = pairs.iter().map(|(one, other)| one * other).sum();
        let theirs: Vec<f64> = pairs.iter().map(|(_, other)| *other).collect();
        product / (energy(known) * energy(&theirs)).sqrt().max(1.0)
    };
    let slack = length / 10;
    (-slack..=others - length + slack).map(at_shift).fold(0.0, f64::max)
}

#[test]
fn a_recording_is_known_through_opus_and_others_are_not() {
    use switchhook_webrtc::testing::through_opus;
    for line in switchhook_caller_audio::all() {
        let samples = line.samples(AudioFormat::Wideband);
        assert_eq!(recognised(&through_opus(samples), 16_000), line.text, "{}", line.id);
        let half = &samples[..samples.len() / 2];
        assert_ne!(recognised(&through_opus(half), 16_000), line.text, "half of {}", line.id);
    }
    assert_eq!(recognised(&switchhook_media::tone::sine(440.0, 16_000, 0.5, 16_000), 16_000), "");
}
