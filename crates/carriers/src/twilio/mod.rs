//! Twilio Programmable Voice, and SignalWire's Compatibility API, which is the same with another accent ([`Flavour`]).
//!
//! A call at Twilio is created with TwiML that connects it to our media websocket at once, so nothing has to be fetched on
//! answer. SignalWire's description offers no TwiML in a request, and no limit of time: it is given addresses of ours that
//! answer with the document, and the call ends with its media stream. What happens comes as signed forms, or as signed JSON.

pub(crate) mod callback;
mod causes;
mod problem;
pub(crate) mod records;
mod rest;
pub(crate) mod signature;
mod topics;
mod twiml;
pub(crate) mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use switchhook_core::call::ErrorCode;
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;
use switchhook_core::private::Private;
use switchhook_media::format::AudioFormat;

use self::records::{Account, CallRecord, NumberRoute};
use self::rest::TwilioApi;
use self::signature::SigningKeys;
use self::wire::MediaStreams;
use super::address::{Addresses, CallAddress, ConnectionAddress};
use super::callback::{Callback, CallbackError, CallbackRequest, Decline, InboundRoute, Reply, Webhooks};
use super::kind::CarrierKind;
use super::rest::{RestError, below};
use super::stream::StreamProtocol;
use super::{
    AmdMode, CallControl, Carrier, CarrierError, Connection, DialError, DialRequest, Dialed, FoundLeg, LegEvents,
    LegRef, TransferError, TransferLeg, TransferReports, WebSocketMedia, text,
};

/// A credential.
type Secret = Private<String>;

/// Name of our applications at the carrier.
const APPLICATION: &str = "Switchhook";
/// Methods of our addresses.
const POST: &str = "POST";
/// Seconds that a call may ring, and that it may last, at most.
const MAX_TIMEOUT: u32 = 600;
const MAX_TIME_LIMIT: u32 = 86_400;
/// Limit of a call's duration after a transfer: Twilio's default, in seconds.
const LONGEST_AFTER_TRANSFER: &str = "14400";
/// How long the number of a transfer rings, in seconds.
const TRANSFER_RINGS: &str = "30";

/// Twilio in the registry.
pub const TWILIO: CarrierKind = CarrierKind {
    required_credentials: &["account_sid", "auth_token"],
    optional_credentials: &["api_key_sid", "api_key_secret", "secondary_auth_token", "webhook_key_secret"],
    inbound_topic: Some(topics::VOICE),
    settings: Some(&[]),
    driver: Some(|_| Arc::new(connect_twilio)),
    ..CarrierKind::planned("twilio")
};

/// SignalWire in the registry.
pub const SIGNALWIRE: CarrierKind = CarrierKind {
    required_credentials: &["project_id", "api_token", "signing_key"],
    inbound_topic: Some(topics::VOICE),
    settings: Some(&["space"]),
    driver: Some(|_| Arc::new(connect_signalwire)),
    ..CarrierKind::planned("signalwire")
};

/// Which of the two carriers that speak this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// The original.
    Twilio,
    /// SignalWire's Compatibility API, also called cXML or LaML.
    SignalWire,
}

impl Flavour {
    /// Name in messages.
    fn name(self) -> &'static str {
        match self {
            Self::Twilio => "Twilio",
            Self::SignalWire => "SignalWire",
        }
    }

    /// Name in the registry.
    fn provider(self) -> &'static str {
        match self {
            Self::Twilio => TWILIO.name,
            Self::SignalWire => SIGNALWIRE.name,
        }
    }

    /// A sentence of an error.
    fn says(self, words: impl fmt::Display) -> String {
        format!("{}: {words}.", self.name())
    }
}

/// The adapter of a Twilio connection.
///
/// It takes `credentials.account_sid` and `auth_token`; requests are authorised with `api_key_sid` and `api_key_secret`
/// where those are given, but signatures are always made with the auth token. While that is being changed,
/// `secondary_auth_token` is accepted too. A shared key signs with `webhook_key_secret` in place of the token.
fn connect_twilio(connection: &Connection<'_>) -> Result<Carrier, String> {
    let (account, token) = (connection.required("account_sid")?, connection.required("auth_token")?);
    if !account.reveal().starts_with("AC") {
        return Err(
            "credentials.account_sid is not the SID of an account, which begins with AC. An API key (SK…) goes \
                    into credentials.api_key_sid."
                .to_owned(),
        );
    }
    let (user, password) = match (connection.credential("api_key_sid"), connection.credential("api_key_secret")) {
        (Some(key), Some(secret)) => (key, secret),
        (None, None) => (account.clone(), token.clone()),
        _ => {
            return Err("credentials.api_key_sid and credentials.api_key_secret belong together: give both.".to_owned());
        }
    };
    let base = connection.rest.base_url(connection.setting("base_url").unwrap_or("https://api.twilio.com"))?;
    let account_url = below(&base, &["2010-04-01", "Accounts", account.reveal()]);
    let tokens = std::iter::once(token).chain(connection.credential("secondary_auth_token")).collect();
    let adapter = Arc::new(Adapter {
        flavour: Flavour::Twilio,
        api: TwilioApi::new(Flavour::Twilio, connection.rest.clone(), account_url, user, password),
        keys: SigningKeys::Twilio { tokens, shared: connection.credential("webhook_key_secret") },
        addresses: connection.addresses.clone(),
    });
    Ok(Carrier::over_http(adapter, AudioFormat::Narrowband))
}

/// The adapter of a SignalWire connection, of `credentials.project_id`, `api_token` and `signing_key`, and `settings.space`.
fn connect_signalwire(connection: &Connection<'_>) -> Result<Carrier, String> {
    let project = connection.required("project_id")?;
    let (token, signing) = (connection.required("api_token")?, connection.required("signing_key")?);
    let base = connection.rest.base_url(&space_url(connection)?)?;
    let account_url = below(&base, &["api", "laml", "2010-04-01", "Accounts", project.reveal()]);
    let adapter = Arc::new(Adapter {
        flavour: Flavour::SignalWire,
        api: TwilioApi::new(Flavour::SignalWire, connection.rest.clone(), account_url, project, token),
        keys: SigningKeys::SignalWire { signing },
        addresses: connection.addresses.clone(),
    });
    Ok(Carrier::over_http(adapter, AudioFormat::Narrowband))
}

/// `settings.base_url`, or the address of `settings.space`, which people also give as a host.
fn space_url(connection: &Connection<'_>) -> Result<String, String> {
    if let Some(url) = connection.setting("base_url") {
        return Ok(url.to_owned());
    }
    let space =
        connection.setting("space").ok_or("settings.space is missing: the first part of your SignalWire host.")?;
    let space = space.strip_suffix(".signalwire.com").unwrap_or(space);
    if space.is_empty() || !space.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err("settings.space must be the first part of your SignalWire host: example of \
                    example.signalwire.com."
            .to_owned());
    }
    Ok(format!("https://{space}.signalwire.com"))
}

struct Adapter {
    flavour: Flavour,
    api: TwilioApi,
    keys: SigningKeys,
    addresses: Addresses,
}

impl Adapter {
    /// The fields of a request that creates a call.
    fn create_fields(&self, request: &DialRequest) -> Vec<(&'static str, String)> {
        let address = &request.address;
        let mut fields = vec![
            ("To", request.to.reveal().to_owned()),
            ("From", request.from.reveal().to_owned()),
            ("Timeout", request.ring_timeout_seconds.clamp(1, MAX_TIMEOUT).to_string()),
            ("StatusCallback", address.report(topics::STATUS)),
            ("StatusCallbackMethod", POST.to_owned()),
        ];
        fields.extend(match self.flavour {
            Flavour::Twilio => [
                ("Twiml", twiml::connect(self.flavour, address)),
                ("TimeLimit", request.time_limit_seconds.clamp(1, MAX_TIME_LIMIT).to_string()),
            ],
            Flavour::SignalWire => [("Url", address.report(topics::VOICE)), ("Method", POST.to_owned())],
        });
        // A field for each: joined or numbered ones are dropped.
        fields.extend(
            ["initiated", "ringing", "answered", "completed"].map(|event| ("StatusCallbackEvent", event.to_owned())),
        );
        let detection = match request.machines {
            AmdMode::Off => return fields,
            AmdMode::Detect => "Enable",
            AmdMode::DetectMessageEnd => "DetectMessageEnd",
        };
        fields.extend([
            ("MachineDetection", detection.to_owned()),
            // Synchronous detection would leave the callee in silence until it has ended.
            ("AsyncAmd", "true".to_owned()),
            ("AsyncAmdStatusCallback", address.report(topics::AMD)),
            ("AsyncAmdStatusCallbackMethod", POST.to_owned()),
        ]);
        fields
    }

    /// The fields of a request that has a call follow another document.
    fn follow_fields(&self, call: CallId, document: &str) -> [(&'static str, String); 2] {
        match self.flavour {
            Flavour::Twilio => [("Twiml", document.to_owned()), ("TimeLimit", LONGEST_AFTER_TRANSFER.to_owned())],
            Flavour::SignalWire => {
                let at = self.addresses.for_call(self.flavour.provider(), call).report(topics::DOCUMENT);
                let sealed = self.addresses.seal(call, document);
                [("Url", format!("{at}?{}={sealed}", topics::DOCUMENT)), ("Method", POST.to_owned())]
            }
        }
    }

    /// Returns the id of the application that sends calls to us; creates it if it does not exist.
    async fn application(&self, to: &ConnectionAddress) -> Result<String, CarrierError> {
        let known = self.api.applications(APPLICATION).await?;
        let url = to.report(topics::VOICE);
        if let Some(ours) = known.into_iter().find(|application| application.voice_url.as_ref() == Some(&url)) {
            return Ok(ours.sid);
        }
        let mut fields = inbound_fields(to);
        fields.push(("FriendlyName", APPLICATION.to_owned()));
        Ok(self.api.create_application(&fields).await?.sid)
    }

    fn error(&self, words: &str) -> CarrierError {
        CarrierError { code: ErrorCode::CarrierError, message: self.flavour.says(words) }
    }
}

/// Fields of a number or an application that have calls sent to us.
fn inbound_fields(to: &ConnectionAddress) -> Vec<(&'static str, String)> {
    vec![
        ("VoiceUrl", to.report(topics::VOICE)),
        ("VoiceMethod", POST.to_owned()),
        ("StatusCallback", to.report(topics::STATUS)),
        ("StatusCallbackMethod", POST.to_owned()),
    ]
}

#[async_trait]
impl CallControl for Adapter {
    async fn dial(&self, request: DialRequest) -> Result<Dialed, DialError> {
        let answer = self.api.create_call(&self.create_fields(&request)).await.map_err(|error| {
            let message = self.flavour.says(&error);
            match error {
                RestError::NotSent(_) => DialError::Refused { code: ErrorCode::CarrierError, message },
                RestError::Lost(_) => DialError::Unknown { message },
            }
        })?;
        if !answer.is_success() {
            return Err(causes::dial_error(self.flavour, &answer));
        }
        // A success without the call's id: a phone may be ringing.
        let unreadable = || DialError::Unknown { message: self.flavour.says("its response cannot be read") };
        let call: CallRecord = answer.json().ok_or_else(unreadable)?;
        let waits = Duration::from_millis(call.queue_time_ms());
        Ok(Dialed { carrier_call_id: call.sid.filter(|sid| text::is_id(sid)).ok_or_else(unreadable)?, waits })
    }

    /// Nothing to do: the answer to the announcement has answered the call.
    async fn answer(&self, _leg: &LegRef, _events: LegEvents) -> Result<(), CarrierError> {
        Ok(())
    }

    async fn hang_up(&self, leg: &LegRef) -> Result<(), CarrierError> {
        let Some(id) = &leg.carrier_call_id else { return Ok(()) };
        let answer = self.api.update_call(id, &[("Status", "completed")]).await;
        let answer = answer.map_err(|error| self.error(&error.to_string()))?;
        if answer.is_success() || causes::has_ended_already(self.flavour, &answer) {
            return Ok(());
        }
        Err(causes::carrier_error(self.flavour, &answer))
    }

    async fn transfer(&self, leg: &LegRef, to: &PhoneNumber, number: u32) -> Result<(), TransferError> {
        let id = leg.carrier_call_id.as_ref().ok_or_else(|| self.error("the call has no id there yet"))?;
        let address = self.addresses.for_call(self.flavour.provider(), leg.call);
        let report = format!("{}?{}={number}", address.report(topics::TRANSFER), topics::TRANSFER);
        let document = twiml::dial(to, leg.caller_id_of_transfer(), &report);
        let answer = self.api.update_call(id, &self.follow_fields(leg.call, &document)).await;
        let answer = answer.map_err(|error| match error {
            RestError::Lost(_) => TransferError::Unknown { message: self.flavour.says(&error) },
            RestError::NotSent(_) => self.error(&error.to_string()).into(),
        })?;
        if answer.is_success() { Ok(()) } else { Err(causes::transfer_error(self.flavour, &answer)) }
    }

    fn transfer_reports(&self) -> TransferReports {
        TransferReports::MediaReturns
    }

    async fn look_up(&self, leg: &LegRef) -> Result<Vec<FoundLeg>, CarrierError> {
        if let Some(id) = &leg.carrier_call_id {
            return Ok(self.api.call(id).await?.and_then(|call| call.found(self.flavour)).into_iter().collect());
        }
        let (Some(from), Some(to), Some(dialing_at)) = (&leg.from, &leg.to, leg.dialing_at) else {
            return Ok(Vec::new());
        };
        let calls = self.api.calls_between(from, to).await?;
        let fitting = calls.into_iter().filter(|call| call.may_be(from, to, dialing_at));
        Ok(fitting.filter_map(|call| call.found(self.flavour)).collect())
    }

    async fn look_up_transfer(
        &self,
        leg: &LegRef,
        _other: Option<&str>,
        _over: &[String],
    ) -> Result<TransferLeg, CarrierError> {
        let Some(id) = &leg.carrier_call_id else { return Ok(TransferLeg::UNKNOWN) };
        Ok(self.api.child_of(id).await?.map_or(TransferLeg::UNKNOWN, CallRecord::transfer_leg))
    }

    async fn verify(&self) -> Result<String, CarrierError> {
        let account: Account = self.api.account().await?;
        account.in_words(self.flavour).map_err(|words| self.error(&words))
    }
}

#[async_trait]
impl Webhooks for Adapter {
    fn read(&self, request: &CallbackRequest<'_>) -> Result<Callback, CallbackError> {
        self.keys.check(request, request.url)?;
        callback::read(self.flavour, &self.addresses, request)
    }

    fn accept(&self, call: &CallAddress) -> Reply {
        Reply::Xml(twiml::connect(self.flavour, call))
    }

    async fn decline(&self, _carrier_call_id: &str, why: Decline) -> Reply {
        Reply::Xml(twiml::reject(why))
    }

    async fn inbound_route(&self, number: &PhoneNumber) -> Result<InboundRoute, CarrierError> {
        let Some(found) = self.api.number(number).await? else { return Ok(InboundRoute::NotOnAccount) };
        Ok(match found.route() {
            NumberRoute::Unset => InboundRoute::Unset,
            NumberRoute::Url(to) | NumberRoute::Trunk(to) => InboundRoute::To(to.to_owned()),
            NumberRoute::Application(id) => {
                let url = self.api.application(id).await?.and_then(|application| application.voice_url);
                InboundRoute::To(url.unwrap_or_else(|| id.to_owned()))
            }
        })
    }

    async fn set_inbound_route(&self, number: &PhoneNumber, to: &ConnectionAddress) -> Result<(), CarrierError> {
        let found = self.api.number(number).await?;
        let found = found.ok_or_else(|| self.error("the number is not on the account"))?;
        let mut fields = inbound_fields(to);
        // Either wins over the number's own addresses, and no value of its field clears it. Another application takes its place.
        if let NumberRoute::Application(_) | NumberRoute::Trunk(_) = found.route() {
            fields.push(("VoiceApplicationSid", self.application(to).await?));
        }
        self.api.update_number(&found, &fields).await
    }
}

impl WebSocketMedia for Adapter {
    fn open(&self, handshake: &CallbackRequest<'_>) -> Result<Box<dyn StreamProtocol>, CallbackError> {
        match self.flavour {
            // Signed is what the TwiML said: `wss` for `https`.
            Flavour::Twilio => self.keys.check(handshake, &handshake.url.replacen("http", "ws", 1))?,
            // It signs none, and brings the token that our TwiML gave it.
            Flavour::SignalWire => handshake.check_bearer()?,
        }
        Ok(Box::new(MediaStreams::default()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchhook_core::webhook::AddressPolicy;
    use switchhook_net::outbound::{ClientSettings, NetworkSettings};

    use super::*;
    use crate::address::Addresses;
    use crate::rest::Rest;
    use switchhook_vault::Vault;

    fn connected(flavour: Flavour, settings: serde_json::Value, credentials: &[(&str, &str)]) -> Result<(), String> {
        let connect = if flavour == Flavour::Twilio { connect_twilio } else { connect_signalwire };
        with(settings, credentials, |connection| connect(connection).map(drop))
    }

    fn with<T>(
        settings: serde_json::Value,
        credentials: &[(&str, &str)],
        use_it: impl FnOnce(&Connection<'_>) -> T,
    ) -> T {
        switchhook_net::install_tls();
        let rest =
            Rest::new(&ClientSettings::new(&NetworkSettings::default(), &AddressPolicy::default()).expect("settings"))
                .expect("a client");
        let credentials = credentials.iter().map(|(name, secret)| ((*name).to_owned(), (*secret).to_owned())).collect();
        let settings = settings.as_object().expect("an object");
        let addresses = Addresses::new("https://voice.example.com".to_owned(), &Vault::for_tests([1; 32]));
        use_it(&Connection { rest: &rest, settings, credentials: &Private::new(credentials), addresses: &addresses })
    }

    #[test]
    fn what_is_missing_or_mistaken_in_a_connection_is_named() {
        let twilio = |more: &[(&str, &str)], sid| {
            let account = [("account_sid", sid), ("auth_token", "a token")];
            connected(Flavour::Twilio, json!({}), &[&account[..], more].concat())
        };
        assert_eq!(twilio(&[], "AC1"), Ok(()));
        assert_eq!(twilio(&[("api_key_sid", "SK1"), ("api_key_secret", "a secret")], "AC1"), Ok(()));
        assert!(twilio(&[("api_key_sid", "SK1")], "AC1").is_err_and(|words| words.contains("api_key_secret")));
        assert!(twilio(&[], "SK1").is_err_and(|words| words.contains("account_sid")));
        let tokenless = connected(Flavour::Twilio, json!({}), &[("account_sid", "AC1")]);
        assert!(tokenless.is_err_and(|words| words.contains("auth_token")));

        let all = [("project_id", "p"), ("api_token", "PT1"), ("signing_key", "PSK_1")];
        let space = json!({ "space": "example" });
        assert_eq!(connected(Flavour::SignalWire, space.clone(), &all), Ok(()));
        for (missing, _) in all {
            let rest: Vec<_> = all.into_iter().filter(|(name, _)| *name != missing).collect();
            assert!(connected(Flavour::SignalWire, space.clone(), &rest).is_err_and(|words| words.contains(missing)));
        }
        let spaceless = connected(Flavour::SignalWire, json!({}), &all);
        assert!(spaceless.is_err_and(|words| words.contains("settings.space")));
        let inside = connected(
            Flavour::Twilio,
            json!({ "base_url": "http://127.0.0.1" }),
            &[("account_sid", "AC1"), ("auth_token", "t")],
        );
        assert!(inside.is_err_and(|words| words.contains("settings.base_url")), "the address policy holds here, too");
    }

    #[test]
    fn a_space_is_a_host_of_signalwire_and_nothing_else() {
        let url = |space: &str| with(json!({ "space": space }), &[], space_url);
        assert_eq!(url("example").as_deref(), Ok("https://example.signalwire.com"));
        assert_eq!(url("example.signalwire.com").as_deref(), Ok("https://example.signalwire.com"));
        assert_eq!(url(" example\n").as_deref(), Ok("https://example.signalwire.com"), "as it is copied");
        for elsewhere in ["evil.example/", "a.b", "a@b", "https://example.signalwire.com", ".signalwire.com", "a:1"] {
            assert!(url(elsewhere).is_err(), "{elsewhere}");
        }
        let other = with(json!({ "space": "x", "base_url": "https://y.example" }), &[], space_url);
        assert_eq!(other.as_deref(), Ok("https://y.example"));
    }
}
