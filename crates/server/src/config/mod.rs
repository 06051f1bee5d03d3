//! All settings: embedded defaults, overridden by a file, the environment and the command line.

mod layers;
mod sign_in;
mod values;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchhook_carriers::CarrierSettings;
use switchhook_carriers::web::WebRtcSettings;
use switchhook_core::api_key::Environment;
use switchhook_core::private::Private;
use switchhook_core::webhook::{AddressPolicy, Schedule};
use switchhook_net::outbound::NetworkSettings;
use switchhook_providers::registry::ProviderSettings;
use switchhook_vault::Vault;

use crate::listener::{Bounds, Timeouts};

pub use self::layers::{Flags, Layers};
pub use self::sign_in::{OidcSettings, has_loopback_host, is_confidential};
pub use self::values::parse_duration;

/// A configuration error: a sentence that names the setting and its source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub(crate) String);

/// A role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRole {
    /// Serves the API.
    Api,
    /// Dials and holds calls.
    Calls,
    /// Delivers webhooks.
    Webhooks,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Settings of the contract without effect in this version.
const RESERVED: [&str; 1] = ["sip_listen"];

/// The fewest connections to PostgreSQL with which a node works: a few for each kind of work.
pub const LEAST_DATABASE_CONNECTIONS: u32 = 8;

/// This machine, also without TLS, as in `webhook_allow`.
pub const LOOPBACK: &str = "127.0.0.0/8,::1/128,http";

/// The configuration. `config.default.toml` documents every field.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "config.default.toml describes the settings")]
pub struct Config {
    pub listen: SocketAddr,
    pub max_connections: u32,
    pub max_connections_per_address: u32,
    /// `idle` is a setting; tests shorten the others.
    pub connection_timeouts: Timeouts,
    pub public_url: Option<String>,
    pub database_url: Option<Private<String>>,
    pub database_connections: u32,
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
    /// Days for which the inputs of conversations are kept for `switchhook replay`; 0 keeps none.
    pub replay_days: u32,
    pub prices: Option<PathBuf>,
    pub roles: Vec<NodeRole>,
    pub drain_timeout: Duration,
    /// `None`: it depends on whether this is a terminal.
    pub shutdown_delay: Option<Duration>,
    pub simulator_dial_log: Option<PathBuf>,
    pub rtc_listen: Option<SocketAddr>,
    /// With the port, where it is not that of `rtc_listen`.
    pub rtc_addresses: Vec<(IpAddr, Option<u16>)>,
    pub log: String,
    pub log_format: Option<LogFormat>,
    pub oidc: Option<OidcSettings>,
    /// Not a setting; `switchhook dev` turns on the sign-in that needs no identity provider.
    pub local_sign_in: bool,
    /// Sources of settings without effect in this version, to report to the operator.
    pub without_effect: Vec<String>,
}

impl Config {
    /// Loads the configuration from the embedded file, `file`, the environment and `flags`.
    ///
    /// # Errors
    /// A sentence that names the setting and its source.
    pub fn load(file: Option<&Path>, flags: &Flags) -> Result<Self, ConfigError> {
        layers::check_text(std::env::vars_os())?;
        let environment = |name: &str| std::env::var(name).ok();
        let layers = Layers::read(file, environment, flags)?;
        let mut config = Self::from_layers(&layers)?;
        let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        config.without_effect.extend(layers.misspelt(variables));
        Ok(config)
    }

    /// Returns the defaults, with every file in `data_dir` and a free loopback port.
    ///
    /// # Panics
    /// If the embedded defaults are invalid, which a test rules out.
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
            connection_timeouts: Timeouts {
                idle: layers.required_checked("idle_timeout", values::positive_duration)?,
                ..Timeouts::default()
            },
            public_url: layers.checked("public_url", values::public_url)?,
            database_url: layers.checked("database_url", values::database_url)?.map(Private::new),
            database_connections: layers.number("database_connections", LEAST_DATABASE_CONNECTIONS, 10_000)?,
            data_dir: layers.required_checked("data_dir", values::path)?,
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
            replay_days: layers.number("replay_days", 0, 36_500)?,
            prices: layers.checked("prices", values::readable_file)?,
            roles: layers.required_checked("roles", values::roles)?,
            drain_timeout: layers.required_checked("drain_timeout", parse_duration)?,
            shutdown_delay: layers.checked("shutdown_delay", parse_duration)?,
            simulator_dial_log: layers.checked("simulator_dial_log", values::path)?,
            rtc_listen: layers.checked("rtc_listen", values::socket_address)?,
            rtc_addresses: layers.checked("rtc_addresses", values::public_addresses)?.unwrap_or_default(),
            log: layers.required_checked("log", values::log_filter)?,
            log_format: layers.checked("log_format", values::log_format)?,
            oidc: OidcSettings::from_layers(layers)?,
            local_sign_in: false,
            without_effect: RESERVED.iter().filter_map(|key| layers.source_if_set(key)).collect(),
        };
        if config.env == Environment::Prod && config.master_key.is_none() {
            return Err(ConfigError(format!(
                "SWITCHHOOK_MASTER_KEY is required if {} is prod: set base64 of 32 random bytes, for example from \
                 `openssl rand -base64 32`, the same on every node.",
                layers.source("env")
            )));
        }
        if let Some(listen) = config.rtc_listen
            && listen.ip().is_unspecified()
            && config.rtc_addresses.is_empty()
        {
            return Err(ConfigError(format!(
                "SWITCHHOOK_RTC_ADDRESSES is required if {} is {listen}: name the addresses at which browsers reach this node.",
                layers.source("rtc_listen")
            )));
        }
        Ok(config)
    }

    /// As `switchhook dev` changes it: signing in needs no identity provider, browsers on this machine use WebRTC, and webhooks, tools and
    /// servers of models may be on this machine unless `webhook_allow` and `outbound_allow` say otherwise.
    #[must_use]
    pub fn for_development(&self) -> Self {
        let here = self.listen.ip().is_loopback();
        let rtc_listen = self.rtc_listen.or(here.then_some(SocketAddr::new(self.listen.ip(), 0)));
        let near = |allowed: &AddressPolicy| match allowed {
            unset if here && *unset == AddressPolicy::default() => LOOPBACK.parse().expect("a valid exemption"),
            set => set.clone(),
        };
        let (webhook_allow, outbound_allow) = (near(&self.webhook_allow), near(&self.outbound_allow));
        Self { local_sign_in: true, rtc_listen, webhook_allow, outbound_allow, ..self.clone() }
    }

    /// Returns the database URL.
    #[must_use]
    pub fn database_url(&self) -> String {
        match &self.database_url {
            Some(url) => url.reveal().clone(),
            None => format!("sqlite://{}", self.data_dir.join("switchhook.db").display()),
        }
    }

    /// Returns the file of an SQLite database.
    #[must_use]
    pub fn database_file(&self) -> Option<PathBuf> {
        self.database_url().strip_prefix("sqlite://").map(PathBuf::from)
    }

    /// Returns the address for carriers: the configured one, else where the service `listens`.
    #[must_use]
    pub fn reached_at(&self, listens: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{listens}"))
    }

    /// Returns how outbound clients resolve names and whom they trust.
    #[must_use]
    pub fn network(&self) -> NetworkSettings {
        NetworkSettings { dns: self.dns, extra_ca: self.extra_ca.clone() }
    }

    /// Returns what providers need to know of it.
    #[must_use]
    pub fn providers(&self) -> ProviderSettings {
        ProviderSettings {
            network: self.network(),
            addresses: self.outbound_allow.clone(),
            prices: self.prices.clone(),
        }
    }

    /// Opens the vault: with the configured master keys, else with the key file, which is made at the first start.
    ///
    /// # Errors
    /// If a key is malformed, unreadable, readable by other users, or missing in production.
    pub fn open_vault(&self) -> anyhow::Result<Vault> {
        match &self.master_key {
            Some(keys) => Vault::with_keys(keys),
            None if self.env == Environment::Prod => anyhow::bail!(
                "SWITCHHOOK_MASTER_KEY is required when SWITCHHOOK_ENV=prod. Make one with `openssl rand -base64 32`, keep \
                 a copy in a safe place, and give the same one to every node."
            ),
            None => Vault::with_file(&self.data_dir),
        }
    }

    /// Returns what carriers need to know of it.
    #[must_use]
    pub fn carriers(&self) -> CarrierSettings {
        let addresses = self.rtc_addresses.clone();
        CarrierSettings {
            simulator_dial_log: self.simulator_dial_log.clone(),
            webrtc: self.rtc_listen.map(|listen| WebRtcSettings { listen, addresses }),
        }
    }

    /// Returns the limits of the listener.
    #[must_use]
    pub fn listener_bounds(&self) -> Bounds {
        Bounds {
            connections: self.max_connections,
            connections_per_address: self.max_connections_per_address,
            timeouts: self.connection_timeouts,
        }
    }

    /// Returns whether this node has the role.
    #[must_use]
    pub fn has_role(&self, role: NodeRole) -> bool {
        self.roles.contains(&role)
    }
}

#[cfg(test)]
mod tests;
