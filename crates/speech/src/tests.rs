//! Tests of the real models. They are pulled once into `SWITCHHOOK_TEST_MODELS` or `target/test-models`; without them these tests fail, so that a
//! model that was not run never counts as working.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::phonemes::Phonemiser;
use super::*;
use crate::models::{HIBARI, MOONSHINE, ModelStore, NoProgress};

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

fn moonshine() -> Moonshine {
    Moonshine::load(&models().path(MOONSHINE).expect("it was just pulled")).unwrap()
}

fn phonemiser() -> Phonemiser {
    Phonemiser::load(&models().path(HIBARI).expect("it was just pulled")).unwrap()
}

#[test]
fn a_cancelled_job_ends_with_no_words() {
    let cancel = Cancel::default();
    cancel.cancel();
    let job = Job::single().with_cancel(cancel);
    assert!(matches!(moonshine().transcribe(&vec![0.1; 32_000], &job), Err(SpeechError::Cancelled)));
}

#[test]
fn words_of_no_dictionary_are_read_and_nothing_unknown_reaches_the_voice() {
    let phonemiser = phonemiser();
    let texts = [
        "Siobhan Kowalczyk and Xochitl at jsmith42@example.com",
        "👋 é ñandú 東京 Ωmega [x](/y/) <tag> {} ~ ^ |",
        "R2D2, ÀÉÎ; zzxqv-wvut_b #hashtag 1234567890123456789",
        &"supercalifragilistic".repeat(60),
        "",
        "...",
    ];
    for text in texts {
        let phrases = phonemiser.phrases(text).unwrap();
        assert!(phrases.iter().all(|phrase| !phrase.phonemes.contains('❓')), "{text:?}: {phrases:?}");
    }
    let said = phonemiser.phrases("Kowalczyk").unwrap().remove(0).phonemes;
    assert!(said.len() > 5, "read, not dropped: {said:?}");
    let letters = phonemiser.phrases("A B C").unwrap();
    assert_eq!(letters[0].phonemes, "ˈA", "the letter, not the article");
}

#[test]
fn text_of_any_length_can_be_said() {
    let voice = Hibari::load(&models().path(HIBARI).expect("it was just pulled")).unwrap();
    let text = "This is one of very many words that follow each other without an end, ".repeat(12);
    let speech = voice.synthesize(&text, 1.0, 1, &Job::single()).unwrap();
    assert!(speech.samples.len() > 30 * hibari::SAMPLE_RATE);
    assert_eq!(speech.words.len(), text.split_whitespace().count());
    assert!(voice.synthesize("👋", 1.0, 1, &Job::single()).unwrap().samples.is_empty());
}

#[test]
fn two_pulls_at_once_end_with_one_whole_model() {
    let dir = std::env::temp_dir().join(format!("switchhook-two-pulls-{}", std::process::id()));
    let pull = || ModelStore::new(&dir).pull(&[HIBARI], &NoProgress).map(|status| status[0].verified);
    let results = std::thread::scope(|scope| {
        let threads = [scope.spawn(pull), scope.spawn(pull)];
        threads.map(|thread| thread.join().expect("no panic").expect("both succeed"))
    });
    assert_eq!(results, [Some(true); 2]);
    assert_eq!(ModelStore::new(&dir).verify()[1].verified, Some(true));
    let left: Vec<_> = fs::read_dir(dir.join("models")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["tts"], "no temporary folder is left");
    fs::remove_dir_all(dir).unwrap();
}
