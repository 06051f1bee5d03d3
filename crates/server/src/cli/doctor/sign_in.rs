//! Checks the identity provider of the dashboard.

use std::sync::Arc;

use switchhook_runtime::clock::Clock;
use url::Url;

use super::Finding;
use crate::config::{Config, is_confidential};
use crate::sign_in::provider::Provider;

const NAME: &str = "identity provider";

/// Checks whether people can sign in; nothing if the dashboard is off.
pub(super) async fn provider(config: &Arc<Config>) -> Vec<Finding> {
    let Some(settings) = &config.oidc else { return Vec::new() };
    let public_url = config.reached_at(config.listen);
    let mut findings: Vec<_> = insecure(&public_url).into_iter().collect();
    let provider = Provider::new(settings.clone(), config.clone(), Clock::system(), &public_url);
    findings.push(match provider.check().await {
        Ok(()) => {
            let detail = format!("{} responds. It must know the redirect address {public_url}/auth/callback.", settings.issuer);
            Finding::ok(NAME, detail)
        }
        Err(error) => Finding::problem(
            NAME,
            format!("Nobody can sign in at {}: {error}.", settings.issuer),
            "Set SWITCHHOOK_OIDC_ISSUER to the issuer exactly as its /.well-known/openid-configuration has it, and check that \
             this machine reaches it.",
        ),
    });
    findings
}

/// Browsers keep the session's cookie over TLS or on loopback only.
fn insecure(public_url: &str) -> Option<Finding> {
    let secure = public_url.parse::<Url>().is_ok_and(|url| is_confidential(&url));
    (!secure).then(|| {
        Finding::problem(
            NAME,
            format!("Browsers do not keep sessions at {public_url}, which is not https://."),
            "Set SWITCHHOOK_PUBLIC_URL to an https:// address of this service.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Status;
    use crate::config::OidcSettings;

    #[tokio::test]
    async fn a_provider_that_does_not_respond_is_a_problem() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = Config::for_tests(folder.path());
        assert!(provider(&Arc::new(config.clone())).await.is_empty(), "the dashboard is off");
        config.oidc = Some(OidcSettings {
            issuer: "http://127.0.0.1:9".to_owned(),
            client_id: "switchhook".to_owned(),
            client_secret: None,
            allow: switchhook_core::sign_in::AllowList::default(),
            scopes: Vec::new(),
        });
        config.public_url = Some("http://voice.example.com".to_owned());
        let findings = provider(&Arc::new(config)).await;
        assert!(findings.iter().all(|finding| finding.status == Status::Problem && finding.fix.is_some()));
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[1].detail.contains("refused"), "{findings:?}");
    }
}
