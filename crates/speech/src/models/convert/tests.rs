//! Malformed files are errors. Real files are tested with the models: their results are pinned by hash.

use proptest::prelude::*;

use super::*;

/// Returns a tiny `.ort` file, written by hand: a session (slot 6: model) whose model (slot 18: graph) has an empty graph.
fn tiny() -> Vec<u8> {
    let mut bytes = vec![0; 96];
    let mut put = |at: usize, data: &[u8]| bytes[at..at + data.len()].copy_from_slice(data);
    let u32 = |value: u32| value.to_le_bytes();
    put(0, &u32(24)); // root table
    put(4, b"ORTM");
    put(8, &[8, 0, 8, 0, 0, 0, 4, 0]); // vtable of the session: field slot 6 lies at +4
    put(24, &u32(24 - 8));
    put(28, &u32(64 - 28)); // the model
    put(36, &[20, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]); // vtable of the model: slot 18 at +4
    put(64, &u32(64 - 36));
    put(68, &u32(80 - 68)); // the graph
    put(74, &[4, 0, 4, 0]); // vtable of the graph: no fields
    put(80, &u32(80 - 74));
    bytes
}

#[test]
fn the_smallest_model_is_converted() {
    let onnx = ort_to_onnx(&tiny()).unwrap();
    // ir_version 8, then graph (field 7) with its name.
    assert_eq!(onnx, b"\x08\x08\x3a\x07\x12\x05graph");
}

#[test]
fn another_kind_of_file_is_called_so() {
    assert_eq!(ort_to_onnx(b"PK\x03\x04 and so on"), Err(ConvertError::NotOrt));
    assert!(matches!(ort_to_onnx(b"PK"), Err(ConvertError::Malformed(_))));
}

proptest! {
    #[test]
    fn cut_or_altered_files_never_panic(cut in 0_usize..=96, at in 0_usize..96, byte: u8) {
        let mut bytes = tiny();
        bytes[at] = byte;
        bytes.truncate(cut);
        let _ = ort_to_onnx(&bytes);
    }

    #[test]
    fn noise_never_panics(mut noise in proptest::collection::vec(any::<u8>(), 8..2000), root in 8_u8..60) {
        noise[..8].copy_from_slice(&[root, 0, 0, 0, b'O', b'R', b'T', b'M']);
        let _ = ort_to_onnx(&noise);
    }
}
