//! Tests of a data directory without network: refusals, and concurrent installs.

use super::*;

fn data_dir() -> ScratchDir {
    ScratchDir::new(&std::env::temp_dir().join("switchhook-models-tests")).unwrap()
}

#[test]
fn a_new_data_directory_lacks_every_model_and_says_what_they_would_cost() {
    let dir = data_dir();
    let models = ModelStore::new(dir.path());
    assert_eq!(models.missing(), [MOONSHINE, HIBARI]);
    assert_eq!(models.path(MOONSHINE), None);
    let status = &models.status()[0];
    assert_eq!((status.installed, status.verified), (false, None));
    assert_eq!(status.license, "MIT");
    assert_eq!(models.verify()[0].verified, Some(false));
}

#[test]
fn a_file_that_is_no_known_wheel_is_refused_with_the_names_of_those_that_are() {
    let dir = data_dir();
    let file = dir.path().join("moonshine_cpp-0.1.4-py3-none-manylinux2014_x86_64.whl");
    fs::write(&file, "not it").unwrap();
    let error = ModelStore::new(dir.path()).pull_from_file(&file, &NoProgress).unwrap_err().to_string();
    assert!(error.contains("hibari_tts-0.2.1-py3-none-any.whl"), "{error}");
    assert!(ModelStore::new(dir.path()).missing().contains(&MOONSHINE));
}

#[test]
fn an_unknown_id_is_refused_before_anything_is_fetched() {
    let dir = data_dir();
    let error = ModelStore::new(dir.path()).pull(&["stt/whisper"], &NoProgress).unwrap_err();
    assert!(error.to_string().contains("models list"), "{error}");
}

#[test]
fn a_damaged_model_gives_way_to_a_fresh_one_and_leaves_nothing_behind() {
    let dir = data_dir();
    let place = dir.path().join("models/tts/hibari/0.2.1");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("hibari.onnx"), "damaged").unwrap();
    let scratch = ScratchDir::new(&dir.path().join("models")).unwrap();
    let fresh = scratch.path().join("model");
    fs::create_dir(&fresh).unwrap();
    fs::write(fresh.join("hibari.onnx"), "fresh").unwrap();

    put_in_place(&MODELS[1], &fresh, &place, &scratch).unwrap();
    drop(scratch);

    assert_eq!(fs::read_to_string(place.join("hibari.onnx")).unwrap(), "fresh");
    let left: Vec<_> =
        fs::read_dir(dir.path().join("models")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["tts"], "only the model's own folder may be left");
}
