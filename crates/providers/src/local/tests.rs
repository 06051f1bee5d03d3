//! Tests of local speech with the real models. They are pulled once into `SWITCHHOOK_TEST_MODELS` or `target/test-models`; without
//! them these tests fail, since a model that did not run is not known to work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::g711::{FRAME_BYTES, ulaw_decode, ulaw_encode};
use switchhook_media::vad::{Vad, VadEvent, VadSettings};
use switchhook_speech::models::{MOONSHINE, ModelStore, NoProgress};
use switchhook_speech::wer::WordErrors;
use switchhook_speech::{Job, Moonshine};
use tokio::sync::mpsc;

use super::*;
use crate::{ProviderError, Stt, SttEvent, SttOptions, Tts, TtsAudio, TtsRequest};

/// Returns the pulled models.
fn models() -> ModelStore {
    static MODELS: OnceLock<ModelStore> = OnceLock::new();
    let pull = || {
        let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-models");
        let dir = std::env::var_os("SWITCHHOOK_TEST_MODELS").map_or_else(default, PathBuf::from);
        let models = ModelStore::new(&dir);
        models.pull(&[], &NoProgress).expect("these tests need the speech models");
        models
    };
    MODELS.get_or_init(pull).clone()
}

fn shared() -> Arc<LocalSpeech> {
    LocalSpeech::new(models())
}

fn moonshine() -> Moonshine {
    Moonshine::load(&models().path(MOONSHINE).expect("it was just pulled")).unwrap()
}

fn recording(id: &str) -> Vec<i16> {
    let recording = switchhook_caller_audio::recording(id).expect("a shipped recording");
    recording.samples(AudioFormat::Narrowband).to_vec()
}

fn silence(milliseconds: usize) -> Vec<i16> {
    vec![0; milliseconds * 8]
}

fn frames(samples: &[i16]) -> impl Iterator<Item = CallerAudio> {
    samples.chunks(FRAME_BYTES).map(|samples| CallerAudio(Frame::from_slice(AudioFormat::Narrowband, samples)))
}

async fn say(tts: &LocalTts, text: &str) -> (Vec<i16>, Vec<TtsAudio>) {
    let (sender, mut audio) = mpsc::channel(64);
    let request = TtsRequest {
        text: text.to_owned(),
        voice: None,
        model: None,
        speed: 1.0,
        language: "en-US".to_owned(),
        format: AudioFormat::Narrowband,
    };
    let usage = tts.speak(request, sender).await.unwrap();
    assert_eq!(usage.tts_characters, text.chars().count() as u64);
    let mut pieces = Vec::new();
    while let Some(piece) = audio.recv().await {
        pieces.push(piece);
    }
    (pieces.iter().flat_map(|piece| piece.samples.clone()).collect(), pieces)
}

/// Feeds `samples` through VAD to an STT session and waits for each segment's final transcript.
async fn hear(samples: &[i16]) -> Vec<(u32, String)> {
    let (sender, mut events) = mpsc::channel(64);
    let mut session = LocalStt::new(shared()).open(SttOptions::default(), sender).await.unwrap();
    let mut vad = Vad::new(VadSettings::default());
    let (mut stops, mut finals) = (0, Vec::new());
    for frame in frames(samples) {
        session.audio(&frame);
        match vad.push(&frame) {
            Some(VadEvent::SpeechStarted) => session.speech_started(),
            Some(VadEvent::SpeechStopped) => {
                session.speech_stopped(stops);
                stops += 1;
                while finals.last().is_none_or(|(segment, _)| *segment + 1 != stops) {
                    match events.recv().await.expect("the session lives") {
                        SttEvent::Final { segment, text } => finals.push((segment, text)),
                        SttEvent::Failed { message, .. } => panic!("{message}"),
                        SttEvent::Partial { .. } | SttEvent::EndOfTurn => {}
                    }
                }
            }
            None => {}
        }
    }
    finals
}

#[tokio::test]
async fn what_the_agent_says_is_understood_over_the_telephone() {
    let shared = shared();
    let (tts, stt) = (LocalTts::new(Arc::clone(&shared)), moonshine());
    let mut total = WordErrors::default();
    for text in [
        "Hello, this is Ava from the restaurant. How can I help you today?",
        "Call me back at 415-555-0142, please.",
        "I'm free at 7:30 pm on March 14th.",
        "The total comes to $45.50, including tax.",
        "We are at 123 Oak St., apt. 5, near St. Mary's.",
        "Please write to sarah.miller@example.com.",
        "Friday evening at half past seven for two people, is that correct?",
    ] {
        let (samples, pieces) = say(&tts, text).await;
        let words = &pieces[0].words;
        let written: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(written.join(" "), text, "times are given in the words of the text");
        let times: Vec<u64> = words.iter().flat_map(|word| [word.start_ms, word.end_ms]).collect();
        assert!(times.is_sorted() && times.last().unwrap() * 8 <= samples.len() as u64);

        let line: Vec<i16> = samples.iter().map(|sample| ulaw_decode(ulaw_encode(*sample))).collect();
        total +=
            WordErrors::between(text, &transcribe_call(&stt, AudioFormat::Narrowband, &line, &Job::single()).unwrap());
    }
    assert!(total.rate() < 0.05, "{total:?}");
}

#[tokio::test]
async fn the_same_words_are_the_same_samples_also_when_they_were_not_remembered() {
    let tts = LocalTts::new(shared());
    let (first, _) = say(&tts, "One moment, please.").await;
    let (remembered, _) = say(&tts, "One moment, please.").await;
    let (again, _) = say(&LocalTts::new(shared()), "One moment, please.").await;
    assert!(first == remembered && first == again);
    assert!(first.len() > 8_000, "more than a second of audio");
}

#[tokio::test]
async fn every_line_of_the_simulated_caller_is_understood() {
    for line in switchhook_caller_audio::all() {
        let stream = [silence(500), recording(line.id), silence(900)].concat();
        // A second transcript of a segment replaces the first.
        let finals: BTreeMap<u32, String> = hear(&stream).await.into_iter().collect();
        let text: Vec<&str> = finals.values().map(String::as_str).collect();
        let errors = WordErrors::between(line.text, &text.join(" "));
        assert!(errors.errors == 0, "{}: heard {:?}", line.id, text);
    }
}

#[tokio::test]
async fn a_sentence_with_a_pause_is_understood_as_one_and_the_half_answer_is_taken_back() {
    let day = recording("day");
    let stream = [silence(400), day.clone(), silence(150), recording("time"), silence(900)].concat();
    let finals = hear(&stream).await;
    assert_eq!(finals.len(), 3, "an answer to each stop, and one taken back");
    assert_eq!(finals[1], (0, String::new()));
    assert_eq!(WordErrors::between("Friday evening, please. At half past seven.", &finals[2].1).errors, 0);
}

#[tokio::test]
async fn a_segment_without_words_gets_an_empty_answer() {
    let (sender, mut events) = mpsc::channel(8);
    let mut session = LocalStt::new(shared()).open(SttOptions::default(), sender).await.unwrap();
    frames(&silence(1_000)).for_each(|frame| session.audio(&frame));
    session.speech_started();
    session.speech_stopped(7);
    assert!(matches!(events.recv().await, Some(SttEvent::Final { segment: 7, text }) if text.is_empty()));
}

#[tokio::test]
async fn a_dropped_session_ends_its_work_and_closes_its_channel() {
    let (sender, mut events) = mpsc::channel(8);
    let mut session = LocalStt::new(shared()).open(SttOptions::default(), sender).await.unwrap();
    session.speech_started();
    frames(&recording("voicemail")).for_each(|frame| session.audio(&frame));
    session.speech_stopped(0);
    drop(session);
    assert!(events.recv().await.is_none(), "nobody waits for these words any more");
}

#[test]
fn quiet_in_front_of_the_words_is_no_hindrance() {
    let stream = [silence(700), recording("people")].concat();
    let text = transcribe_call(&moonshine(), AudioFormat::Narrowband, &stream, &Job::single()).unwrap();
    assert_eq!(WordErrors::between("There will be four of us.", &text).errors, 0, "{text}");
}

#[tokio::test]
async fn a_wideband_call_is_understood_as_it_is_and_spoken_to_with_the_upper_half_of_the_band() {
    let format = AudioFormat::Wideband;
    let (sender, mut events) = mpsc::channel(8);
    let options = SttOptions { format, ..SttOptions::default() };
    let mut session = LocalStt::new(shared()).open(options, sender).await.unwrap();
    let line = switchhook_caller_audio::recording("people").expect("a shipped recording");
    session.speech_started();
    for samples in line.samples(format).chunks(format.frame_samples()) {
        session.audio(&CallerAudio(Frame::from_slice(format, samples)));
    }
    session.speech_stopped(0);
    let text = loop {
        match events.recv().await.unwrap() {
            SttEvent::Final { text, .. } => break text,
            SttEvent::Failed { message, .. } => panic!("{message}"),
            SttEvent::Partial { .. } | SttEvent::EndOfTurn => {}
        }
    };
    assert_eq!(WordErrors::between(line.text, &text).errors, 0, "{text}");

    let tts = LocalTts::new(shared());
    let request = |format| TtsRequest {
        text: "She sells six sea shells.".to_owned(),
        voice: None,
        model: None,
        speed: 1.0,
        language: "en-US".to_owned(),
        format,
    };
    let spoken = async |format| {
        let (sender, mut audio) = mpsc::channel(64);
        tts.speak(request(format), sender).await.unwrap();
        let mut samples = Vec::new();
        while let Some(piece) = audio.recv().await {
            samples.extend(piece.samples);
        }
        samples
    };
    let (wide, narrow) = (spoken(format).await, spoken(AudioFormat::Narrowband).await);
    assert!(wide.len().abs_diff(2 * narrow.len()) < 200, "{} and {}", wide.len(), narrow.len());
    let power =
        |samples: &[i16]| samples.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / samples.len() as f64;
    assert!(power(&narrow) < 0.99 * power(&wide), "hisses are above 4 kHz");
}

#[tokio::test]
async fn a_language_that_the_models_do_not_know_is_refused() {
    let (sender, _events) = mpsc::channel(1);
    let options = SttOptions { language: "de-DE".to_owned(), ..SttOptions::default() };
    let error = LocalStt::new(shared()).open(options, sender).await.err().expect("German is refused");
    assert!(matches!(&error, ProviderError::Config { message, .. } if message.contains("English only")), "{error}");
}

#[tokio::test]
async fn models_that_are_not_there_are_asked_for() {
    let (sender, _events) = mpsc::channel(1);
    let nowhere = LocalSpeech::new(ModelStore::new(Path::new("/nonexistent")));
    let error = LocalStt::new(nowhere).open(SttOptions::default(), sender).await.err().expect("there is no model");
    assert!(error.to_string().contains("switchhook models pull"), "{error}");
}
