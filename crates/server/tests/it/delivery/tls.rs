//! HTTPS receivers and their certificates.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::AsyncWriteExt as _;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::peer::{Peer, read};
use super::*;

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate")
}

/// A certificate for `host`, and its key.
struct Identity(CertificateDer<'static>, PrivateKeyDer<'static>);

impl Identity {
    fn new(
        host: &str,
        by: Option<&CertifiedIssuer<'static, KeyPair>>,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("a name");
        change(&mut params);
        let signed = match by {
            Some(authority) => params.signed_by(&key, authority),
            None => params.self_signed(&key),
        };
        Self(signed.expect("a certificate").der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into()))
    }

    /// Starts a receiver that responds with 204 under this certificate.
    async fn serve(self) -> Peer {
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![self.0], self.1);
        let acceptor = TlsAcceptor::from(Arc::new(config.expect("they belong together")));
        Peer::start(move |stream| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                if read(&mut stream).await.is_some() {
                    let _gone = stream.write_all(b"HTTP/1.1 204 Fine\r\nconnection: close\r\n\r\n").await;
                    let _gone = stream.shutdown().await;
                }
            }
        })
        .await
    }
}

#[tokio::test]
async fn a_receiver_must_have_a_certificate_of_an_authority_that_is_trusted_for_its_own_name_and_time() {
    switchhook_net::install_tls();
    let (ours, theirs) = (authority(), authority());
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, ours.pem().as_bytes()).expect("written");
    let service = TestService::start_as(standing_clock(), |config| {
        config.webhook_timeout = NEVER;
        config.extra_ca = Some(file.path().to_owned());
    })
    .await;
    let here = "127.0.0.1";
    let expired = |params: &mut CertificateParams| {
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    };
    for (name, identity, good) in [
        ("of the extra authority", Identity::new(here, Some(&ours), |_| {}), true),
        ("self-signed", Identity::new(here, None, |_| {}), false),
        ("of an unknown authority", Identity::new(here, Some(&theirs), |_| {}), false),
        ("for another name", Identity::new("hooks.example.com", Some(&ours), |_| {}), false),
        ("for another address", Identity::new("127.0.0.2", Some(&ours), |_| {}), false),
        ("that has expired", Identity::new(here, Some(&ours), expired), false),
    ] {
        let peer = identity.serve().await;
        let endpoint = Endpoint::register(&service.client, &format!("https://{}/", peer.address)).await;
        let attempt = endpoint.try_once().await;
        let expected = if good { (json!("succeeded"), json!(204)) } else { (json!("pending"), Value::Null) };
        assert_eq!((attempt["state"].clone(), attempt["status"].clone()), expected, "{name}: {attempt}");
        let returned = attempt["error"].as_str().is_some_and(|error| error.contains("certificate"));
        assert!(good || returned, "{name}: {attempt}");
        assert_eq!(peer.connections(), 1, "{name}");
    }
    // Plain HTTP where TLS is expected. Both may wait for the other.
    let (service, plain) = (impatient().await, Peer::answering("200 OK").await);
    let endpoint = Endpoint::register(&service.client, &format!("https://{}/", plain.address)).await;
    assert_eq!(endpoint.try_once().await["status"], Value::Null);
}
