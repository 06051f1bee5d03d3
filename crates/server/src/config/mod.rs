//! Every setting: the embedded file holds the defaults, then a file, the environment and the command line.

mod layers;
mod values;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchhook_core::api_key::Environment;
use switchhook_core::private::Private;
use switchhook_core::webhook::{AddressPolicy, Schedule};

use crate::listener::{Bounds, Timeouts};

pub use self::layers::{Flags, Layers};
pub use self::values::parse_duration;

/// What is wrong with the configuration, in one sentence that names the setting and where it was set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub(crate) String);

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Answers the API.
    Api,
    /// Dials and holds calls.
    Calls,
    /// Delivers webhooks.
    Webhooks,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Settings of the contract that this version reads but does not act on.
const RESERVED: [&str; 4] = ["oidc_issuer", "oidc_client_id", "oidc_client_secret", "sip_listen"];

/// The configuration. `config.default.toml` has a sentence for every field.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "config.default.toml describes the settings")]
pub struct Config {
    pub listen: SocketAddr,
    pub max_connections: u32,
    pub max_connections_per_address: u32,
    /// Not a setting: tests shorten them.
    pub connection_timeouts: Timeouts,
    pub public_url: Option<String>,
    pub database_url: Option<Private<String>>,
    pub data_dir: PathBuf,
    pub env: Environment,
    pub master_key: Option<Private<String>>,
    pub rate_limit_per_minute: u32,
    pub concurrent_calls: u32,
    pub monthly_calls: Option<u32>,
    pub webhook_schedule: Schedule,
    pub webhook_timeout: Duration,
    pub webhook_allow: AddressPolicy,
    pub outbound_allow: AddressPolicy,
    pub extra_ca: Option<PathBuf>,
    pub dns: Option<SocketAddr>,
    pub media_timeout: Duration,
    pub retention_days: Option<u32>,
    pub delivery_retention_days: u32,
    pub prices: Option<PathBuf>,
    pub roles: Vec<Role>,
    pub drain_timeout: Duration,
    pub simulator_dial_log: Option<PathBuf>,
    pub log: String,
    pub log_format: Option<LogFormat>,
    /// Where settings were given that this version does not act on, to be told to the operator.
    pub without_effect: Vec<String>,
}

impl Config {
    /// Reads the configuration from the embedded file, `file`, the process's environment and `flags`.
    ///
    /// # Errors
    /// One sentence that names the setting and where it was set.
    pub fn load(file: Option<&Path>, flags: &Flags) -> Result<Self, ConfigError> {
        let environment = |name: &str| std::env::var(name).ok();
        Self::from_layers(&Layers::read(file, environment, flags)?)
    }

    /// The defaults, with every file in `data_dir` and a free port of the loopback interface.
    ///
    /// # Panics
    /// When the embedded defaults are not valid, which a test rules out.
    #[must_use]
    pub fn for_tests(data_dir: impl Into<PathBuf>) -> Self {
        let layers = Layers::read(None, |_| None, &Flags::default()).expect("the embedded file is valid");
        let defaults = Self::from_layers(&layers).expect("the embedded defaults are valid");
        Self { data_dir: data_dir.into(), listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..defaults }
    }

    fn from_layers(layers: &Layers) -> Result<Self, ConfigError> {
        let config = Self {
            listen: layers.parsed("listen", "an address such as 127.0.0.1:8080")?,
            max_connections: layers.number("max_connections", 1, 1_000_000)?,
            max_connections_per_address: layers.number("max_connections_per_address", 1, 1_000_000)?,
            connection_timeouts: Timeouts::default(),
            public_url: layers.checked("public_url", values::public_url)?,
            database_url: layers.checked("database_url", values::database_url)?.map(Private::new),
            data_dir: PathBuf::from(layers.required("data_dir")?),
            env: layers.parsed("env", "dev or prod")?,
            master_key: layers.checked("master_key", values::master_key)?.map(Private::new),
            rate_limit_per_minute: layers.number("rate_limit_per_minute", 1, 1_000_000)?,
            concurrent_calls: layers.number("concurrent_calls", 0, 1_000_000)?,
            monthly_calls: layers.optional_number("monthly_calls", 0, u32::MAX)?,
            webhook_schedule: layers.required_checked("webhook_retry_delays", values::schedule)?,
            webhook_timeout: layers.required_checked("webhook_timeout", values::positive_duration)?,
            webhook_allow: layers.checked("webhook_allow", values::policy)?.unwrap_or_default(),
            outbound_allow: layers.checked("outbound_allow", values::policy)?.unwrap_or_default(),
            extra_ca: layers.checked("extra_ca", values::readable_file)?,
            dns: layers.checked("dns", |text| text.parse().map_err(|_| "must be ip:port".to_owned()))?,
            media_timeout: layers.required_checked("media_timeout", values::positive_duration)?,
            retention_days: layers.optional_number("retention_days", 1, 36_500)?,
            delivery_retention_days: layers.number("delivery_retention_days", 1, 36_500)?,
            prices: layers.checked("prices", values::readable_file)?,
            roles: layers.required_checked("roles", values::roles)?,
            drain_timeout: layers.required_checked("drain_timeout", parse_duration)?,
            simulator_dial_log: layers.checked("simulator_dial_log", |text| Ok(PathBuf::from(text)))?,
            log: layers.required_checked("log", values::log_filter)?,
            log_format: layers.checked("log_format", values::log_format)?,
            without_effect: RESERVED.iter().filter_map(|key| layers.source_if_set(key)).collect(),
        };
        if config.env == Environment::Prod && config.master_key.is_none() {
            return Err(ConfigError(format!(
                "SWITCHHOOK_MASTER_KEY is required when {} is prod: give base64 of 32 random bytes, for example from \
                 `openssl rand -base64 32`, the same on every node.",
                layers.source("env")
            )));
        }
        Ok(config)
    }

    /// Where the database is.
    #[must_use]
    pub fn database_url(&self) -> String {
        match &self.database_url {
            Some(url) => url.reveal().clone(),
            None => format!("sqlite://{}", self.data_dir.join("switchhook.db").display()),
        }
    }

    /// What carriers are told: the configured address, or else where the service `listens`.
    #[must_use]
    pub fn reached_at(&self, listens: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{listens}"))
    }

    /// What clients may take of the listener.
    #[must_use]
    pub fn listener_bounds(&self) -> Bounds {
        Bounds {
            connections: self.max_connections,
            connections_per_address: self.max_connections_per_address,
            timeouts: self.connection_timeouts,
        }
    }

    /// Whether this node does that.
    #[must_use]
    pub fn has_role(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

#[cfg(test)]
mod tests;
