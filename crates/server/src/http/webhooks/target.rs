//! Checks whether a URL can be registered.

use std::time::Duration;

use switchhook_core::webhook::{judge_address, judge_url};
use switchhook_net::outbound::{LookupError, Names};
use url::Host;

use crate::config::Config;
use crate::http::error::ApiError;

/// DNS timeout; a name that is not resolved by then counts as unresolved.
const DNS_TIMEOUT: Duration = Duration::from_secs(3);

/// Rejects a URL that deliveries could not be sent to. An unresolved name is accepted, because it may resolve later; every
/// attempt checks the address again.
pub(super) async fn check(config: &Config, url: &str) -> Result<(), ApiError> {
    let policy = &config.webhook_allow;
    let parsed = judge_url(url, policy).map_err(|refusal| ApiError::invalid_field("url", refusal.to_string()))?;
    let Some(Host::Domain(name)) = parsed.host() else { return Ok(()) };
    match tokio::time::timeout(
        DNS_TIMEOUT,
        Names::new(&config.network()).vetted(name, |address| judge_address(&parsed, address, policy)),
    )
    .await
    {
        Ok(Err(LookupError::Refused(refusal))) => {
            Err(ApiError::invalid_field("url", format!("cannot be reached: {refusal}")))
        }
        Ok(Ok(_) | Err(LookupError::Unknown)) | Err(_) => Ok(()),
    }
}
