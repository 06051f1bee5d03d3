//! TLS trust of outgoing connections: the system's certificate authorities and those of `extra_ca`.

use std::sync::Arc;

use anyhow::Context as _;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls_platform_verifier::Verifier;

use super::{NetworkSettings, innermost};

/// Builds the TLS settings of all connections, without ALPN protocols.
///
/// # Errors
/// If the file of extra certificate authorities cannot be used.
pub(super) fn settings(network: &NetworkSettings) -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().context("TLS versions")?;
    let extra = extra(network)?;
    let has_extra = !extra.is_empty();
    let builder = match Verifier::new_with_extra_roots(extra, provider) {
        Ok(verifier) => builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)),
        Err(error) if has_extra => return Err(error).with_context(|| unusable(network)),
        Err(error) => {
            // A container may have none; plain HTTP still works.
            tracing::warn!(error = innermost(&error), "could not load the system's certificate authorities");
            builder.with_root_certificates(rustls::RootCertStore::empty())
        }
    };
    Ok(builder.with_no_client_auth())
}

/// Returns whether the system has certificate authorities. Without any, only servers of `extra_ca` are trusted.
#[must_use]
pub fn has_system_authorities() -> bool {
    Verifier::new(Arc::new(ring::default_provider())).is_ok()
}

fn extra(network: &NetworkSettings) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let Some(path) = &network.extra_ca else { return Ok(Vec::new()) };
    let pem = std::fs::read(path).with_context(|| unusable(network))?;
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(&pem).collect::<Result<_, _>>().with_context(|| unusable(network))?;
    anyhow::ensure!(!found.is_empty(), "{}: the file has no PEM section CERTIFICATE", unusable(network));
    Ok(found)
}

fn unusable(network: &NetworkSettings) -> String {
    let path = network.extra_ca.as_deref().unwrap_or(std::path::Path::new("extra_ca"));
    format!("the certificate authorities in {} cannot be used", path.display())
}
