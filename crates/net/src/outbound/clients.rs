//! HTTP clients of one address policy: one for unrestricted ports, and one per port and scheme that only exempt addresses may use.
//!
//! A resolver sees names and not ports, so a client whose resolver checks for a port is used only for that port.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use switchhook_core::webhook::depends_on_exemptions;
use url::Url;

use super::ClientSettings;

/// Maximum clients; beyond it the cache is cleared. Operators exempt only a few ports.
const MAX_CLIENTS: usize = 32;

/// Builds a client.
pub(super) type Tune = fn(&ClientSettings) -> reqwest::ClientBuilder;

/// Clients under one address policy. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clients {
    settings: Arc<ClientSettings>,
    tune: Tune,
    usual: reqwest::Client,
    others: Arc<Mutex<HashMap<Opening, reqwest::Client>>>,
}

/// A port and scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Opening {
    pub(super) port: u16,
    /// Whether the connection is unencrypted.
    pub(super) plain: bool,
}

impl Clients {
    /// Creates clients configured by `tune`.
    ///
    /// # Errors
    /// If a client cannot be built.
    pub fn new(settings: &ClientSettings, tune: Tune) -> anyhow::Result<Self> {
        let usual = tune(settings).build().context("could not create a client for outgoing requests")?;
        Ok(Self { settings: Arc::new(settings.clone()), tune, usual, others: Arc::default() })
    }

    /// Returns the client for a URL that [`switchhook_core::webhook::judge_url`] accepted.
    #[must_use]
    pub fn of(&self, url: &Url) -> reqwest::Client {
        if !depends_on_exemptions(url, self.settings.policy()) {
            return self.usual.clone();
        }
        let opening = Opening { port: url.port_or_known_default().unwrap_or(0), plain: url.scheme() == "http" };
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if others.len() >= MAX_CLIENTS && !others.contains_key(&opening) {
            others.clear();
        }
        let make = || (self.tune)(&self.settings.judging_for(opening)).build();
        others
            .entry(opening)
            .or_insert_with(|| make().expect("a client with the same settings was built at the start"))
            .clone()
    }

    /// Returns the client for public addresses.
    #[must_use]
    pub fn usual(&self) -> reqwest::Client {
        self.usual.clone()
    }
}
