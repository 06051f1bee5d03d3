//! Telephone carriers: what all of them have in common. What differs stays in each one's folder.
//!
//! A [`Carrier`] is asked to do things; what happens on a leg comes back as [`LegEvent`]s, through [`LegEvents`], to the
//! call's runner. Carriers repeat themselves, reorder and come late: the call's state machine copes with that.
//!
//! Carriers that speak HTTP report to addresses of ours ([`address`]); what such a request means is the carrier's to say
//! ([`callback`]), and what is done about it the same for all (`http/carrier/`). Their audio comes over websockets ([`stream`]):
//! each carrier's messages are a [`stream::StreamProtocol`], everything else is the same for all.

pub mod address;
pub mod callback;
pub mod media_queue;
pub mod rest;
pub mod simulator;
pub mod sip;
pub mod stream;
pub mod telnyx;
pub mod twilio;

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchhook_core::Timestamp;
use switchhook_core::call::{ErrorCode, Hangup};
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;
use switchhook_core::private::Private;
use switchhook_media::frame::{AgentAudio, CallerAudio};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use self::address::{Addresses, CallAddress, ConnectionAddress};
use self::callback::{Callback, CallbackError, CallbackRequest, Decline, Reply};
use self::media_queue::MediaReceiver;
use self::rest::Rest;
use self::stream::StreamProtocol;
use crate::queues::Queue;
use crate::store::connections::Credentials;

/// A telephone carrier, with one connection's credentials and settings.
#[async_trait]
pub trait Carrier: Send + Sync {
    /// Rings somebody. Called at most once for a call, ever.
    ///
    /// # Errors
    /// [`DialError::Refused`] when nobody was rung and nobody will be; [`DialError::Unknown`] when that is not certain.
    async fn dial(&self, request: DialRequest) -> Result<Dialed, DialError>;

    /// Answers an incoming leg; what happens on it is sent to `events`.
    ///
    /// # Errors
    /// When the carrier could not be reached or refuses.
    async fn answer(&self, leg: &LegRef, events: LegEvents) -> Result<(), CarrierError>;

    /// Ends a leg. Ending one that has ended is fine.
    ///
    /// # Errors
    /// When the carrier could not be reached or refuses; the caller tries again or lets the carrier's own limits end the leg.
    async fn hang_up(&self, leg: &LegRef) -> Result<(), CarrierError>;

    /// Sends DTMF on a leg, where the carrier has a call for it. `None` when it has not: then tones are sent in band.
    /// `w` is a pause of 500 ms.
    async fn send_dtmf(&self, _leg: &LegRef, _digits: &str) -> Option<Result<(), CarrierError>> {
        None
    }

    /// Transfers the far end of a leg, cold. Afterwards the leg is no longer ours: nothing more is reported about it, and it is
    /// not hung up.
    ///
    /// # Errors
    /// When the carrier refuses or could not be reached; the leg is then as it was.
    async fn transfer(&self, leg: &LegRef, to: &PhoneNumber) -> Result<(), CarrierError>;

    /// The legs at the carrier that may be this one, whose dial was intended by a process that died or whose answer was lost: the one
    /// with its id where that is known, else those between its numbers since the dial. None when nobody was rung, as far as the
    /// carrier knows yet.
    ///
    /// # Errors
    /// When the carrier could not be asked.
    async fn look_up(&self, leg: &LegRef) -> Result<Vec<FoundLeg>, CarrierError>;

    /// Tries the credentials without ringing anybody, and says in sentences what was found: the kind of account, and what it
    /// may not do.
    ///
    /// # Errors
    /// A sentence that says what the carrier said.
    async fn verify(&self) -> Result<String, CarrierError>;

    /// What a request to one of our addresses says, once its signature has been checked.
    ///
    /// # Errors
    /// When the signature is wrong, or the request is not one that this carrier sends.
    fn read(&self, _request: &CallbackRequest<'_>) -> Result<Callback, CallbackError> {
        Err(CallbackError::NotFound)
    }

    /// The answer to a request that announces a call, which we take, or asks what to do with one that we placed. Where that does
    /// not yet answer the call, [`Carrier::answer`] does. Given again for the same call when the carrier asks again.
    fn accept(&self, _call: &CallAddress) -> Reply {
        Reply::Empty
    }

    /// Refuses a call that was announced by [`callback::IncomingCall`], politely.
    async fn decline(&self, _carrier_call_id: &str, _why: Decline) -> Reply {
        Reply::Empty
    }

    /// Checks a websocket's handshake, and returns the protocol spoken on it.
    ///
    /// # Errors
    /// When the signature is wrong, or this carrier has no websockets.
    fn wire(&self, _handshake: &CallbackRequest<'_>) -> Result<Box<dyn StreamProtocol>, CallbackError> {
        Err(CallbackError::NotFound)
    }

    /// Where the carrier sends the calls of one of its numbers.
    ///
    /// # Errors
    /// When the carrier could not be asked.
    async fn inbound_route(&self, _number: &PhoneNumber) -> Result<InboundRoute, CarrierError> {
        Ok(InboundRoute::NothingToSet)
    }

    /// Has the carrier send the calls of one of its numbers to us.
    ///
    /// # Errors
    /// When the number is not on the account, or the carrier refuses or could not be reached.
    async fn set_inbound_route(&self, _number: &PhoneNumber, _to: &ConnectionAddress) -> Result<(), CarrierError> {
        Ok(())
    }
}

/// What a carrier is made of: one connection of a tenant.
pub struct Connection<'a> {
    /// Sends its requests.
    pub rest: &'a Rest,
    /// `settings` of the connection.
    pub settings: &'a Map<String, Value>,
    /// `credentials` of the connection.
    pub credentials: &'a Private<Credentials>,
    /// Where carriers reach this service: of calls that are answered or looked for, which come without an address.
    pub addresses: &'a Addresses,
}

impl Connection<'_> {
    /// A setting that is text.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// A credential.
    #[must_use]
    pub fn credential(&self, name: &str) -> Option<Private<String>> {
        self.credentials.reveal().get(name).filter(|text| !text.is_empty()).cloned().map(Private::new)
    }

    /// A credential without which nothing can be done.
    ///
    /// # Errors
    /// One sentence that names it.
    pub fn required(&self, name: &str) -> Result<Private<String>, String> {
        self.credential(name).ok_or_else(|| format!("credentials.{name} is missing."))
    }
}

/// Where a carrier sends the calls of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboundRoute {
    /// This carrier needs no such setting.
    NothingToSet,
    /// The number is not on the account.
    NotOnAccount,
    /// Nowhere.
    Unset,
    /// To this address.
    To(String),
}

/// Who is to be rung.
#[derive(Clone, Debug)]
pub struct DialRequest {
    /// Our id of the call; the carrier is given it as a reference so that the call can be found again.
    pub call: CallId,
    /// Who is shown as calling.
    pub from: PhoneNumber,
    /// Who is called.
    pub to: PhoneNumber,
    /// How long it may ring, in seconds.
    pub ring_timeout_seconds: u32,
    /// The carrier ends a call that we failed to end, after so many seconds of conversation. One that offers no such limit ends it
    /// with its media stream.
    pub time_limit_seconds: u32,
    /// Answering machine detection, where the carrier has it.
    pub machines: AmdMode,
    /// Where the carrier sends status callbacks and opens its media stream.
    pub address: CallAddress,
    /// Receives what happens.
    pub events: LegEvents,
}

/// Answering machine detection (AMD).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmdMode {
    /// No detection.
    Off,
    /// Detects a machine, which is hung up on.
    Detect,
    /// Detects also when its greeting has ended: a message is left.
    DetectMessageEnd,
}

/// The carrier has taken the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialed {
    /// The carrier's own id of the leg.
    pub carrier_call_id: String,
    /// How long it says that the call waits in its own queue before it rings.
    pub waits: Duration,
}

impl Dialed {
    /// It rings at once.
    #[must_use]
    pub fn now(carrier_call_id: String) -> Self {
        Self { carrier_call_id, waits: Duration::ZERO }
    }
}

/// Why a dial did not come about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// Nobody was rung, and nobody will be.
    #[error("{words}")]
    Refused {
        /// The error code of the call.
        code: ErrorCode,
        /// What the carrier said.
        words: String,
    },
    /// The carrier takes no more calls just now. Nobody was rung; it may be asked again.
    #[error("{words}")]
    Later {
        /// What the carrier said.
        words: String,
        /// When to ask again, where it said so.
        retry_after: Option<Duration>,
    },
    /// The answer was lost or ambiguous: somebody may be ringing.
    #[error("{words}")]
    Unknown {
        /// What happened.
        words: String,
    },
}

/// A leg, by our id and by the carrier's where we know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegRef {
    /// Our id of the call.
    pub call: CallId,
    /// The carrier's own id.
    pub carrier_call_id: Option<String>,
    /// Who calls; absent where it is no number, as of callers who hide theirs.
    pub from: Option<PhoneNumber>,
    /// Who is called.
    pub to: Option<PhoneNumber>,
    /// When the dial was intended; absent when it was they who called.
    pub dialing_at: Option<Timestamp>,
    /// Whether it was answered.
    pub answered: bool,
}

/// What some carriers give in place of a number that is withheld: a word as it is spelled on a telephone's keys.
const WITHHELD: [&str; 5] = ["+7378742833", "+2562533", "+8656696", "+266696687", "+86282452253"];

impl LegRef {
    /// The caller ID of a transfer, where it is not the far end's own: our number, on calls that we placed, and for callers whose
    /// number is withheld or not in E.164 form.
    #[must_use]
    pub fn caller_id_of_transfer(&self) -> Option<&PhoneNumber> {
        match &self.from {
            from if self.dialing_at.is_some() => from.as_ref(),
            Some(from) if from.is_e164() && !WITHHELD.contains(&from.reveal()) => None,
            _ => self.to.as_ref(),
        }
    }
}

/// A leg that a carrier knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLeg {
    /// The carrier's own id of it.
    pub carrier_call_id: String,
    /// How it ended, if it has.
    pub ended: Option<Hangup>,
    /// Whether the carrier knows it by our reference; else it merely has the same numbers.
    pub certain: bool,
}

/// A request to the carrier failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct CarrierError {
    /// `carrier_unauthorized` or `carrier_error`.
    pub code: ErrorCode,
    /// What the carrier said.
    pub words: String,
}

/// Events that may wait for the runner of a call. A call has a handful of them, and whoever signs callbacks can send more.
const WAITING: usize = 64;

/// The channel for the events of one call's leg. Clones send to the same call.
#[derive(Clone, Debug)]
pub struct LegEvents(mpsc::Sender<LegEvent>);

impl LegEvents {
    /// A channel and its receiver; audio has channels of its own.
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<LegEvent>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    /// Sends an event to the call's runner, if it still runs. Dropped when the channel is full: how the call ended is looked up.
    pub fn send(&self, event: LegEvent) {
        if let Err(TrySendError::Full(_)) = self.0.try_send(event) {
            Queue::CarrierEvents.full();
        }
    }
}

/// Something that happened on a leg.
#[derive(Debug)]
pub enum LegEvent {
    /// The carrier reported it.
    Carrier(CarrierEvent),
    /// Audio flows.
    Media(Media),
}

/// What a carrier reports about a leg. It may reach another node than the call's own, so it can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarrierEvent {
    /// Its id of the call, for when the response to the dial was lost.
    Id(String),
    /// The far end rings.
    Ringing,
    /// Somebody, or something, answered.
    Answered,
    /// A person answered.
    Human,
    /// A machine answered; and whether its greeting is over, so that a message can be left.
    Machine {
        /// Whether the beep was heard, or the greeting ended without one.
        greeting_ended: bool,
    },
    /// There will be no audio; one sentence says why.
    NoMedia(String),
    /// The leg has ended.
    Hangup(Hangup),
}

/// Both directions of a call's media. Dropping it stops our side.
#[derive(Debug)]
pub struct Media {
    /// From the carrier. Closed when the stream has ended.
    pub incoming: MediaReceiver,
    /// To the carrier. A carrier that cannot keep up is gone: 4 s of frames, then the driver ends the call.
    pub outgoing: mpsc::Sender<ToCarrier>,
    /// Whether the carrier queues what it is sent, plays it in real time and throws it away at [`ToCarrier::Clear`]: then audio may
    /// be sent ahead of its time.
    pub buffered: bool,
}

/// Media from the carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "almost every message is audio")]
pub enum FromCarrier {
    /// 20 ms of audio.
    Audio(CallerAudio),
    /// A key was pressed.
    Dtmf(char),
    /// Everything sent before this mark has been played, or was cleared.
    MarkPlayed(u64),
    /// The media transport failed by a fault of ours; nothing more comes.
    Broken,
}

/// Media to the carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "almost every message is audio")]
pub enum ToCarrier {
    /// 20 ms of audio.
    Audio(AgentAudio),
    /// Answered by [`FromCarrier::MarkPlayed`] once everything before it has been played, or was cleared.
    Mark(u64),
    /// Throw away what has not been played.
    Clear,
}
