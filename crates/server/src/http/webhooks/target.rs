//! Checks whether a URL can be registered.

use std::time::Duration;

use switchhook_core::webhook::{AddressPolicy, UrlRefusal, entered_url, judge_address, judge_url};
use switchhook_net::outbound::{LookupError, Names};
use url::{Host, Url};

use crate::config::Config;
use crate::http::error::ApiError;

/// DNS timeout; a name that is not resolved by then counts as unresolved.
const DNS_TIMEOUT: Duration = Duration::from_secs(3);

/// The setting that permits refused addresses.
const SETTING: &str =
    "the operator can allow addresses with SWITCHHOOK_WEBHOOK_ALLOW, such as 127.0.0.0/8,::1/128,http";

fn refused(url: &str, refusal: UrlRefusal) -> ApiError {
    let liftable = match refusal {
        UrlRefusal::PrivateName | UrlRefusal::Address(_) => true,
        UrlRefusal::Scheme => is_near(url),
        _ => false,
    };
    let message = if liftable { format!("{refusal}; {SETTING}") } else { refusal.to_string() };
    ApiError::invalid_field("url", message)
}

/// Returns whether a URL is of this machine or a private network, as those of receivers under development are.
fn is_near(url: &str) -> bool {
    let url = url.parse::<Url>().ok().filter(|url| url.scheme() == "http");
    let https = url.map(|url| url.as_str().replacen("http", "https", 1));
    let judged = https.map(|url| judge_url(&url, &AddressPolicy::default()));
    matches!(judged, Some(Err(UrlRefusal::PrivateName | UrlRefusal::Address(_))))
}

/// Returns the URL as it is stored.
pub(super) fn entered(url: &str) -> Result<String, ApiError> {
    entered_url(url).map_err(|refusal| refused(url, refusal))
}

/// Rejects a URL that deliveries could not be sent to. An unresolved name is accepted, because it may resolve later; every
/// attempt checks the address again.
///
/// # Errors
/// 422 if the address is not permitted.
pub(crate) async fn check(config: &Config, url: &str) -> Result<(), ApiError> {
    let policy = &config.webhook_allow;
    let parsed = judge_url(url, policy).map_err(|refusal| refused(url, refusal))?;
    let Some(Host::Domain(name)) = parsed.host() else { return Ok(()) };
    match tokio::time::timeout(
        DNS_TIMEOUT,
        Names::new(&config.network()).vetted(name, |address| judge_address(&parsed, address, policy)),
    )
    .await
    {
        Ok(Err(LookupError::Refused(refusal))) => {
            Err(ApiError::invalid_field("url", format!("cannot be reached: {refusal}; {SETTING}")))
        }
        Ok(Ok(_) | Err(LookupError::Unknown)) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_a_setting_lifts_names_the_setting() {
        let refusal = |url: &str| {
            let refusal = judge_url(url, &AddressPolicy::default()).expect_err("it is not public");
            refused(url, refusal).body(None).detail
        };
        for near in ["http://127.0.0.1:9000/hook", "https://127.0.0.1/", "https://localhost:9000", "http://10.0.0.7"] {
            assert!(refusal(near).contains("SWITCHHOOK_WEBHOOK_ALLOW"), "{near}: {}", refusal(near));
        }
        for other in ["http://example.com/hook", "ftp://127.0.0.1", "https://user:pw@example.com", "nonsense"] {
            assert!(!refusal(other).contains("SWITCHHOOK_"), "{other}: {}", refusal(other));
        }
    }
}
