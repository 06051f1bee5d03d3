//! Browsers as callers: no telephone network, no connection and no number. A person opens the websocket URL that `POST /v1/calls`
//! returned (`http/web_media.rs`), on any node, which then runs the call; dialling starts to accept their audio.
//!
//! [`wire`] has the texts of the socket, [`leg`] the task of one, [`browsers`] those of a node. [`rtc`] transports audio over UDP
//! instead of the socket.

mod browsers;
mod flood;
mod leg;
mod rtc;
pub(crate) mod wire;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use switchhook_core::call::ErrorCode;
use switchhook_core::phone_number::PhoneNumber;
use switchhook_media::format::AudioFormat;

pub use self::browsers::{Browsers, Seat, SocketPlace};
pub use self::leg::{Ended, Leg, MESSAGE_LIMIT, refuse, resume_token};
use self::rtc::Node;
pub use self::rtc::WebRtcSettings;
use super::kind::CarrierKind;
use super::{
    CallControl, Carrier, CarrierError, Connection, DialError, DialRequest, Dialed, Driver, FoundLeg, LegEvents,
    LegRef, MediaTransport, TransferError,
};

/// How long a call waits for its browser.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(60);
/// Its name in the API.
pub const NAME: &str = "web";
/// The format of the audio in both directions.
pub(super) const FORMAT: AudioFormat = AudioFormat::Wideband;

/// Browsers in the registry.
pub const KIND: CarrierKind = CarrierKind {
    rings_phones: false,
    has_connections: false,
    driver: Some(|settings| Arc::new(WebDriver { browsers: Arc::default(), webrtc: settings.webrtc.clone() })),
    ..CarrierKind::planned(NAME)
};

/// The browsers of a node.
struct WebDriver {
    browsers: Arc<Browsers>,
    webrtc: Option<WebRtcSettings>,
}

#[async_trait]
impl Driver for WebDriver {
    fn connect(&self, _connection: &Connection<'_>) -> Result<Carrier, String> {
        let control = Arc::new(WebControl(self.browsers.clone()));
        let media = MediaTransport::Browser(self.browsers.clone());
        Ok(Carrier { control, webhooks: None, media, format: FORMAT, simulation: None })
    }

    async fn start(&self) -> anyhow::Result<()> {
        let Some(WebRtcSettings { listen, addresses }) = &self.webrtc else { return Ok(()) };
        let node = Node::bind(*listen, addresses).await;
        let node =
            node.with_context(|| format!("audio of browsers over UDP cannot be taken at {listen} (rtc_listen)"))?;
        self.browsers.listen(Some(node));
        Ok(())
    }

    async fn stop(&self) {
        self.browsers.end_all();
        self.browsers.listen(None);
    }
}

struct WebControl(Arc<Browsers>);

fn refused(words: &str) -> CarrierError {
    CarrierError { code: ErrorCode::CarrierError, message: words.to_owned() }
}

#[async_trait]
impl CallControl for WebControl {
    /// Dials a call when its browser connects, or when it is too late for that.
    async fn dial(&self, request: DialRequest) -> Result<Dialed, DialError> {
        if self.0.talk(request.call, &request.events) {
            return Ok(Dialed::now(request.call.to_string()));
        }
        let message = "No browser connected in time.".to_owned();
        Err(DialError::Refused { code: ErrorCode::NoAnswer, message })
    }

    async fn answer(&self, _leg: &LegRef, _events: LegEvents) -> Result<(), CarrierError> {
        Err(refused("A web call is never announced by a carrier."))
    }

    async fn hang_up(&self, leg: &LegRef) -> Result<(), CarrierError> {
        self.0.end(leg.call);
        Ok(())
    }

    async fn transfer(&self, _leg: &LegRef, _to: &PhoneNumber, _number: u32) -> Result<(), TransferError> {
        Err(refused("A web call cannot be transferred: there is no telephone at its other end.").into())
    }

    async fn look_up(&self, leg: &LegRef) -> Result<Vec<FoundLeg>, CarrierError> {
        let lives = self.0.is_talking(leg.call);
        let found = FoundLeg { carrier_call_id: leg.call.to_string(), ended: None, certain: true };
        Ok(lives.then_some(found).into_iter().collect())
    }

    async fn verify(&self) -> Result<String, CarrierError> {
        Ok("Browsers need no credentials.".to_owned())
    }
}
