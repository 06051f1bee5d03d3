//! Which offers are answered.

use std::time::Instant;

use super::{offer, settings};
use crate::offer::CHROMIUM;
use crate::{OFFER_LIMIT, OfferError, Session, SessionSettings};

fn answered(offer: &str) -> Result<String, OfferError> {
    Session::answer(&settings(), offer, Instant::now()).map(|(_, answer)| answer)
}

#[test]
fn a_browsers_offer_is_answered_with_opus_and_our_addresses_only() {
    for offer in [CHROMIUM.to_owned(), offer(), CHROMIUM.replace('\n', "\r\n")] {
        let answer = answered(&offer).expect("an answer");
        for line in ["a=ice-lite", "a=sendrecv", "a=setup:passive", "a=rtcp-mux"] {
            assert!(answer.lines().any(|at| at == line), "{line} in {answer}");
        }
        let extensions = answer.lines().filter(|line| line.starts_with("a=extmap:")).collect::<Vec<_>>();
        assert!(extensions.iter().all(|line| line.ends_with("sdes:mid")), "{extensions:?}");
        assert!(answer.contains("opus/48000/2") && !answer.contains("PCMU"), "{answer}");
        let candidates: Vec<&str> = answer.lines().filter(|line| line.starts_with("a=candidate:")).collect();
        assert_eq!(candidates.len(), 1, "{answer}");
        assert!(candidates[0].contains("203.0.113.7 40000 typ host"), "{answer}");
    }
}

#[test]
fn what_is_no_microphone_is_refused_in_words() {
    let without = |start: &str| -> String {
        CHROMIUM.lines().filter(|line| !line.starts_with(start)).map(|line| format!("{line}\r\n")).collect()
    };
    let twice = CHROMIUM.replace("m=audio", "m=audio 9 UDP/TLS/RTP/SAVPF 111\na=mid:1\nm=audio");
    for (offer, error) in [
        (String::new(), OfferError::Malformed),
        ("v=0\r\n".to_owned(), OfferError::Malformed),
        ("{}".to_owned(), OfferError::Malformed),
        (without("a=fingerprint"), OfferError::Malformed),
        (without("a=mid"), OfferError::Malformed),
        (CHROMIUM.replace("opus/48000/2", "speex/48000/2"), OfferError::NoAudio),
        (CHROMIUM.replace("a=sendrecv", "a=recvonly"), OfferError::NoAudio),
        (CHROMIUM.replace("a=sendrecv", "a=inactive"), OfferError::NoAudio),
        (CHROMIUM.replace("m=audio", "m=video"), OfferError::NoAudio),
        (twice, OfferError::TooMuchMedia),
        (format!("{CHROMIUM}a=x:{}\r\n", "x".repeat(OFFER_LIMIT)), OfferError::TooLong),
    ] {
        assert_eq!(answered(&offer).err(), Some(error), "{offer}");
    }
}

#[test]
fn unreachable_addresses_are_not_offered() {
    for address in ["0.0.0.0:40000", "[::]:40000", "169.254.1.1:40000", "224.0.0.1:40000"] {
        let address = address.parse().expect("an address");
        assert!(SessionSettings::new(vec![address]).is_err(), "{address}");
    }
    assert!(SessionSettings::new(Vec::new()).is_err());
}
