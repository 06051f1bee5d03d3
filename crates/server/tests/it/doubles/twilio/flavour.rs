//! Differences between the two carriers that speak this protocol.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use switchhook_runtime::clock;

/// Which carrier the double is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    Twilio,
    SignalWire,
}

/// Prefix of an id, before its hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Prefix {
    Call,
    Stream,
    Number,
    Application,
}

impl Flavour {
    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::Twilio => "twilio",
            Self::SignalWire => "signalwire",
        }
    }

    /// Before `/Accounts/…`.
    pub(crate) fn base_path(self) -> &'static str {
        match self {
            Self::Twilio => "/2010-04-01",
            Self::SignalWire => "/api/laml/2010-04-01",
        }
    }

    pub(crate) fn account(self) -> &'static str {
        match self {
            Self::Twilio => "AC00000000000000000000000000000001",
            Self::SignalWire => "00000000-0000-4000-8000-000000000001",
        }
    }

    /// Which passwords of the account the API takes.
    pub(crate) fn secrets(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Twilio => &[
                ("AC00000000000000000000000000000001", "the auth token"),
                ("SK00000000000000000000000000000001", "the secret of the key"),
            ],
            Self::SignalWire => &[("00000000-0000-4000-8000-000000000001", "PT-the-api-token")],
        }
    }

    /// With what requests to us are signed.
    pub(crate) fn signing_key(self) -> &'static str {
        match self {
            Self::Twilio => "the auth token",
            Self::SignalWire => "PSK_the_signing_key",
        }
    }

    /// The header with the signature.
    pub(crate) fn signature_header(self) -> &'static str {
        match self {
            Self::Twilio => "X-Twilio-Signature",
            Self::SignalWire => "X-SignalWire-Signature",
        }
    }

    /// The field of a report with the status code of SIP.
    pub(crate) fn sip_field(self) -> &'static str {
        match self {
            Self::Twilio => "SipResponseCode",
            Self::SignalWire => "SipResultCode",
        }
    }

    /// How long it waits for the answer to one of its requests.
    pub(crate) fn patience(self) -> Duration {
        match self {
            Self::Twilio => Duration::from_secs(15),
            Self::SignalWire => Duration::from_secs(5),
        }
    }

    /// The credentials of a connection to this carrier.
    pub(crate) fn credentials(self) -> Value {
        match self {
            Self::Twilio => json!({ "account_sid": self.account(), "auth_token": self.signing_key() }),
            Self::SignalWire => {
                let token = self.secrets()[0].1;
                json!({ "project_id": self.account(), "api_token": token, "signing_key": self.signing_key() })
            }
        }
    }

    /// The answer to a request that made a call.
    pub(crate) fn created(self) -> u16 {
        match self {
            Self::Twilio => 201,
            Self::SignalWire => 200,
        }
    }

    pub(crate) fn stream_attributes(self) -> &'static [&'static str] {
        match self {
            Self::Twilio => &["url", "name", "track", "statusCallback", "statusCallbackMethod"],
            Self::SignalWire => &[
                "url",
                "name",
                "track",
                "statusCallback",
                "statusCallbackMethod",
                "authBearerToken",
                "codec",
                "realtime",
            ],
        }
    }

    /// A new id.
    pub(crate) fn id(self, prefix: Prefix) -> String {
        let bytes: [u8; 16] = clock::random();
        let digits = bytes.iter().fold(String::new(), |mut digits, byte| {
            write!(digits, "{byte:02x}").expect("a string takes everything");
            digits
        });
        let prefix = match (self, prefix) {
            (Self::SignalWire, _) => return uuid::Uuid::from_bytes(bytes).to_string(),
            (_, Prefix::Call) => "CA",
            (_, Prefix::Stream) => "MZ",
            (_, Prefix::Number) => "PN",
            (_, Prefix::Application) => "AP",
        };
        format!("{prefix}{digits}")
    }
}
