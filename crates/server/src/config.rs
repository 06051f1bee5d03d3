//! The configuration.

use std::path::PathBuf;

use switchhook_core::api_key::Environment;
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;

/// What the service is told at its start.
#[derive(Clone, Debug)]
pub struct Config {
    /// Database, key file, recordings, models.
    pub data_dir: PathBuf,
    /// The env part of new keys.
    pub env: Environment,
    /// Base64 of 32 bytes.
    pub master_key: Option<Private<String>>,
    /// Default for tenants.
    pub rate_limit_per_minute: u32,
    /// Default for tenants.
    pub concurrent_calls: u32,
    /// Default for tenants.
    pub monthly_calls: Option<u32>,
    /// Which carrier and provider addresses are exempt from the address rules.
    pub outbound_allow: AddressPolicy,
}

impl Config {
    /// Every default, with its files in `data_dir`.
    #[must_use]
    pub fn for_tests(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            env: Environment::Dev,
            master_key: None,
            rate_limit_per_minute: 120,
            concurrent_calls: 10,
            monthly_calls: None,
            outbound_allow: AddressPolicy::default(),
        }
    }
}
