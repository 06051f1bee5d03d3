//! The parsers of the crates that do no input or output, and those of headers.

use std::time::Duration;

use axum::http::{HeaderValue, header};
use serde_json::{Map, Value, json};
use switchhook_core::Timestamp;
use switchhook_core::api_key::PresentedKey;
use switchhook_core::idempotency::{Fingerprint, IdempotencyKey};
use switchhook_core::phone_number::PhoneNumber;
use switchhook_core::sign_in::local_path;
use switchhook_core::webhook::{AddressPolicy, Schedule, SigningSecret, judge_url, retry_after, verify};
use switchhook_fuzz::{Read, Target, each_alone, texts};
use switchhook_media::dtmf::{Detector, Dialer};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;
use switchhook_media::g711::{FRAME_BYTES, Law};
use switchhook_media::wav;
use switchhook_net::outbound::unpacked;
use url::Url;

use crate::http::merge_patch::merge;

fn now() -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000)
}

pub(super) const TARGETS: [&Target; 15] = [
    &RETURN_TO,
    &BODY_TEXT,
    &ENCODED_BODY,
    &MERGE_PATCH,
    &PHONE_NUMBER,
    &API_KEY,
    &TIME,
    &IDEMPOTENCY_KEY,
    &FINGERPRINT,
    &SIGNATURE,
    &RETRY_AFTER,
    &URL,
    &WAV,
    &DTMF,
    &RESAMPLER,
];

const RETURN_TO: Target = Target {
    file: "crates/core/src/sign_in/return_to.rs",
    seeds: || each_alone(&["/", "/calls/7?t=1#turn-3", "/authors", "/a//b"]),
    read: |messages| {
        let here = Url::parse("https://voice.example.com/auth/callback").expect("an address");
        Read::each_text(messages, |path| {
            let path = local_path(path).ok_or("it leads elsewhere")?;
            let target = here.join(path).expect("a path is an address");
            assert_eq!(target.origin(), here.origin(), "{path}");
            assert!(!target.path().starts_with("/auth/") && target.path() != "/auth", "{path} signs in again");
            Ok::<_, &str>(path.len())
        })
    },
};

const BODY_TEXT: Target = Target {
    file: "crates/net/src/text.rs",
    seeds: || {
        texts(&[
            &["text/plain; charset=\"iso-8859-1\"", "Müller"],
            &["application/json; boundary=x; Charset=shift_jis", "\u{feff}{}"],
        ])
    },
    read: |messages| {
        let mut read = Read::default();
        for pair in messages.chunks_exact(2) {
            let content_type = String::from_utf8_lossy(&pair[0]);
            let text = switchhook_net::text::text(Some(&content_type), &pair[1]);
            assert!(text.len() <= 3 * pair[1].len() + 3, "{} bytes of {}", text.len(), pair[1].len());
            read.count(Ok::<_, ()>(text.len()));
        }
        read
    },
};

/// The most bytes of an unpacked body that are read, as the readers of bodies have limits.
const UNPACKED: usize = 64 * 1024;

const ENCODED_BODY: Target = Target {
    file: "crates/net/src/outbound/encoding.rs",
    seeds: || {
        let bodies: [(&str, &[u8]); 6] = [
            ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xab\xae\x05\0C\xbf\xa6\xa3\x02\0\0\0"),
            ("deflate", b"x\x9c\xab\xae\x05\0\x01u\0\xf9"),
            ("Deflate, identity", b"\xab\xae\x05\0"),
            ("br", b"\x8b\0\x80{}\x03"),
            ("zstd", b"\x28\xb5\x2f\xfd\x20\x02\x11\0\0{}"),
            (
                "zstd, gzip",
                b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xd3\xd8\xaa\xffW\x81I\x90\x81\xa1\xba\x16\0\xf3X\xab;\x0b\0\0\0",
            ),
        ];
        bodies.map(|(encoding, body)| vec![encoding.as_bytes().to_vec(), body.to_vec()]).to_vec()
    },
    read: |messages| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut read = Read::default();
        for pair in messages.chunks_exact(2) {
            let Ok(encoding) = HeaderValue::from_bytes(&pair[0]) else { continue };
            let response = axum::http::Response::builder().header(header::CONTENT_ENCODING, encoding);
            let response = response.body(pair[1].clone()).expect("a response");
            read.count(runtime.block_on(unpacked_size(response.into())));
        }
        read
    },
};

/// Reads a body as far as a reader would. Returns its size.
async fn unpacked_size(packed: reqwest::Response) -> reqwest::Result<usize> {
    let (mut response, mut size) = (unpacked(packed), 0);
    while size < UNPACKED
        && let Some(piece) = response.chunk().await?
    {
        size += piece.len();
    }
    Ok(size)
}

/// A patch that is applied twice changes what it changes once (RFC 7396).
const MERGE_PATCH: Target = Target {
    file: "crates/server/src/http/merge_patch.rs",
    seeds: || each_alone(&[r#"{"a":{"b":null,"c":{"d":1}},"e":[1,{"f":null}],"g":"h"}"#]),
    read: |messages| {
        Read::each(messages, |patch| {
            let patch: Map<String, Value> = serde_json::from_slice(patch)?;
            let mut target = json!({ "a": { "b": 1, "c": 2 }, "g": {} }).as_object().cloned().unwrap_or_default();
            merge(&mut target, patch.clone(), &["a.b"]);
            let once = target.clone();
            merge(&mut target, patch, &["a.b"]);
            assert_eq!(target, once);
            Ok::<_, serde_json::Error>(Value::Object(target).to_string().len())
        })
    },
};

const PHONE_NUMBER: Target = Target {
    file: "crates/core/src/phone_number.rs",
    seeds: || each_alone(&["+12025550100", "sip:ava@example.com:5060;transport=tls", "sips:[::1]"]),
    read: |messages| Read::each_text(messages, |text| text.parse::<PhoneNumber>().map(|number| number.reveal().len())),
};

const API_KEY: Target = Target {
    file: "crates/core/src/api_key.rs",
    seeds: || {
        let key = switchhook_core::api_key::ApiKey::generate(switchhook_core::api_key::Environment::Dev, || 7);
        each_alone(&[key.reveal()])
    },
    read: |messages| Read::each_text(messages, |text| PresentedKey::parse(text).map(|key| key.prefix().len())),
};

const TIME: Target = Target {
    file: "crates/core/src/time.rs",
    seeds: || each_alone(&["2026-11-21T09:00:00Z", "2026-11-21t09:00:00.123456789+14:00"]),
    read: |messages| Read::each_text(messages, |text| Timestamp::parse(text).map(|time| time.to_string().len())),
};

const IDEMPOTENCY_KEY: Target = Target {
    file: "crates/core/src/idempotency.rs",
    seeds: || each_alone(&["0198c6a0-0000-7000-8000-000000000000", "order-7"]),
    read: |messages| {
        let mut read = Read::default();
        let key = IdempotencyKey::from_header_values(messages.iter().map(Vec::as_slice));
        read.count(key.map(|key| key.map_or(0, |key| key.as_str().len())));
        read
    },
};

const FINGERPRINT: Target = Target {
    file: "crates/core/src/idempotency.rs",
    seeds: || {
        each_alone(&[
            r#"{"to":"+12025550100","agent_id":"x","metadata":{"b":1.50,"a":[1e3,null,"\u00e4"]}}"#,
            "[]",
            "-0.0",
        ])
    },
    read: |messages| Read::each_text(messages, |body| Fingerprint::of("POST", "/v1/calls", body).map(|_| 32)),
};

const SIGNATURE: Target = Target {
    file: "crates/core/src/webhook/signature.rs",
    seeds: || {
        let secret = SigningSecret::generate([7; 32]);
        let header = SigningSecret::header(std::slice::from_ref(&secret), now(), b"{}");
        texts(&[&[&header, "{}", secret.reveal()]])
    },
    read: |messages| {
        let part = |at: usize| String::from_utf8_lossy(messages.get(at).map_or(&[], Vec::as_slice));
        let mut read = Read::default();
        let secret = SigningSecret::parse(&part(2)).unwrap_or_else(|_| SigningSecret::generate([7; 32]));
        read.count(verify(&part(0), part(1).as_bytes(), &secret, now(), Duration::from_secs(300)).map(|()| 1));
        read
    },
};

const RETRY_AFTER: Target = Target {
    file: "crates/core/src/webhook/schedule.rs",
    seeds: || each_alone(&["120", "Sun, 06 Nov 1994 08:49:37 GMT"]),
    read: |messages| {
        Read::each_text(messages, |text| {
            let asked = retry_after(503, text, now()).ok_or(())?;
            let schedule = Schedule::new(&[Duration::from_secs(5); 7]).expect("seven delays");
            Ok::<_, ()>(usize::from(schedule.next_attempt(1, now(), Some(asked), 7).is_some()))
        })
    },
};

const URL: Target = Target {
    file: "crates/core/src/webhook/url_policy.rs",
    seeds: || each_alone(&["https://example.com/hook?x=1#y", "https://[2606:4700::1111]:8443/", "https://1.1.1.1/"]),
    read: |messages| {
        Read::each_text(messages, |text| {
            let networks = text.parse::<AddressPolicy>().is_ok();
            judge_url(text, &AddressPolicy::default()).map(|url| url.as_str().len() + usize::from(networks))
        })
    },
};

const WAV: Target = Target {
    file: "crates/media/src/wav.rs",
    seeds: || vec![vec![wav::mono(&[7; 200], 8_000)], vec![wav::mono(&[], 24_000)]],
    read: |messages| {
        Read::each(messages, |bytes| {
            wav::read(bytes).map(|wav| wav.channels.iter().map(|samples| 2 * samples.len()).sum())
        })
    },
};

const DTMF: Target = Target {
    file: "crates/media/src/dtmf.rs",
    seeds: || each_alone(&["123w#*ABCD"]),
    read: |messages| {
        Read::each_text(messages, |keys| {
            let (mut dialer, mut detector) = (Dialer::new(AudioFormat::Narrowband), Detector::default());
            // Half a second of tones for each key is more than needs to be made.
            dialer.press(&keys.chars().take(20).collect::<String>());
            let frames = std::iter::from_fn(|| dialer.next_frame());
            Ok::<_, ()>(frames.filter_map(|frame| detector.push(&frame)).count())
        })
    },
};

const RESAMPLER: Target = Target {
    file: "crates/media/src/g711.rs",
    seeds: || vec![vec![vec![0xff; FRAME_BYTES], vec![0x7f; FRAME_BYTES]]],
    read: |messages| {
        let mut detector = Detector::default();
        Read::each(messages, |bytes| {
            let frames: [Frame; 2] = [Law::Mu.decode_frame(bytes)?, Law::A.decode_frame(bytes)?];
            Ok::<_, switchhook_media::g711::WrongLength>(frames.iter().filter_map(|frame| detector.push(frame)).count())
        })
    },
};
