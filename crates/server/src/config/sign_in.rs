//! Settings of the dashboard's sign-in.

use switchhook_core::private::Private;
use switchhook_core::sign_in::AllowList;
use url::{Host, Url};

use super::{ConfigError, Layers};

/// The identity provider, and who may sign in.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The issuer, exactly as the provider writes it.
    pub issuer: String,
    /// This service's id at the provider.
    pub client_id: String,
    /// Its secret; `None` for a public client.
    pub client_secret: Option<Private<String>>,
    /// The people who may sign in.
    pub allow: AllowList,
    /// The requested scopes, such as `email`.
    pub scopes: Vec<String>,
}

impl OidcSettings {
    pub(super) fn from_layers(layers: &Layers) -> Result<Option<Self>, ConfigError> {
        let allow = layers.checked("oidc_allow", str::parse)?.unwrap_or_default();
        let Some(issuer) = layers.checked("oidc_issuer", issuer)? else { return Ok(None) };
        let Some(client_id) = layers.checked("oidc_client_id", |text| Ok(text.to_owned()))? else {
            let source = layers.source("oidc_issuer");
            return Err(ConfigError(format!("SWITCHHOOK_OIDC_CLIENT_ID is required together with {source}.")));
        };
        let secret = |text: &str| Ok(Private::new(text.to_owned()));
        Ok(Some(Self {
            issuer,
            client_id,
            client_secret: layers.checked("oidc_client_secret", secret)?,
            allow,
            scopes: layers.required("oidc_scopes")?.split_whitespace().map(str::to_owned).collect(),
        }))
    }
}

fn issuer(text: &str) -> Result<String, String> {
    let url =
        Url::parse(text).ok().filter(|url| is_confidential(url) && url.query().is_none() && url.fragment().is_none());
    url.map(|_| text.to_owned())
        .ok_or_else(|| format!("must be an https:// address, or http:// on loopback, not {text:?}"))
}

/// Returns whether the connection is confidential: TLS, or this machine.
#[must_use]
pub fn is_confidential(url: &Url) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && has_loopback_host(url)
}

/// Returns whether the URL is of this machine, under a name that no other machine can have.
#[must_use]
pub fn has_loopback_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
