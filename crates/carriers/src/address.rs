//! The public addresses given to carriers: below `/carrier/<provider>/`, each with a token that nobody can guess.
//!
//! A token is the id of a call or connection and a code that only this service's master key makes, so that any node
//! recognises the tokens of every other, and nothing has to be stored.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use switchhook_core::id::{CallId, ConnectionId};
use switchhook_core::private::Private;
use switchhook_vault::{Purpose, Vault};
use uuid::Uuid;

/// Hexadecimal digits of the code: 128 bit.
const CODE: usize = 32;
/// Hexadecimal digits of the id.
const ID: usize = 32;

/// Makes addresses and recognises their tokens. Clones share one key.
#[derive(Clone)]
pub struct Addresses(Arc<Inner>);

struct Inner {
    public_url: String,
    vault: Vault,
}

/// What a token is for: one for calls is none for connections.
#[derive(Clone, Copy)]
enum TokenKind {
    Call,
    Connection,
    /// For a browser, which gets no other.
    Web,
}

impl TokenKind {
    /// Of what the code of a token is made.
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
    /// Addresses below `public_url`, which ends without a slash.
    #[must_use]
    pub fn new(public_url: String, vault: &Vault) -> Self {
        Self(Arc::new(Inner { public_url, vault: vault.clone() }))
    }

    /// Where the service is reached from outside, without a slash at the end.
    #[must_use]
    pub fn public_url(&self) -> &str {
        &self.0.public_url
    }

    /// The addresses of one call.
    #[must_use]
    pub fn for_call(&self, provider: &str, call: CallId) -> CallAddress {
        let token = self.token(TokenKind::Call, call.uuid());
        CallAddress { base: format!("{}/carrier/{provider}/calls/{token}", self.0.public_url), token, call }
    }

    /// The addresses of one carrier connection: for calls that nobody knows of yet.
    #[must_use]
    pub fn for_connection(&self, provider: &str, connection: ConnectionId) -> ConnectionAddress {
        let token = self.token(TokenKind::Connection, connection.uuid());
        ConnectionAddress { base: format!("{}/carrier/{provider}/connections/{token}", self.0.public_url) }
    }

    /// The websocket for the browser of a web call: `wss://`, or `ws://` where the service is reached without TLS. Whoever has it may
    /// talk.
    #[must_use]
    pub fn web_call(&self, call: CallId) -> String {
        let token = self.token(TokenKind::Web, call.uuid());
        format!("{}/media/web/{token}", self.0.public_url.replacen("http", "ws", 1))
    }

    /// The web call whose token this is.
    #[must_use]
    pub fn web_call_of(&self, token: &str) -> Option<CallId> {
        self.id_of(TokenKind::Web, token).map(CallId::from_uuid)
    }

    /// The call whose token this is, also when it was made with a key that only opens by now.
    #[must_use]
    pub fn call_of(&self, token: &str) -> Option<CallId> {
        self.id_of(TokenKind::Call, token).map(CallId::from_uuid)
    }

    /// The connection whose token this is.
    #[must_use]
    pub fn connection_of(&self, token: &str) -> Option<ConnectionId> {
        self.id_of(TokenKind::Connection, token).map(ConnectionId::from_uuid)
    }

    /// `text` as it may stand in an address of `call`: sealed, since addresses are written to logs on their way.
    #[must_use]
    pub fn seal(&self, call: CallId, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.0.vault.seal(&sealed_for(call), text.as_bytes()))
    }

    /// The text that was sealed for `call`.
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

/// Where a carrier reports what happens on one call, and where it opens the media stream. `Debug` does not print the token.
#[derive(Clone, PartialEq, Eq)]
pub struct CallAddress {
    base: String,
    token: String,
    call: CallId,
}

impl CallAddress {
    /// Where a report about `topic`, such as `status`, goes.
    #[must_use]
    pub fn report(&self, topic: &str) -> String {
        format!("{}/{topic}", self.base)
    }

    /// The websocket for the call's audio: `wss://`, or `ws://` where the service is reached without TLS.
    #[must_use]
    pub fn media(&self) -> String {
        // `https` becomes `wss`.
        format!("{}/media", self.base.replacen("http", "ws", 1))
    }

    /// The token by itself, for where a carrier repeats what it was given.
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

/// Where a carrier announces the calls of a connection's numbers.
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectionAddress {
    base: String,
}

impl ConnectionAddress {
    /// Where a report about `topic`, such as `voice` or `status`, goes.
    #[must_use]
    pub fn report(&self, topic: &str) -> String {
        format!("{}/{topic}", self.base)
    }
}

/// Tokens of addresses: a damaged one is nobody's.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let addresses = addresses_for_tests();
        let call = addresses.for_call("twilio", CallId::from_uuid(uuid::Uuid::from_u128(7)));
        switchhook_fuzz::each_alone(&[call.token()])
    },
    read: |messages| {
        let addresses = addresses_for_tests();
        switchhook_fuzz::Read::each_text(messages, |token| {
            assert!(addresses.connection_of(token).is_none(), "a call's token is no connection's");
            let call = addresses.call_of(token).ok_or("it is nobody's")?;
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
        let web = addresses(1).web_call(call);
        let token = web.strip_prefix("wss://voice.example.com/media/web/").expect("its place");
        assert_eq!((addresses(1).web_call_of(token), addresses(1).call_of(token)), (Some(call), None));
        assert_eq!(format!("{address:?}"), format!("CallAddress({call})"));
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
