//! Checks the network: the port and the public address.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde_json::Value;
use switchhook_core::api_key::Environment;
use switchhook_core::webhook::AddressPolicy;
use switchhook_net::outbound::{ClientSettings, Names, has_system_authorities, unpacked};
use tokio::net::TcpListener;
use url::{Host, Url};

use super::Finding;
use crate::config::Config;

const PORT: &str = "port";
const PUBLIC: &str = "public address";
const DNS: &str = "dns";
const AUTHORITIES: &str = "certificate authorities";
/// Timeout of a request; the peers are near.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Allows every address, because the operator chose them.
fn anywhere() -> AddressPolicy {
    "0.0.0.0/0,::/0,http".parse().expect("a policy that a test reads")
}

fn client(config: &Config) -> Option<Client> {
    ClientSettings::new(&config.network(), &anywhere()).ok()?.builder().timeout(REQUEST_TIMEOUT).build().ok()
}

/// Checks whose certificates outgoing connections trust.
pub(super) fn authorities(config: &Config) -> Finding {
    let own = config.extra_ca.is_some();
    match ClientSettings::new(&config.network(), &anywhere()) {
        Ok(_) => trusted(has_system_authorities(), own),
        Err(error) => {
            let fix = "Set SWITCHHOOK_EXTRA_CA to a PEM file with certificates.";
            Finding::problem(AUTHORITIES, format!("The service does not start: {error:#}."), fix)
        }
    }
}

fn trusted(by_system: bool, own: bool) -> Finding {
    if by_system {
        return Finding::ok(AUTHORITIES, "The system has some.");
    }
    let fix = "Install the package ca-certificates, or set SSL_CERT_FILE to its file, for the service, too.";
    if own {
        return Finding::warning(
            AUTHORITIES,
            "Only those in SWITCHHOOK_EXTRA_CA are trusted: the system has none.",
            fix,
        );
    }
    let detail = "The system has none, so no https:// address of a carrier, a provider or a webhook can be reached.";
    Finding::warning(AUTHORITIES, detail, fix)
}

/// Checks whether the port is free or ours; returns the instance that responds there.
pub(super) async fn port(config: &Config) -> (Finding, Option<String>) {
    let listen = config.listen;
    let problem = |words: String, fix: &str| (Finding::problem(PORT, words, fix), None);
    match TcpListener::bind(listen).await {
        Ok(_free) => (Finding::ok(PORT, format!("{listen} is free; the service does not run there.")), None),
        Err(error) if error.kind() == ErrorKind::AddrInUse => match instance_at(config, &local(listen)).await {
            Probe::Instance(instance) => {
                (Finding::ok(PORT, format!("The service runs and responds at {listen}.")), Some(instance))
            }
            _ => problem(
                format!("{listen} is in use by another process."),
                "Stop that process, or set another address with SWITCHHOOK_LISTEN.",
            ),
        },
        Err(error) => problem(
            format!("Cannot listen on {listen}: {error}."),
            "Set SWITCHHOOK_LISTEN to an address of this machine and a port above 1023.",
        ),
    }
}

/// Returns the address at which this machine reaches the listener at `listen`.
fn local(listen: SocketAddr) -> String {
    let mut address = listen;
    if listen.ip().is_unspecified() {
        address.set_ip(if listen.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    format!("http://{address}")
}

enum Probe {
    /// A Switchhook instance.
    Instance(String),
    /// A Switchhook service with a hidden `/healthz`.
    Hidden,
    /// Something else, or nothing, with the reason.
    Else(String),
}

async fn instance_at(config: &Config, base: &str) -> Probe {
    let Some(client) = client(config) else { return Probe::Else("could not create an HTTP client".to_owned()) };
    let get = async |path: &str| {
        let response =
            client.get(format!("{base}{path}")).send().await.map(unpacked).map_err(|error| innermost(&error))?;
        let status = response.status();
        let body: Value = response.json().await.unwrap_or_default();
        Ok::<_, String>((status, body))
    };
    match get("/healthz").await {
        Err(words) => Probe::Else(words),
        Ok((_, body)) if body["instance"].is_string() => {
            Probe::Instance(body["instance"].as_str().unwrap_or_default().to_owned())
        }
        Ok((status, _)) => match get("/v1/tenant").await {
            Ok((StatusCode::UNAUTHORIZED, body)) if body["code"] == "unauthorized" => Probe::Hidden,
            _ => Probe::Else(format!("something else responded with {status}")),
        },
    }
}

fn innermost(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error).to_string()
}

/// Checks whether carriers can reach this service. `here` is the instance that responds on this machine.
pub(super) async fn public_address(config: &Config, here: Option<String>) -> Vec<Finding> {
    let text = config.public_url.clone().unwrap_or_else(|| local(config.listen));
    let base = text.trim_end_matches('/').to_owned();
    let Ok(url) = base.parse::<Url>() else {
        return vec![Finding::problem(PUBLIC, format!("{base} is not a URL."), "Correct SWITCHHOOK_PUBLIC_URL.")];
    };
    let mut findings: Vec<_> = insecure(config, &url).into_iter().collect();
    let name = match url.host() {
        Some(Host::Ipv4(address)) if address.is_loopback() => None,
        Some(Host::Ipv6(address)) if address.is_loopback() => None,
        Some(Host::Domain("localhost")) | None => None,
        Some(Host::Domain(name)) => Some(name.to_owned()),
        Some(_) => Some(String::new()),
    };
    let Some(name) = name else {
        let fix =
            "Set SWITCHHOOK_PUBLIC_URL to an address that is reachable from the internet; the simulator needs none.";
        findings.push(Finding::warning(
            PUBLIC,
            format!("{base} is local to this machine: carriers cannot reach it."),
            fix,
        ));
        return findings;
    };
    if !name.is_empty() {
        let dns = dns(config, &name).await;
        let unknown = dns.fix.is_some();
        findings.push(dns);
        if unknown {
            return findings;
        }
    }
    findings.push(reached(&base, instance_at(config, &base).await, here));
    findings
}

fn insecure(config: &Config, url: &Url) -> Option<Finding> {
    let insecure = config.env == Environment::Prod && url.scheme() != "https";
    insecure.then(|| {
        let fix =
            "Put a TLS proxy in front (docs/operations.md) and set SWITCHHOOK_PUBLIC_URL to its https:// address.";
        Finding::problem(PUBLIC, "It is not https: keys, words and audio would cross the internet unencrypted.", fix)
    })
}

async fn dns(config: &Config, name: &str) -> Finding {
    let looked_up = tokio::time::timeout(REQUEST_TIMEOUT, Names::new(&config.network()).vetted(name, |_| Ok(()))).await;
    match looked_up {
        Ok(Ok(addresses)) => {
            let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            Finding::ok(DNS, format!("{name} resolves to {}.", addresses.join(", ")))
        }
        _ => {
            let fix = "Add a DNS record, correct SWITCHHOOK_PUBLIC_URL, or check the name server (SWITCHHOOK_DNS).";
            Finding::problem(DNS, format!("{name} does not resolve."), fix)
        }
    }
}

fn reached(base: &str, probe: Probe, here: Option<String>) -> Finding {
    match (probe, here) {
        (Probe::Instance(there), Some(here)) if there == here => {
            Finding::ok(PUBLIC, format!("{base} reaches the service on this machine."))
        }
        (Probe::Instance(_), _) => Finding::warning(
            PUBLIC,
            format!("{base} reaches another instance than the one on this machine."),
            "None if several nodes share that address; otherwise correct SWITCHHOOK_PUBLIC_URL or the proxy.",
        ),
        (Probe::Hidden, _) => {
            Finding::ok(PUBLIC, format!("A service responds at {base} (the proxy hides which instance)."))
        }
        (Probe::Else(words), None) => Finding::warning(
            PUBLIC,
            format!("{base} does not reach a service ({words}), and none runs here."),
            "Start the service, then run doctor again.",
        ),
        (Probe::Else(words), Some(_)) => Finding::problem(
            PUBLIC,
            format!("{base} does not reach this service: {words}."),
            "Check the proxy and the firewall. Ignore this if the address works from outside.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Status;

    #[test]
    fn a_system_without_certificate_authorities_is_reported() {
        for (by_system, own, status) in [
            (true, false, Status::Ok),
            (true, true, Status::Ok),
            (false, true, Status::Warning),
            (false, false, Status::Warning),
        ] {
            let finding = trusted(by_system, own);
            assert_eq!(finding.status, status, "{}", finding.detail);
        }
    }

    #[test]
    fn a_file_of_authorities_without_a_certificate_is_reported() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut config = Config::for_tests("/nonexistent");
        config.extra_ca = Some(file.path().to_owned());
        let finding = authorities(&config);
        assert_eq!(finding.status, Status::Problem, "{}", finding.detail);
    }

    #[test]
    fn the_public_address_must_lead_here() {
        let instance = |id: &str| Probe::Instance(id.to_owned());
        let nothing = || Probe::Else("Connection refused".to_owned());
        let here = || Some("1".to_owned());
        for (probe, here, status) in [
            (instance("1"), here(), Status::Ok),
            (instance("2"), here(), Status::Warning),
            (instance("2"), None, Status::Warning),
            (Probe::Hidden, here(), Status::Ok),
            (nothing(), None, Status::Warning),
            (nothing(), here(), Status::Problem),
        ] {
            let finding = reached("https://calls.example.com", probe, here);
            assert_eq!(finding.status, status, "{}", finding.detail);
        }
    }
}
