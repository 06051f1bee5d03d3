//! A sign-in between leaving for the identity provider and coming back.
//!
//! Nothing is stored for it: its secrets travel sealed in the `state` parameter. It is bound to the browser by a cookie, and
//! `used_sign_ins` keeps it from counting twice.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchhook_core::Timestamp;
use switchhook_core::sign_in::STATE_MAX_AGE;
use switchhook_runtime::clock;
use switchhook_vault::Vault;

use super::provider::Challenge;

const CONTEXT: &str = "sign-in state v1";

/// The contents of the `state` parameter.
#[derive(Serialize, Deserialize)]
struct Sealed {
    browser: [u8; 32],
    nonce: String,
    verifier: String,
    return_to: String,
    until: Timestamp,
}

/// A sign-in that came back.
pub struct Returned {
    /// The secrets of the request to the provider.
    pub challenge: Challenge,
    /// The page to return to.
    pub return_to: String,
    /// When the browser was sent to the provider.
    pub started_at: Timestamp,
}

/// Starts a sign-in in the browser with this cookie.
#[must_use]
pub fn start(vault: &Vault, browser: &str, return_to: &str, now: Timestamp) -> Challenge {
    let (nonce, verifier) = (random_text(), random_text());
    let sealed = Sealed {
        browser: hash(browser),
        nonce: nonce.clone(),
        verifier: verifier.clone(),
        return_to: return_to.to_owned(),
        until: now + STATE_MAX_AGE,
    };
    let json = serde_json::to_vec(&sealed).expect("strings and numbers only");
    Challenge { state: URL_SAFE_NO_PAD.encode(vault.seal(CONTEXT, &json)), nonce, verifier }
}

/// Opens the state of a sign-in that came back; `None` unless this service gave it to this browser, not long ago.
#[must_use]
pub fn open(vault: &Vault, browser: &str, state: &str, now: Timestamp) -> Option<Returned> {
    let opened = vault.open(CONTEXT, &URL_SAFE_NO_PAD.decode(state).ok()?).ok()?;
    let sealed: Sealed = serde_json::from_slice(opened.reveal()).ok()?;
    (sealed.browser == hash(browser) && now < sealed.until).then(|| Returned {
        challenge: Challenge { state: state.to_owned(), nonce: sealed.nonce, verifier: sealed.verifier },
        return_to: sealed.return_to,
        started_at: sealed.until - STATE_MAX_AGE,
    })
}

/// Returns text that cannot be guessed: 256 random bits.
#[must_use]
pub fn random_text() -> String {
    URL_SAFE_NO_PAD.encode(clock::random::<32>())
}

/// Returns whether a text has the form of [`random_text`]. Other text was not issued by us.
#[must_use]
pub fn is_random_text(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The SHA-256 of a text.
#[must_use]
pub fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// States of sign-ins: a damaged one is none.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let started = start(&Vault::for_tests([7; 32]), "browser", "/calls", now);
        switchhook_fuzz::each_alone(&[&started.state])
    },
    read: |messages| {
        let (vault, now) = (Vault::for_tests([7; 32]), Timestamp::from_millis(1_700_000_000_000));
        switchhook_fuzz::Read::each_text(messages, |state| {
            assert!(open(&vault, "another", state, now).is_none(), "it is of one browser");
            let back = open(&vault, "browser", state, now).ok_or("it is none")?;
            assert_eq!(back.return_to, "/calls", "nobody changes where it leads");
            Ok::<_, &str>(back.return_to.len())
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_text_is_recognised_by_its_form() {
        let text = random_text();
        assert!(is_random_text(&text));
        for other in ["", "made-up", &text[1..], &format!("{text}A"), &text.replacen(&text[..1], "=", 1)] {
            assert!(!is_random_text(other), "{other}");
        }
    }

    #[test]
    fn a_state_opens_once_sealed_for_this_browser_and_for_ten_minutes() {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let vault = Vault::for_tests([7; 32]);
        let started = start(&vault, "browser", "/calls", now);
        let opens = |vault: &Vault, browser: &str, state: &str, now| open(vault, browser, state, now).is_some();
        let back = open(&vault, "browser", &started.state, now).expect("it came back");
        assert_eq!((back.return_to.as_str(), back.challenge.nonce), ("/calls", started.nonce.clone()));
        assert!(!started.state.contains(&started.verifier), "it is sealed");
        assert!(!opens(&vault, "another", &started.state, now));
        assert!(!opens(&vault, "browser", &started.state, now + STATE_MAX_AGE));
        assert!(!opens(&vault, "browser", &started.state[1..], now));
        assert!(!opens(&vault, "browser", "", now));
        assert!(!opens(&Vault::for_tests([8; 32]), "browser", &started.state, now));
    }
}
