//! The known speech models, pinned by hash.
//!
//! Each comes in a Python wheel published by its makers. Only the named files are extracted; nothing in a wheel is ever run. To
//! change a version, change every hash here: `ModelStore::pull` rejects anything else.

/// A model: its wheel and the files to extract.
pub(super) struct Model {
    pub(super) id: &'static str,
    /// Its purpose.
    pub(super) purpose: &'static str,
    pub(super) license: &'static str,
    pub(super) attribution: &'static str,
    pub(super) package: &'static str,
    pub(super) version: &'static str,
    pub(super) wheel: &'static str,
    pub(super) wheel_bytes: u64,
    pub(super) wheel_sha256: &'static str,
    pub(super) files: &'static [File],
}

/// A file of a model.
pub(super) struct File {
    /// Its name once installed.
    pub(super) name: &'static str,
    pub(super) bytes: u64,
    pub(super) sha256: &'static str,
    /// Its path inside the wheel.
    pub(super) member: &'static str,
    pub(super) treatment: Treatment,
}

/// How a file is processed between wheel and disk.
pub(super) enum Treatment {
    /// Copy it.
    Copy,
    /// Convert it from ONNX Runtime's format to ONNX. The member's size and hash are checked first.
    OrtToOnnx { member_bytes: u64, member_sha256: &'static str },
}

/// Speech-to-text.
pub const MOONSHINE: &str = "stt/moonshine-base-en";
/// Text-to-speech.
pub const HIBARI: &str = "tts/hibari";

pub(super) const MODELS: &[Model] = &[
    Model {
        id: MOONSHINE,
        purpose: "speech to text, English",
        license: "MIT",
        attribution: "Moonshine AI",
        package: "moonshine-cpp",
        version: "0.1.4",
        wheel: "moonshine_cpp-0.1.4-py3-none-manylinux2014_x86_64.whl",
        wheel_bytes: 54_645_697,
        wheel_sha256: "f7afc662bdd3ef98815ee3b940438b456e77d5a77cea5396ed9c572785412ebd",
        files: &[
            File {
                name: "encoder.onnx",
                bytes: 20_403_678,
                sha256: "01a449365bf07a5d9ac27206b6e79c2b1cd6a715857927544eebb7d6e410e731",
                member: "moonshine_cpp-0.1.4.data/purelib/moonshine_cpp/models/base-en/encoder_model.ort",
                treatment: Treatment::OrtToOnnx {
                    member_bytes: 20_661_976,
                    member_sha256: "9d1a19e044cbf89a207723d1adb667de89a5671a1e3e611b8ebe721b2c31219c",
                },
            },
            File {
                name: "decoder.onnx",
                bytes: 42_223_516,
                sha256: "679080d9499967fe047dcd5e936c621cc8fa26d21440de7f4c9015f3bf490584",
                member: "moonshine_cpp-0.1.4.data/purelib/moonshine_cpp/models/base-en/decoder_model_merged.ort",
                treatment: Treatment::OrtToOnnx {
                    member_bytes: 42_703_232,
                    member_sha256: "370e0c1f161d68dc1c2264c1a82024fb123380da3b73f47f05531d1e8d3308c3",
                },
            },
            File {
                name: "tokenizer.bin",
                bytes: 241_639,
                sha256: "04670d78994d030185c3dd843c60591788fed0a56cc6750747bd326825f13ca9",
                member: "moonshine_cpp-0.1.4.data/purelib/moonshine_cpp/models/base-en/tokenizer.bin",
                treatment: Treatment::Copy,
            },
            File {
                name: "LICENSE",
                bytes: 1_069,
                sha256: "5184ec974ddac0a49e478471bd789fd9e9af7254030e1b7f2af74c2ab8a4161e",
                member: "moonshine_cpp-0.1.4.data/purelib/moonshine_cpp/LICENSE",
                treatment: Treatment::Copy,
            },
        ],
    },
    Model {
        id: HIBARI,
        purpose: "text to speech, American English",
        license: "Apache-2.0",
        attribution: "hibari, Copyright 2026 Maureese Williams; distilled from Kokoro-82M by hexgrad",
        package: "hibari-tts",
        version: "0.2.1",
        wheel: "hibari_tts-0.2.1-py3-none-any.whl",
        wheel_bytes: 14_032_178,
        wheel_sha256: "49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3",
        files: &[
            File {
                name: "hibari.onnx",
                bytes: 7_936_868,
                sha256: "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
                member: "hibari/assets/hibari.onnx",
                treatment: Treatment::Copy,
            },
            File {
                name: "vocab.json",
                bytes: 1_144,
                sha256: "70abefbe8a1c8865e43e0a43bbdc25b91a33e4aa053479d443ccf23e20a59e5d",
                member: "hibari/assets/vocab.json",
                treatment: Treatment::Copy,
            },
            File {
                name: "oov.onnx",
                bytes: 2_975_020,
                sha256: "d3cfd8122c5f172a98c8de38268bf1213ee09f2c2ae4df6e055fc6532590fe76",
                member: "hibari/assets/oov.onnx",
                treatment: Treatment::Copy,
            },
            File {
                name: "oov.json",
                bytes: 2_273,
                sha256: "b462e6e5dbdf0e7346c732385d0dd844f612f1770871441c56932bff4ca75d8c",
                member: "hibari/assets/oov.json",
                treatment: Treatment::Copy,
            },
            File {
                name: "LICENSE",
                bytes: 11_358,
                sha256: "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30",
                member: "hibari_tts-0.2.1.dist-info/licenses/LICENSE",
                treatment: Treatment::Copy,
            },
            File {
                name: "NOTICE",
                bytes: 2_429,
                sha256: "971f53a04730ac7a4de33b3c9586e0347e4487f3a8aafd0fb3c1d074a3426adc",
                member: "hibari_tts-0.2.1.dist-info/licenses/NOTICE",
                treatment: Treatment::Copy,
            },
        ],
    },
];

impl Model {
    pub(super) fn find(id: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.id == id)
    }

    /// Returns its installed size in bytes.
    pub(super) fn installed_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
