//! Checks settings against what stands around the service: a proxy or load balancer before it, and a supervisor that stops it.

use std::path::Path;
use std::time::Duration;

use switchhook_core::api_key::Environment;
use url::Url;

use super::Finding;
use crate::config::{Config, has_loopback_host};

const IDLE: &str = "idle timeout";
const STOPPING: &str = "stopping";
const SHARED: &str = "connections per address";
/// How long AWS's load balancers keep an idle connection, and Google's.
const SHORT_BALANCER_IDLE: Duration = Duration::from_secs(60);
const LONG_BALANCER_IDLE: Duration = Duration::from_secs(600);
/// Variables that systemd and Kubernetes set, and the file that container engines create.
const SUPERVISORS: [&str; 2] = ["INVOCATION_ID", "KUBERNETES_SERVICE_HOST"];
const CONTAINERS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

pub(super) fn settings(config: &Config) -> Vec<Finding> {
    let supervised = SUPERVISORS.iter().any(|name| std::env::var_os(name).is_some())
        || CONTAINERS.iter().any(|path| Path::new(path).exists());
    examine(config, supervised)
}

fn examine(config: &Config, supervised: bool) -> Vec<Finding> {
    let proxied = is_proxied(config);
    [idle(config), stopping(config, proxied || supervised), shared(config, proxied)].into_iter().flatten().collect()
}

/// Returns whether a proxy stands before the service, which speaks plain HTTP at one port.
fn is_proxied(config: &Config) -> bool {
    let url = config.public_url.as_ref().and_then(|text| text.parse::<Url>().ok());
    url.is_some_and(|url| {
        let direct = url.scheme() == "http" && url.port_or_known_default() == Some(config.listen.port());
        !direct && !has_loopback_host(&url)
    })
}

fn idle(config: &Config) -> Option<Finding> {
    let idle = config.connection_timeouts.idle;
    let (short, long) = (SHORT_BALANCER_IDLE.as_secs(), LONG_BALANCER_IDLE.as_secs());
    let others = if idle <= SHORT_BALANCER_IDLE {
        format!("load balancers keep theirs for {short} s (AWS) to {long} s (Google): they answer 502 now and then")
    } else if idle <= LONG_BALANCER_IDLE {
        format!(
            "Google's load balancers keep theirs for {long} s: behind one, clients get 502 now and then. AWS's, with {short} s, fit"
        )
    } else {
        return None;
    };
    Some(Finding::warning(
        IDLE,
        format!("Idle connections are closed after {} s, and {others}.", idle.as_secs()),
        "Set SWITCHHOOK_IDLE_TIMEOUT above the balancer's idle timeout; the default, 620s, fits AWS and Google.",
    ))
}

fn stopping(config: &Config, noticed_by_others: bool) -> Option<Finding> {
    let others = noticed_by_others || config.env == Environment::Prod;
    (config.shutdown_delay == Some(Duration::ZERO) && others).then(|| {
        Finding::warning(
            STOPPING,
            "The port closes at once when the service stops: requests that a balancer sends before it notices fail.",
            "Leave SWITCHHOOK_SHUTDOWN_DELAY unset (5s), or set it above the balancer's interval times its failures.",
        )
    })
}

fn shared(config: &Config, proxied: bool) -> Option<Finding> {
    let (all, each) = (config.max_connections, config.max_connections_per_address);
    (proxied && each < all).then(|| {
        Finding::warning(
            SHARED,
            format!("Every connection comes from the proxy's address, which may have {each} of {all}: all clients share them."),
            format!("Set SWITCHHOOK_MAX_CONNECTIONS_PER_ADDRESS to {all}, and limit single clients in the proxy."),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut Config);

    /// Behind a TLS proxy, set up as documented.
    fn behind_a_proxy(config: &mut Config) {
        config.public_url = Some("https://calls.example.com".to_owned());
        config.max_connections_per_address = config.max_connections;
    }

    #[test]
    fn settings_that_hurt_behind_a_proxy_or_under_a_supervisor_are_found() {
        let table: [(Change, bool, &[&str]); 14] = [
            (|_| {}, false, &[]),
            (|_| {}, true, &[]),
            (behind_a_proxy, true, &[]),
            (|config| config.connection_timeouts.idle = Duration::from_secs(60), false, &[IDLE]),
            (|config| config.connection_timeouts.idle = Duration::from_secs(75), false, &[IDLE]),
            (|config| config.connection_timeouts.idle = Duration::from_secs(600), false, &[IDLE]),
            (|config| config.connection_timeouts.idle = Duration::from_secs(601), false, &[]),
            (|config| config.shutdown_delay = Some(Duration::ZERO), false, &[]),
            (|config| config.shutdown_delay = Some(Duration::ZERO), true, &[STOPPING]),
            (|config| config.shutdown_delay = Some(Duration::from_secs(10)), true, &[]),
            (
                |config| {
                    behind_a_proxy(config);
                    config.shutdown_delay = Some(Duration::ZERO);
                },
                false,
                &[STOPPING],
            ),
            (|config| config.public_url = Some("https://calls.example.com".to_owned()), false, &[SHARED]),
            (
                |config| {
                    config.listen = "0.0.0.0:8080".parse().expect("an address");
                    config.public_url = Some("http://calls.example.com:8080".to_owned());
                },
                false,
                &[],
            ),
            (|config| config.public_url = Some("http://localhost:9000".to_owned()), false, &[]),
        ];
        for (number, (change, supervised, names)) in table.iter().enumerate() {
            let mut config = Config::for_tests("/nonexistent");
            change(&mut config);
            let found: Vec<String> = examine(&config, *supervised).into_iter().map(|finding| finding.name).collect();
            assert_eq!(found, *names, "row {number}");
        }
    }
}
