//! Telephone carriers. What they have in common is here, what differs in each one's folder, and which there are in [`registry`].
//!
//! A carrier is a [`Driver`], once per node, which holds what the node listens on or registers, and the state of legs where they
//! have one, such as SIP dialogs. It makes a [`Carrier`] of each connection, in up to four parts:
//!
//! - [`CallControl`]: dial, answer, hang up, transfer, DTMF, look up. What happens on a leg comes back as [`LegEvent`]s, through
//!   [`LegEvents`], to the call's runner. Carriers repeat themselves, reorder and come late: the call's state machine copes with that.
//! - [`Webhooks`], for carriers that report over HTTP: what a request to an address of ours ([`address`]) means and how it is answered.
//!   What is done about it is the same for all (`http/carrier/`).
//! - [`MediaTransport`]: a websocket that the carrier opens ([`stream`]) or a browser ([`web`]), or a transport of the driver's own.
//! - [`Simulation`], for a simulated phone network.

pub mod address;
pub mod callback;
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
pub mod sip;
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
    AmdMode, CallControl, CarrierError, DialError, DialRequest, Dialed, FoundLeg, LegRef, TransferError,
    TransferReports,
};
pub use self::events::{LegEvent, LegEvents};
pub use self::media::{CallInfo, FromCarrier, Media, ToCarrier};
use self::rest::Rest;
pub use self::transport::{MediaTransport, WebSocketMedia};

/// A carrier as one connection of a tenant reaches it.
pub struct Carrier {
    /// Controls its legs.
    pub control: Arc<dyn CallControl>,
    /// Reads what it reports over HTTP, where it does.
    pub webhooks: Option<Arc<dyn Webhooks>>,
    /// Carries the media of its legs.
    pub media: MediaTransport,
    /// The format of that media: calls run at it inside.
    pub format: AudioFormat,
    /// What only a simulated phone network can do.
    pub simulation: Option<Arc<dyn Simulation>>,
}

impl Carrier {
    /// A carrier that reports by webhooks and opens media websockets, whose media has this format.
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

    /// Whether it is known before the dial of a call that nobody will answer.
    #[must_use]
    pub fn dials_in_vain(&self, call: CallId) -> bool {
        matches!(&self.media, MediaTransport::Browser(browsers) if browsers.place(call) == web::SocketPlace::Free)
    }
}

/// What carriers need to know of the service's settings.
#[derive(Clone, Debug, Default)]
pub struct CarrierSettings {
    /// The file to which the simulator adds a line for each dial.
    pub simulator_dial_log: Option<PathBuf>,
    /// Where audio of browsers is taken over UDP; nowhere, if it is not set.
    pub webrtc: Option<web::WebRtcSettings>,
}

/// One carrier on one node, shared by all its connections.
#[async_trait]
pub trait Driver: Send + Sync {
    /// Makes the adapter of a connection.
    ///
    /// # Errors
    /// One sentence: what is missing or wrong.
    fn connect(&self, connection: &Connection<'_>) -> Result<Carrier, String>;

    /// Opens what the node listens on or registers. Called once, before the node's first call.
    ///
    /// # Errors
    /// When that fails: the node does not start.
    async fn start(&self) -> anyhow::Result<()> {
        Ok(())
    }

    /// Closes it, after the node's last call, or when another driver did not start.
    async fn stop(&self) {}
}

/// A carrier that keeps nothing on the node is the function that makes its adapters.
impl<F> Driver for F
where
    F: Fn(&Connection<'_>) -> Result<Carrier, String> + Send + Sync,
{
    fn connect(&self, connection: &Connection<'_>) -> Result<Carrier, String> {
        self(connection)
    }
}

/// What only a simulated phone network can do.
pub trait Simulation: Send + Sync {
    /// Has somebody call one of our numbers and wait to be answered. Returns the carrier's id of the call.
    fn ring(&self, call: CallId, from: &PhoneNumber) -> String;

    /// Has them hang up again.
    fn cancel(&self, call: CallId);

    /// The fault to inject into the providers of a call with this far end.
    fn provider_fault(&self, far_end: &str) -> Option<ProviderFault>;
}

/// A fault injected into a call's providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderFault {
    /// The model never responds.
    ModelNeverResponds,
}

/// What an adapter is made of: one connection of a tenant.
pub struct Connection<'a> {
    /// Sends its requests.
    pub rest: &'a Rest,
    /// `settings` of the connection.
    pub settings: &'a Map<String, Value>,
    /// `credentials` of the connection.
    pub credentials: &'a Private<Credentials>,
    /// Where carriers reach this service.
    pub addresses: &'a Addresses,
}

impl Connection<'_> {
    /// A setting that is text.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    /// A credential.
    #[must_use]
    pub fn credential(&self, name: &str) -> Option<Private<String>> {
        let text = self.credentials.reveal().get(name)?.trim();
        (!text.is_empty()).then(|| Private::new(text.to_owned()))
    }

    /// A credential without which nothing can be done.
    ///
    /// # Errors
    /// One sentence that names it.
    pub fn required(&self, name: &str) -> Result<Private<String>, String> {
        self.credential(name).ok_or_else(|| format!("credentials.{name} is missing."))
    }
}
