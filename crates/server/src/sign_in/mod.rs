//! Sign-in to the dashboard: the identity provider establishes a person's identity, rows say to which tenants they belong, and a session
//! records the person and their current tenant.

pub mod attempt;
pub mod enter;
pub mod identity;
pub mod link;
pub mod membership;
pub mod provider;

use std::sync::Arc;

use switchhook_core::api_key::Environment;
use switchhook_runtime::clock::Clock;
use url::Url;

use self::identity::LOCAL;
use self::link::SignInLink;
use self::provider::Provider;
use crate::config::{Config, has_loopback_host};
use crate::store::sessions::SessionRow;

/// The sign-in method. Cheap to clone.
#[derive(Clone)]
pub enum SignIn {
    /// At an identity provider.
    Oidc(Arc<Provider>),
    /// By the link in the terminal of `switchhook dev`, on this machine only.
    Local(Arc<SignInLink>),
    /// Not at all.
    Off,
}

impl SignIn {
    /// Returns how people sign in under this configuration; `public_url` is this service's address.
    #[must_use]
    pub fn new(config: &Arc<Config>, clock: &Clock, public_url: &str) -> Self {
        match &config.oidc {
            Some(settings) => {
                Self::Oidc(Arc::new(Provider::new(settings.clone(), config.clone(), clock.clone(), public_url)))
            }
            None if config.local_sign_in && config.env == Environment::Dev && is_here(public_url) => {
                Self::Local(Arc::default())
            }
            None => Self::Off,
        }
    }

    /// Returns whether the person of a session would be admitted now: the identity provider may have changed since the sign-in, and
    /// `SWITCHHOOK_OIDC_ALLOW` may be narrower.
    #[must_use]
    pub fn admits(&self, session: &SessionRow) -> bool {
        let issuer = session.issuer.as_deref();
        match self {
            Self::Oidc(provider) => {
                let settings = provider.settings();
                issuer == Some(settings.issuer.as_str()) && settings.allow.admits(session.verified_email())
            }
            Self::Local(_) => issuer == Some(LOCAL),
            Self::Off => false,
        }
    }

    /// Its name for programs.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Oidc(_) => "oidc",
            Self::Local(_) => "local",
            Self::Off => "off",
        }
    }
}

/// Returns whether the service is only reachable on this machine. A client at another address has no terminal here.
fn is_here(public_url: &str) -> bool {
    Url::parse(public_url).is_ok_and(|url| has_loopback_host(&url))
}

/// Why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The provider is down, or what it publishes cannot be used.
    #[error("the identity provider cannot be used: {0}")]
    Provider(String),
    /// As many people as may are signing in at this moment.
    #[error("too many people sign in at once")]
    Busy,
    /// The provider does not vouch for the person, or not in a way that holds.
    #[error("the identity provider did not confirm the sign-in: {0}")]
    Refused(String),
    /// `SWITCHHOOK_OIDC_ALLOW` does not name the person.
    #[error("not allowed")]
    NotAllowed,
    /// The person's tenant is deactivated.
    #[error("the tenant is deactivated")]
    Deactivated,
    /// The sign-in was already used.
    #[error("the sign-in was already used")]
    Replayed,
    /// The database failed.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl SignInError {
    fn refused(words: &str) -> Self {
        Self::Refused(words.to_owned())
    }
}
