//! A carrier's entry in the registry.

use std::sync::Arc;

use serde_json::{Map, Value};
use switchhook_core::agent::FieldError;

use crate::{CarrierSettings, Driver};

type MakeDriver = fn(&CarrierSettings) -> Arc<dyn Driver>;

/// The properties of a carrier, independent of any connection.
pub struct CarrierKind {
    /// Its name in the API and in URLs.
    pub name: &'static str,
    /// The credentials that a connection must have.
    pub required_credentials: &'static [&'static str],
    /// Those that it may have.
    pub optional_credentials: &'static [&'static str],
    /// The last path segment of the URL to which it announces calls to a number; `None` if numbers need no configuration.
    pub inbound_topic: Option<&'static str>,
    /// Whether tenants connect to it; `false` if every tenant can use it without a connection.
    pub has_connections: bool,
    /// Whether its calls ring real telephones, so that the dial policy counts them.
    pub rings_phones: bool,
    /// The names of a connection's settings besides `base_url`; `None` if this version does not know them.
    pub settings: Option<&'static [&'static str]>,
    /// Checks a connection's settings before they are stored.
    pub check_settings: fn(&Map<String, Value>) -> Result<(), FieldError>,
    /// Creates the node's driver; `None` if connections can be stored, but this version cannot call with them.
    pub driver: Option<MakeDriver>,
}

impl CarrierKind {
    /// Returns a carrier with defaults, for struct update syntax: its connections can be stored, and calls with them fail with
    /// `config_error`.
    pub const fn planned(name: &'static str) -> Self {
        Self {
            name,
            required_credentials: &[],
            optional_credentials: &[],
            inbound_topic: None,
            has_connections: true,
            rings_phones: true,
            settings: None,
            check_settings: |_| Ok(()),
            driver: None,
        }
    }
}
