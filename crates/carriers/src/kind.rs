//! What the registry knows of a carrier.

use std::sync::Arc;

use serde_json::{Map, Value};
use switchhook_core::agent::FieldError;

use crate::{CarrierSettings, Driver};

type MakeDriver = fn(&CarrierSettings) -> Arc<dyn Driver>;

/// What the service knows of a carrier before any connection to it exists.
pub struct CarrierKind {
    /// Its name in the API and in addresses.
    pub name: &'static str,
    /// The credentials without which a connection is refused.
    pub required_credentials: &'static [&'static str],
    /// The last segment of the address to which it announces calls to a number; `None` where numbers need no configuration.
    pub inbound_topic: Option<&'static str>,
    /// Whether tenants connect to it; `false` where every tenant has it as it is.
    pub has_connections: bool,
    /// Whether its calls ring real telephones, so that the dial policy counts them.
    pub rings_phones: bool,
    /// The names of a connection's settings besides `base_url`; `None` where this version does not know them.
    pub settings: Option<&'static [&'static str]>,
    /// Checks a connection's settings before they are stored.
    pub check_settings: fn(&Map<String, Value>) -> Result<(), FieldError>,
    /// Makes the node's driver; `None` where connections can be stored, but this version cannot call with them.
    pub driver: Option<MakeDriver>,
}

impl CarrierKind {
    /// A carrier without special needs, for struct update syntax: its connections can be stored, and calls with them fail as
    /// `config_error`.
    pub const fn planned(name: &'static str) -> Self {
        Self {
            name,
            required_credentials: &[],
            inbound_topic: None,
            has_connections: true,
            rings_phones: true,
            settings: None,
            check_settings: |_| Ok(()),
            driver: None,
        }
    }
}
