//! Telnyx: its Voice API ("Call Control"), version 2.
//!
//! A call is one leg with one `call_control_id`. We dial with a media stream, and start one on a call that we have answered; Telnyx
//! connects it. It reports by signed webhooks ([`callback`], [`signature`]) and transmits audio over a websocket ([`wire`]). One table
//! maps its refusals and the causes of hangups ([`causes`]).

pub(crate) mod callback;
mod causes;
pub(crate) mod rest;
pub(crate) mod signature;
pub(crate) mod wire;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchhook_core::call::{CarrierCause, ErrorCode, Hangup, TransferLegState};
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;

use self::rest::{TelnyxApi, TelnyxError};
use self::signature::PublicKey;
use self::wire::{Codec, TelnyxWire};
use super::address::{Addresses, CallAddress, ConnectionAddress};
use super::callback::{Callback, CallbackError, CallbackRequest, Decline, InboundRoute, Reply, Webhooks};
use super::kind::CarrierKind;
use super::stream::StreamProtocol;
use super::{
    AmdMode, CallControl, Carrier, CarrierError, Connection, DialError, DialRequest, Dialed, FoundLeg, LegEvents,
    LegRef, TransferError, TransferLeg, TransferReports, WebSocketMedia, text,
};

/// Telnyx in the registry.
pub const KIND: CarrierKind = CarrierKind {
    required_credentials: &["api_key", "public_key"],
    inbound_topic: Some(EVENTS),
    settings: Some(&["connection_id", "codec"]),
    driver: Some(|_| Arc::new(connect)),
    ..CarrierKind::planned("telnyx")
};

const BASE_URL: &str = "https://api.telnyx.com/v2";
/// The last path segment of webhook URLs.
const EVENTS: &str = "events";
/// The allowed ring timeouts, in seconds.
const RING: std::ops::RangeInclusive<u32> = 5..=600;
/// The allowed durations of a leg, in seconds.
const TIME_LIMIT_SECONDS: std::ops::RangeInclusive<u32> = 60..=14_400;
/// Networks end calls that send no packets.
const SEND_SILENCE: &str = "send_silence_when_idle";
/// Pauses before retrying the stream of an answered call, while Telnyx does not yet know of the answer.
const STREAM_AGAIN: [Duration; 6] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1_600),
];
/// The page size of the list of live calls, and the most pages that are read.
const PAGE: &str = "100";
const PAGES: usize = 20;

/// One connection to Telnyx.
struct Telnyx {
    api: TelnyxApi,
    public_key: PublicKey,
    /// The id of the Voice API application, which Telnyx also calls a connection.
    application: String,
    codec: Codec,
    addresses: Addresses,
}

/// A call in Telnyx's API. While it rings it is not `is_alive`.
#[derive(Deserialize)]
struct TelnyxCall {
    call_control_id: String,
    client_state: Option<String>,
    is_alive: Option<bool>,
    /// When it ended.
    end_time: Option<String>,
    /// In seconds.
    call_duration: Option<u32>,
}

#[derive(Deserialize)]
struct Application {
    application_name: String,
    active: Option<bool>,
    webhook_event_url: Option<String>,
    outbound: Option<Outbound>,
}

#[derive(Deserialize)]
struct Outbound {
    outbound_voice_profile_id: Option<String>,
}

#[derive(Deserialize)]
struct Number {
    id: String,
    phone_number: String,
    connection_id: Option<String>,
}

#[derive(Deserialize)]
struct Balance {
    available_credit: Option<String>,
    currency: Option<String>,
}

/// Creates the adapter of a connection.
fn connect(connection: &Connection<'_>) -> Result<Carrier, String> {
    let telnyx = Telnyx::new(connection)?;
    let format = telnyx.codec.format().call_format();
    Ok(Carrier::over_http(Arc::new(telnyx), format))
}

impl Telnyx {
    /// Creates the adapter from `credentials.{api_key, public_key}` and `settings.{connection_id, base_url, codec}`.
    ///
    /// # Errors
    /// A sentence that names what is missing or wrong.
    fn new(connection: &Connection<'_>) -> Result<Self, String> {
        let base = connection.rest.base_url(connection.setting("base_url").unwrap_or(BASE_URL))?;
        let key = connection.required("api_key")?;
        let public_key = PublicKey::parse(connection.required("public_key")?.reveal())?;
        let application = connection
            .setting("connection_id")
            .ok_or("settings.connection_id is missing: the id of the Voice API application at Telnyx, as a string.")?;
        let codec = connection.setting("codec").unwrap_or(Codec::Pcmu.word());
        let codec = Codec::named(codec).ok_or("settings.codec must be PCMU, PCMA or L16.")?;
        Ok(Self {
            api: TelnyxApi { rest: connection.rest.clone(), base, key },
            public_key,
            application: application.to_owned(),
            codec,
            addresses: connection.addresses.clone(),
        })
    }

    /// Returns the fields that make Telnyx open the media stream of a call.
    fn stream(&self, address: &CallAddress) -> Map<String, Value> {
        let codec = self.codec.word();
        let fields = json!({
            "stream_url": address.media(),
            "stream_track": "inbound_track",
            "stream_codec": codec,
            // Otherwise Telnyx expects MP3, and our audio is not played.
            "stream_bidirectional_mode": "rtp",
            "stream_bidirectional_codec": codec,
            "stream_bidirectional_sampling_rate": self.codec.format().rate,
            "stream_auth_token": address.token(),
        });
        match fields {
            Value::Object(fields) => fields,
            _ => unreachable!("json! made an object"),
        }
    }

    fn dial_body(&self, request: &DialRequest) -> Value {
        let mut body = self.stream(&request.address);
        body.insert("connection_id".to_owned(), json!(self.application));
        body.insert(SEND_SILENCE.to_owned(), json!(true));
        body.insert("to".to_owned(), json!(request.to.reveal()));
        body.insert("from".to_owned(), json!(request.from.reveal()));
        body.insert("timeout_secs".to_owned(), json!(request.ring_timeout_seconds.clamp(*RING.start(), *RING.end())));
        body.insert(
            "time_limit_secs".to_owned(),
            json!(request.time_limit_seconds.clamp(*TIME_LIMIT_SECONDS.start(), *TIME_LIMIT_SECONDS.end())),
        );
        body.insert("webhook_url".to_owned(), json!(request.address.report(EVENTS)));
        body.insert("client_state".to_owned(), json!(state_of(&request.address)));
        body.insert("command_id".to_owned(), json!(request.call));
        let detection = match request.machines {
            AmdMode::Off => "disabled",
            AmdMode::Detect => "detect",
            AmdMode::DetectMessageEnd => "greeting_end",
        };
        body.insert("answering_machine_detection".to_owned(), json!(detection));
        Value::Object(body)
    }

    /// Makes Telnyx open the media stream of a call that has just been answered.
    async fn start_streaming(&self, id: &str, call: CallId) -> Result<(), CarrierError> {
        let mut body = self.stream(&self.addresses.for_call(KIND.name, call));
        for (attempt, pause) in (1..).zip(STREAM_AGAIN.map(Some).into_iter().chain([None])) {
            // A command id that was used before is ignored, even if the command was refused then.
            body.insert("command_id".to_owned(), json!(format!("{call}-stream-{attempt}")));
            match (self.api.command(id, "streaming_start", &Value::Object(body.clone())).await, pause) {
                (Err(failure), Some(pause)) if failure.says_unanswered() => tokio::time::sleep(pause).await,
                (Err(failure), _) if !failure.says_streaming() => return Err(failure.into()),
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Returns the leg's id, searching for it if it never arrived; `None` when there is no such leg.
    async fn id_of(&self, leg: &LegRef) -> Result<Option<String>, CarrierError> {
        match &leg.carrier_call_id {
            Some(id) => Ok(Some(id.clone())),
            None => Ok(self.find_by_state(leg.call, &[]).await?),
        }
    }

    /// Returns whether a leg was dialled for `call`. Its token may have been made with an old key.
    fn is_of(&self, call: CallId, client_state: Option<&str>) -> bool {
        client_state.and_then(callback::token_of).is_some_and(|token| self.addresses.call_of(&token) == Some(call))
    }

    /// Searches for a leg of a call among the live ones of the application, by the state given with its dial or transfer, except these.
    async fn find_by_state(&self, call: CallId, except: &[&str]) -> Result<Option<String>, TelnyxError> {
        let path = ["connections", &self.application, "active_calls"];
        let mut after = None::<String>;
        for _ in 0..PAGES {
            let mut query = vec![("page[limit]", PAGE)];
            query.extend(after.as_deref().map(|after| ("page[after]", after)));
            let page = self.api.page::<TelnyxCall>(&path, &query).await?;
            let fits = |shown: &&TelnyxCall| {
                self.is_of(call, shown.client_state.as_deref()) && !except.contains(&shown.call_control_id.as_str())
            };
            if let Some(found) = page.data.iter().find(fits) {
                return Ok(Some(found.call_control_id.clone()).filter(|id| text::is_id(id)));
            }
            let next = page.next();
            if next.is_none() || next == after {
                break;
            }
            after = next;
        }
        Ok(None)
    }

    async fn application(&self) -> Result<Application, CarrierError> {
        let found = self.api.get(&["call_control_applications", &self.application], &[]).await;
        found.map_err(|failure| {
            if failure.says_missing() {
                let message = "Telnyx knows no Voice API application with the id in settings.connection_id".to_owned();
                return CarrierError { code: ErrorCode::CarrierError, message };
            }
            failure.into()
        })
    }

    async fn number(&self, number: &PhoneNumber) -> Result<Option<Number>, CarrierError> {
        // The filter accepts digits only.
        let digits = number.reveal().trim_start_matches('+');
        let found: Vec<Number> = self.api.get(&["phone_numbers"], &[("filter[phone_number]", digits)]).await?;
        Ok(found.into_iter().find(|found| found.phone_number == number.reveal()))
    }
}

/// Returns the state that Telnyx repeats in every webhook of a call that we dialled.
fn state_of(address: &CallAddress) -> String {
    BASE64_STANDARD.encode(address.token())
}

fn without_id() -> CarrierError {
    CarrierError { code: ErrorCode::CarrierError, message: "Telnyx has no such call".to_owned() }
}

#[async_trait]
impl CallControl for Telnyx {
    async fn dial(&self, request: DialRequest) -> Result<Dialed, DialError> {
        let dialed: Result<TelnyxCall, TelnyxError> = self.api.post(&["calls"], &self.dial_body(&request)).await;
        let id = dialed.map_err(TelnyxError::of_dial)?.call_control_id;
        if !text::is_id(&id) {
            return Err(DialError::Unknown { message: "Telnyx: the id of the call cannot be used".to_owned() });
        }
        Ok(Dialed::now(id))
    }

    /// Sends two commands: `answer` alone accepts only some of the fields that describe a stream.
    async fn answer(&self, leg: &LegRef, _events: LegEvents) -> Result<(), CarrierError> {
        let id = leg.carrier_call_id.as_deref().ok_or_else(without_id)?;
        let body = json!({ "command_id": leg.call, SEND_SILENCE: true });
        match self.api.command(id, "answer", &body).await {
            // Starting the stream shows whether the call was answered.
            Ok(()) | Err(TelnyxError::Lost(_)) => self.start_streaming(id, leg.call).await,
            Err(failure) => Err(failure.into()),
        }
    }

    async fn hang_up(&self, leg: &LegRef) -> Result<(), CarrierError> {
        let Some(id) = self.id_of(leg).await? else { return Ok(()) };
        match self.api.command(&id, "hangup", &json!({})).await {
            Err(failure) if !failure.says_ended() => Err(failure.into()),
            _ => Ok(()),
        }
    }

    async fn send_dtmf(&self, leg: &LegRef, digits: &str) -> Option<Result<(), CarrierError>> {
        let Some(id) = &leg.carrier_call_id else { return Some(Err(without_id())) };
        let sent = self.api.command(id, "send_dtmf", &json!({ "digits": digits })).await;
        Some(sent.map_err(CarrierError::from))
    }

    async fn transfer(&self, leg: &LegRef, to: &PhoneNumber, _number: u32) -> Result<(), TransferError> {
        let id = leg.carrier_call_id.as_deref().ok_or_else(without_id)?;
        // Events of the other leg arrive at the URL of this call, or are recognised by its state.
        let address = self.addresses.for_call(KIND.name, leg.call);
        let mut body = json!({
            "to": to.reveal(),
            "webhook_url": address.report(EVENTS),
            "target_leg_client_state": state_of(&address),
        });
        // Without it the called number is shown, which belongs to the tenant only if the far end was the caller.
        if let Some(caller_id) = leg.caller_id_of_transfer() {
            body["from"] = json!(caller_id.reveal());
        }
        self.api.command(id, "transfer", &body).await.map_err(|error| match error {
            TelnyxError::Lost(message) => TransferError::Unknown { message },
            refused => CarrierError::from(refused).into(),
        })
    }

    fn transfer_reports(&self) -> TransferReports {
        TransferReports::MediaStays
    }

    async fn look_up(&self, leg: &LegRef) -> Result<Vec<FoundLeg>, CarrierError> {
        let Some(id) = &leg.carrier_call_id else {
            let found = self.find_by_state(leg.call, &[]).await?;
            return Ok(found
                .map(|carrier_call_id| FoundLeg { carrier_call_id, ended: None, certain: true })
                .into_iter()
                .collect());
        };
        let shown = match self.api.get::<TelnyxCall>(&["calls", id], &[]).await {
            Ok(shown) => shown,
            Err(failure) if failure.says_ended() => return Ok(Vec::new()),
            Err(failure) => return Err(failure.into()),
        };
        // Only the webhook contains the cause; an answered call ends because one side hangs up.
        let cause = if leg.answered {
            Hangup::new(CarrierCause::Normal)
        } else {
            Hangup { error_code: Some(ErrorCode::UnknownError), ..Hangup::new(CarrierCause::Failed) }
        };
        let ended = shown.end_time.map(|_| Hangup { duration_seconds: shown.call_duration, ..cause });
        Ok(vec![FoundLeg { carrier_call_id: id.clone(), ended, certain: true }])
    }

    async fn look_up_transfer(
        &self,
        leg: &LegRef,
        other: Option<&str>,
        over: &[String],
    ) -> Result<TransferLeg, CarrierError> {
        let id = match other {
            Some(id) => Some(id.to_owned()),
            None => {
                let others = leg.carrier_call_id.iter().chain(over).map(String::as_str);
                self.find_by_state(leg.call, &others.collect::<Vec<_>>()).await?
            }
        };
        let Some(id) = id else { return Ok(TransferLeg::UNKNOWN) };
        let state = match self.api.get::<TelnyxCall>(&["calls", &id], &[]).await {
            Ok(TelnyxCall { end_time: Some(_), .. }) => TransferLegState::Ended,
            Ok(TelnyxCall { is_alive: Some(true), .. }) => TransferLegState::Up,
            Ok(_) => TransferLegState::Ringing,
            // Telnyx forgets ended calls after some minutes, so this one may not be known yet.
            Err(failure) if failure.says_missing() => TransferLegState::Unknown,
            Err(failure) if failure.says_ended() => TransferLegState::Ended,
            Err(failure) => return Err(failure.into()),
        };
        Ok(TransferLeg { carrier_call_id: Some(id), state })
    }

    async fn verify(&self) -> Result<String, CarrierError> {
        let balance: Balance = self.api.get(&["balance"], &[]).await?;
        let application = self.application().await?;
        if application.active == Some(false) {
            let message = "Telnyx accepts the key, but the Voice API application is switched off".to_owned();
            return Err(CarrierError { code: ErrorCode::CarrierError, message });
        }
        let mut found = "Telnyx accepts the key and knows the application.".to_owned();
        if let (Some(credit), Some(currency)) = (balance.available_credit, balance.currency) {
            found.push_str(&format!(" {credit} {currency} are left to spend."));
        }
        if application.outbound.and_then(|outbound| outbound.outbound_voice_profile_id).is_none() {
            found.push_str(" The application has no outbound voice profile, so it cannot place calls.");
        }
        Ok(found)
    }
}

#[async_trait]
impl Webhooks for Telnyx {
    fn read(&self, request: &CallbackRequest<'_>) -> Result<Callback, CallbackError> {
        self.public_key.check(request)?;
        if request.topic != EVENTS {
            return Err(CallbackError::NotFound);
        }
        callback::read(request.body)
    }

    /// A command answers the call, not the reply.
    fn accept(&self, _call: &CallAddress) -> Reply {
        Reply::Empty
    }

    async fn decline(&self, carrier_call_id: &str, why: Decline) -> Reply {
        let cause = match why {
            Decline::Busy => "USER_BUSY",
            Decline::NotServed => "CALL_REJECTED",
        };
        let (api, id) = (self.api.clone(), carrier_call_id.to_owned());
        // Telnyx waits two seconds for the reply to its webhook, which may be less than a request takes.
        tokio::spawn(async move {
            if let Err(failure) = api.command(&id, "reject", &json!({ "cause": cause })).await
                && !failure.says_ended()
            {
                let error = CarrierError::from(failure);
                tracing::warn!(%error, "could not decline a call; it rings until the caller gives up");
            }
        });
        Reply::Empty
    }

    async fn inbound_route(&self, number: &PhoneNumber) -> Result<InboundRoute, CarrierError> {
        let Some(number) = self.number(number).await? else { return Ok(InboundRoute::NotOnAccount) };
        match number.connection_id.filter(|id| !id.is_empty()) {
            None => Ok(InboundRoute::Unset),
            Some(id) if id != self.application => Ok(InboundRoute::To(format!("connection {id} at Telnyx"))),
            Some(_) => {
                let url = self.application().await?.webhook_event_url.filter(|url| !url.is_empty());
                Ok(url.map_or(InboundRoute::Unset, InboundRoute::To))
            }
        }
    }

    async fn set_inbound_route(&self, number: &PhoneNumber, to: &ConnectionAddress) -> Result<(), CarrierError> {
        let Some(number) = self.number(number).await? else {
            let message = "The number is not on this Telnyx account".to_owned();
            return Err(CarrierError { code: ErrorCode::CarrierError, message });
        };
        // The update requires its name.
        let Application { application_name, .. } = self.application().await?;
        let body = json!({
            "application_name": application_name,
            "webhook_event_url": to.report(EVENTS),
            "webhook_api_version": "2",
        });
        self.api.patch(&["call_control_applications", &self.application], &body).await?;
        if number.connection_id.as_ref() != Some(&self.application) {
            self.api.patch(&["phone_numbers", &number.id], &json!({ "connection_id": self.application })).await?;
        }
        Ok(())
    }
}

impl WebSocketMedia for Telnyx {
    /// Telnyx does not sign handshakes. It sends the token given with the stream, to a URL that contains it.
    fn open(&self, handshake: &CallbackRequest<'_>) -> Result<Box<dyn StreamProtocol>, CallbackError> {
        handshake.check_bearer()?;
        Ok(Box::new(TelnyxWire::new(self.codec)))
    }
}
