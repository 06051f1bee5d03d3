//! The public URLs given to carriers: below `/carrier/<provider>/`, each with an unguessable token.
//!
//! A token is the id of a call or connection and a code derived from this service's master key, so that every node recognises
//! the tokens of every other, and nothing has to be stored.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use switchhook_core::id::{CallId, ConnectionId};
use switchhook_core::private::Private;
use switchhook_vault::{Purpose, Vault};
use uuid::Uuid;

/// Hexadecimal digits of the code: 128 bits.
const CODE: usize = 32;
/// Hexadecimal digits of the id.
const ID: usize = 32;

/// Creates URLs and recognises their tokens. Clones share one key.
#[derive(Clone)]
pub struct Addresses(Arc<Inner>);

struct Inner {
    public_url: String,
    vault: Vault,
}

/// The purpose of a token: a token for calls is not valid for connections.
#[derive(Clone, Copy)]
enum TokenKind {
    Call,
    Connection,
    /// For a browser, which gets no other token.
    Web,
}

impl TokenKind {
    /// Returns the message that the token's code authenticates.
    fn message(self, id: Uuid) -> Vec<u8> {
        let name: &[u8] = match self {
            Self::Call => b"call",
            Self::Connection => b"connection",
            Self::Web => b"web",
        };
        [name, id.as_bytes()].concat()
    }
}

impl Addresses {
    /// Creates addresses below `public_url`, which ends without a slash.
    #[must_use]
    pub fn new(public_url: String, vault: &Vault) -> Self {
        Self(Arc::new(Inner { public_url, vault: vault.clone() }))
    }

    /// Returns the public URL of the service, without a trailing slash.
    #[must_use]
    pub fn public_url(&self) -> &str {
        &self.0.public_url
    }

    /// Returns the addresses of one call.
    #[must_use]
    pub fn for_call(&self, provider: &str, call: CallId) -> CallAddress {
        let token = self.token(TokenKind::Call, call.uuid());
        CallAddress { base: format!("{}/carrier/{provider}/calls/{token}", self.0.public_url), token, call }
    }

    /// Returns the addresses of one carrier connection, for calls that do not exist here yet.
    #[must_use]
    pub fn for_connection(&self, provider: &str, connection: ConnectionId) -> ConnectionAddress {
        let token = self.token(TokenKind::Connection, connection.uuid());
        ConnectionAddress { base: format!("{}/carrier/{provider}/connections/{token}", self.0.public_url) }
    }

    /// Returns the websocket URL for the browser of a web call: `wss://`, or `ws://` if the service is reached without TLS. The URL alone
    /// grants access to the call. If a session placed the call, its hash is sealed in the token.
    #[must_use]
    pub fn web_call(&self, call: CallId, session: Option<[u8; 32]>) -> String {
        let token = match session {
            None => self.token(TokenKind::Web, call.uuid()),
            Some(session) => {
                let sealed = self.0.vault.seal(&placed_in_session(call), &session);
                format!("{}{}", call.uuid().simple(), URL_SAFE_NO_PAD.encode(sealed))
            }
        };
        format!("{}/media/web/{token}", self.0.public_url.replacen("http", "ws", 1))
    }

    /// Returns the web call that this token belongs to, with the hash of the session that placed it, if one did.
    #[must_use]
    pub fn web_call_of(&self, token: &str) -> Option<(CallId, Option<[u8; 32]>)> {
        if let Some(id) = self.id_of(TokenKind::Web, token) {
            return Some((CallId::from_uuid(id), None));
        }
        let (id, sealed) = token.split_at_checked(ID)?;
        let call = CallId::from_uuid(Uuid::try_parse(id).ok()?);
        let opened = self.0.vault.open(&placed_in_session(call), &URL_SAFE_NO_PAD.decode(sealed).ok()?).ok()?;
        let session = <[u8; 32]>::try_from(opened.reveal().as_slice()).ok()?;
        Some((call, Some(session)))
    }

    /// Returns the call that this token belongs to, even if it was made with an old key that only opens.
    #[must_use]
    pub fn call_of(&self, token: &str) -> Option<CallId> {
        self.id_of(TokenKind::Call, token).map(CallId::from_uuid)
    }

    /// Returns the connection that this token belongs to.
    #[must_use]
    pub fn connection_of(&self, token: &str) -> Option<ConnectionId> {
        self.id_of(TokenKind::Connection, token).map(ConnectionId::from_uuid)
    }

    /// Seals `text` for use in a URL of `call`, since URLs are logged along the way.
    #[must_use]
    pub fn seal(&self, call: CallId, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.0.vault.seal(&sealed_for(call), text.as_bytes()))
    }

    /// Opens text that was sealed for `call`.
    #[must_use]
    pub fn open(&self, call: CallId, sealed: &str) -> Option<Private<String>> {
        let opened = self.0.vault.open(&sealed_for(call), &URL_SAFE_NO_PAD.decode(sealed).ok()?).ok()?;
        String::from_utf8(opened.reveal().clone()).ok().map(Private::new)
    }

    fn token(&self, kind: TokenKind, id: Uuid) -> String {
        let code = self.0.vault.code(Purpose::CarrierAddresses, &kind.message(id));
        format!("{}{}", id.simple(), HEXLOWER.encode(&code[..CODE / 2]))
    }

    fn id_of(&self, kind: TokenKind, token: &str) -> Option<Uuid> {
        let (id, code) = token.split_at_checked(ID).filter(|(_, code)| code.len() == CODE)?;
        let (id, code) = (Uuid::try_parse(id).ok()?, HEXLOWER_PERMISSIVE.decode(code.as_bytes()).ok()?);
        self.0.vault.verify(Purpose::CarrierAddresses, &kind.message(id), &code).then_some(id)
    }
}

fn sealed_for(call: CallId) -> String {
    format!("carrier address/{call}")
}

/// The context in which the session of a web call's token is sealed.
fn placed_in_session(call: CallId) -> String {
    format!("web call/{call}")
}

/// The URLs to which a carrier reports the events of one call and opens its media stream. `Debug` does not print the token.
#[derive(Clone, PartialEq, Eq)]
pub struct CallAddress {
    base: String,
    token: String,
    call: CallId,
}

impl CallAddress {
    /// Returns the URL for reports about `topic`, such as `status`.
    #[must_use]
    pub fn report(&self, topic: &str) -> String {
        format!("{}/{topic}", self.base)
    }

    /// Returns the websocket URL for the call's audio: `wss://`, or `ws://` if the service is reached without TLS.
    #[must_use]
    pub fn media(&self) -> String {
        // `https` becomes `wss`.
        format!("{}/media", self.base.replacen("http", "ws", 1))
    }

    /// Returns the bare token, for carriers that repeat a value they were given.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }
}

impl fmt::Debug for CallAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallAddress({})", self.call)
    }
}

/// The URLs to which a carrier announces calls to a connection's numbers.
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectionAddress {
    base: String,
}

impl ConnectionAddress {
    /// Returns the URL for reports about `topic`, such as `voice` or `status`.
    #[must_use]
    pub fn report(&self, topic: &str) -> String {
        format!("{}/{topic}", self.base)
    }
}

/// Tokens in URLs: a damaged one belongs to no call or connection.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let addresses = addresses_for_tests();
        let id = CallId::from_uuid(uuid::Uuid::from_u128(7));
        let call = addresses.for_call("twilio", id);
        let web = [None, Some([3; 32])].map(|session| addresses.web_call(id, session));
        let [web, of_session] = web.each_ref().map(|url| url.rsplit('/').next().unwrap_or_default());
        switchhook_fuzz::each_alone(&[call.token(), web, of_session])
    },
    read: |messages| {
        let addresses = addresses_for_tests();
        switchhook_fuzz::Read::each_text(messages, |token| {
            assert!(addresses.connection_of(token).is_none(), "a call's token is no connection's");
            let web = addresses.web_call_of(token);
            let session = web.and_then(|(_, session)| session);
            assert!(session.is_none_or(|session| session == [3; 32]), "its session stays as it is");
            let call = addresses.call_of(token).or(web.map(|(call, _)| call)).ok_or("it is nobody's")?;
            assert_eq!(call.uuid().as_u128(), 7, "nobody makes a token of another call");
            Ok::<_, &str>(16)
        })
    },
};

#[cfg(test)]
fn addresses_for_tests() -> Addresses {
    Addresses::new("https://voice.example.com".to_owned(), &Vault::for_tests([1; 32]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(key: u8) -> Addresses {
        Addresses::new("https://voice.example.com".to_owned(), &Vault::for_tests([key; 32]))
    }

    #[test]
    fn a_token_is_recognised_by_every_node_and_only_for_what_it_is() {
        let call = CallId::from_uuid(Uuid::from_u128(7));
        let address = addresses(1).for_call("twilio", call);
        let path = format!("/carrier/twilio/calls/{}/media", address.token());
        assert_eq!(address.media(), format!("wss://voice.example.com{path}"));
        assert_eq!(addresses(1).call_of(address.token()), Some(call));
        assert_eq!(addresses(2).call_of(address.token()), None, "another master key");
        assert_eq!(addresses(1).connection_of(address.token()), None, "a call is no connection");
        assert_eq!(addresses(1).web_call_of(address.token()), None, "a carrier's token is no browser's");
        let web = addresses(1).web_call(call, None);
        let token = web.strip_prefix("wss://voice.example.com/media/web/").expect("its place");
        assert_eq!((addresses(1).web_call_of(token), addresses(1).call_of(token)), (Some((call, None)), None));
        assert_eq!(format!("{address:?}"), format!("CallAddress({call})"));
    }

    #[test]
    fn the_token_of_a_web_call_cannot_lose_its_session_or_move_to_another_call() {
        let (call, other) = (CallId::from_uuid(Uuid::from_u128(7)), CallId::from_uuid(Uuid::from_u128(8)));
        let web = addresses(1).web_call(call, Some([3; 32]));
        let token = web.strip_prefix("wss://voice.example.com/media/web/").expect("its place");
        assert_eq!(addresses(1).web_call_of(token), Some((call, Some([3; 32]))));
        assert_eq!(addresses(2).web_call_of(token), None, "another master key");
        let (id, sealed) = token.split_at(ID);
        let moved = format!("{}{sealed}", other.uuid().simple());
        let sealed_for_carrier = format!("{id}{}", addresses(1).seal(call, &"x".repeat(32)));
        for wrong in [id, &token[..ID + CODE], &token[..token.len() - 1], sealed, &moved, &sealed_for_carrier] {
            assert_eq!(addresses(1).web_call_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_sealed_for_a_call_opens_for_that_call_only() {
        let call = CallId::from_uuid(Uuid::from_u128(7));
        let sealed = addresses(1).seal(call, "+12025550142");
        assert!(!sealed.contains("2025550142") && !sealed.contains(['+', '/', '=', '&']), "{sealed}");
        let opened =
            |addresses: &Addresses, call, sealed: &str| addresses.open(call, sealed).map(|text| text.reveal().clone());
        assert_eq!(opened(&addresses(1), call, &sealed).as_deref(), Some("+12025550142"));
        assert_eq!(opened(&addresses(2), call, &sealed), None, "another master key");
        assert_eq!(opened(&addresses(1), CallId::from_uuid(Uuid::from_u128(8)), &sealed), None, "another call");
        for wrong in ["", "x", &sealed[1..], "ä"] {
            assert_eq!(opened(&addresses(1), call, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn nothing_else_is_a_token() {
        let call = CallId::from_uuid(Uuid::from_u128(7));
        let token = addresses(1).for_call("twilio", call).token().to_owned();
        for position in 0..token.len() {
            let mut changed: Vec<char> = token.chars().collect();
            changed[position] = if changed[position] == '0' { '1' } else { '0' };
            assert_eq!(addresses(1).call_of(&changed.into_iter().collect::<String>()), None, "at {position}");
        }
        for wrong in ["", "x", &token[1..], &format!("{token}0"), &"ä".repeat(32), &"+".repeat(64)] {
            assert_eq!(addresses(1).call_of(wrong), None, "{wrong}");
        }
    }
}
