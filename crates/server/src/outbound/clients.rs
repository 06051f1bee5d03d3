//! The clients of one address policy: one for what anybody may ask, and one for each port and scheme that is open to exempt addresses
//! only.
//!
//! A resolver sees names and not ports, so that the client whose resolver judges for a port is used for that port alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use switchhook_core::webhook::depends_on_exemptions;
use url::Url;

use super::ClientSettings;

/// Of more clients, all are made anew: an operator exempts a few ports.
const MOST: usize = 32;

/// What a client is made from.
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
    /// Whether what is sent is not encrypted.
    pub(super) plain: bool,
}

impl Clients {
    /// Clients that are made by `tune`.
    ///
    /// # Errors
    /// When none can be made.
    pub fn new(settings: &ClientSettings, tune: Tune) -> anyhow::Result<Self> {
        let usual = tune(settings).build().context("could not create a client for outgoing requests")?;
        Ok(Self { settings: Arc::new(settings.clone()), tune, usual, others: Arc::default() })
    }

    /// The client for requests to this URL, which [`switchhook_core::webhook::judge_url`] accepted.
    #[must_use]
    pub fn of(&self, url: &Url) -> reqwest::Client {
        if !depends_on_exemptions(url, self.settings.policy()) {
            return self.usual.clone();
        }
        let opening = Opening { port: url.port_or_known_default().unwrap_or(0), plain: url.scheme() == "http" };
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if others.len() >= MOST && !others.contains_key(&opening) {
            others.clear();
        }
        let make = || (self.tune)(&self.settings.judging_for(opening)).build();
        others
            .entry(opening)
            .or_insert_with(|| make().expect("one was made of the same settings when the service started"))
            .clone()
    }

    /// The client for requests to public addresses.
    #[must_use]
    pub fn usual(&self) -> reqwest::Client {
        self.usual.clone()
    }
}
