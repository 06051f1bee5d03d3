//! Telephone carriers. This module has what they share, each carrier's folder what differs, and [`registry`] the list of them.
//!
//! A carrier has one [`Driver`] per node, which owns the sockets that the node listens on, its registrations, and the state of legs
//! where there is one, such as SIP dialogs. It creates a [`Carrier`] for each connection, with up to four parts:
//!
//! - [`CallControl`]: dial, answer, hang up, transfer, DTMF, look up. Events of a leg are returned as [`LegEvent`]s, through
//!   [`LegEvents`], to the call's runner. Carriers repeat, reorder and delay events: the call's state machine handles that.
//! - [`Webhooks`], for carriers that report over HTTP: the meaning of a request to one of our URLs ([`address`]) and the reply to it.
//!   Handling the request is the same for all carriers (`http/carrier/`).
//! - [`MediaTransport`]: a websocket that the carrier opens ([`stream`]), a browser ([`web`]), or the driver's own transport.
//! - [`Simulation`], for a simulated phone network.

pub mod address;
pub mod callback;
mod closing;
pub mod control;
pub mod events;
#[cfg(test)]
mod fuzz;
pub mod kind;
pub mod media;
pub mod media_queue;
pub mod registry;
pub mod rest;
pub mod simulator;
pub mod sip_status;
pub mod stream;
pub mod telnyx;
pub mod text;
mod transport;
pub mod twilio;
pub mod web;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;
use switchhook_core::private::{Credentials, Private};
use switchhook_media::format::AudioFormat;

use self::address::Addresses;
use self::callback::Webhooks;
pub use switchhook_core::call::CarrierEvent;

pub use self::control::{
    AmdMode, CallControl, CarrierError, DialError, DialRequest, Dialed, FoundLeg, LegRef, TransferError, TransferLeg,
    TransferReports,
};
pub use self::events::{LegEvent, LegEvents};
pub use self::media::{CallInfo, FromCarrier, Media, ToCarrier};
use self::rest::Rest;
pub use self::transport::{MediaTransport, WebSocketMedia};

/// A carrier as used by one connection of a tenant.
pub struct Carrier {
    /// Controls its legs.
    pub control: Arc<dyn CallControl>,
    /// Reads its reports over HTTP, if it sends any.
    pub webhooks: Option<Arc<dyn Webhooks>>,
    /// Carries the media of its legs.
    pub media: MediaTransport,
    /// The format of that media, and of the call internally.
    pub format: AudioFormat,
    /// The additional features of a simulated phone network.
    pub simulation: Option<Arc<dyn Simulation>>,
}

impl Carrier {
    /// Creates a carrier that reports by webhooks and opens media websockets with media of this format.
    pub fn over_http(
        adapter: Arc<impl CallControl + Webhooks + WebSocketMedia + 'static>,
        format: AudioFormat,
    ) -> Self {
        Self {
            control: adapter.clone(),
            webhooks: Some(adapter.clone()),
            media: MediaTransport::WebSocket(adapter),
            format,
            simulation: None,
        }
    }

    /// Returns whether it is known before dialling that the call will not be answered.
    #[must_use]
    pub fn browser_is_gone(&self, call: CallId) -> bool {
        matches!(&self.media, MediaTransport::Browser(browsers) if browsers.place(call) == web::SocketPlace::Free)
    }
}

/// The part of the service's settings that carriers need.
#[derive(Clone, Debug, Default)]
pub struct CarrierSettings {
    /// The file to which the simulator adds a line for each dial.
    pub simulator_dial_log: Option<PathBuf>,
    /// Where browsers' audio is received over UDP; disabled if absent.
    pub webrtc: Option<web::WebRtcSettings>,
}

/// One carrier on one node, shared by all its connections.
#[async_trait]
pub trait Driver: Send + Sync {
    /// Creates the adapter of a connection.
    ///
    /// # Errors
    /// A sentence that says what is missing or wrong.
    fn connect(&self, connection: &Connection<'_>) -> Result<Carrier, String>;

    /// Opens the sockets and registrations of the node. Called once, before the node's first call.
    ///
    /// # Errors
    /// When that fails: the node does not start.
    async fn start(&self) -> anyhow::Result<()> {
        Ok(())
    }

    /// Closes them after the node's last call, or when another driver failed to start.
    async fn stop(&self) {}
}

/// A carrier without state on the node is just the function that creates its adapters.
impl<F> Driver for F
where
    F: Fn(&Connection<'_>) -> Result<Carrier, String> + Send + Sync,
{
    fn connect(&self, connection: &Connection<'_>) -> Result<Carrier, String> {
        self(connection)
    }
}

/// The additional features of a simulated phone network.
pub trait Simulation: Send + Sync {
    /// Simulates a call to one of our numbers that waits to be answered. Returns the carrier's id of the call.
    fn ring(&self, call: CallId, from: &PhoneNumber) -> String;

    /// Simulates the caller hanging up.
    fn cancel(&self, call: CallId);

    /// Returns the fault to inject into the providers of a call with this far end.
    fn provider_fault(&self, far_end: &str) -> Option<ProviderFault>;
}

/// A fault injected into a call's providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderFault {
    /// The model never responds.
    ModelNeverResponds,
}

/// The input of an adapter: one connection of a tenant.
pub struct Connection<'a> {
    /// Sends its requests.
    pub rest: &'a Rest,
    /// `settings` of the connection.
    pub settings: &'a Map<String, Value>,
    /// `credentials` of the connection.
    pub credentials: &'a Private<Credentials>,
    /// The URLs at which carriers reach this service.
    pub addresses: &'a Addresses,
}

impl Connection<'_> {
    /// Returns a setting that is text.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns a credential.
    #[must_use]
    pub fn credential(&self, name: &str) -> Option<Private<String>> {
        let text = self.credentials.reveal().get(name)?.trim();
        (!text.is_empty()).then(|| Private::new(text.to_owned()))
    }

    /// Returns a required credential.
    ///
    /// # Errors
    /// A sentence that names it.
    pub fn required(&self, name: &str) -> Result<Private<String>, String> {
        self.credential(name).ok_or_else(|| format!("credentials.{name} is missing."))
    }
}
