//! Which URLs a customer may have requests sent to.
//!
//! This is the early, kind answer: it sees what is wrong with the URL itself. What its host resolves to is judged by
//! [`AddressPolicy::judge`] when the URL is registered and again whenever a connection is made.

use std::net::IpAddr;

use url::{Host, Url};

use super::address::{AddressPolicy, Refusal};

const MAX_LENGTH: usize = 2048;

/// Names that belong to the machine itself (RFC 6761 section 6.3).
const LOCAL_NAMES: &[&str] = &["localhost", "localdomain"];

/// Endings of names that only mean something inside a private network: multicast DNS (RFC 6762), `.internal` (ICANN,
/// 2024), home networks (RFC 8375), Tor (RFC 7686), and what routers and companies use without having been asked.
const PRIVATE_SUFFIXES: &[&str] =
    &["local", "internal", "home.arpa", "onion", "intranet", "private", "corp", "home", "lan"];

/// Judges a URL without looking any name up.
///
/// The host is read as a browser reads it (WHATWG URL), so an address in any disguise (`https://2130706433/`,
/// `https://0x7f.1/`, `https://①②⑦.0.0.1/`) is judged as the address that would be connected to.
///
/// # Errors
/// One sentence for the person who gave the URL.
pub fn judge_url(text: &str, policy: &AddressPolicy) -> Result<Url, UrlRefusal> {
    if text.len() > MAX_LENGTH {
        return Err(UrlRefusal::TooLong);
    }
    let url = Url::parse(text).map_err(|_| UrlRefusal::Malformed)?;
    judge_scheme(&url, policy)?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRefusal::Credentials);
    }
    match url.host().ok_or(UrlRefusal::Malformed)? {
        Host::Domain(name) => judge_name(name, policy)?,
        Host::Ipv4(address) => policy.judge(IpAddr::V4(address))?,
        Host::Ipv6(address) => policy.judge(IpAddr::V6(address))?,
    }
    judge_port(&url, policy)?;
    Ok(url)
}

fn judge_scheme(url: &Url, policy: &AddressPolicy) -> Result<(), UrlRefusal> {
    match url.scheme() {
        "https" => Ok(()),
        "http" if policy.allow_http => Ok(()),
        _ => Err(UrlRefusal::Scheme),
    }
}

fn judge_name(name: &str, policy: &AddressPolicy) -> Result<(), UrlRefusal> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.split('.').any(str::is_empty) {
        return Err(UrlRefusal::Malformed);
    }
    let ends_in = |suffix: &&str| name.strip_suffix(*suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if LOCAL_NAMES.iter().any(ends_in) {
        return if policy.allows_loopback() { Ok(()) } else { Err(UrlRefusal::PrivateName) };
    }
    let private = !name.contains('.') || PRIVATE_SUFFIXES.iter().any(ends_in);
    if private && !policy.allows_private_networks() {
        return Err(UrlRefusal::PrivateName);
    }
    Ok(())
}

/// Below 1024 live other services, which a request should not be aimed at; receivers of one's own may be anywhere.
fn judge_port(url: &Url, policy: &AddressPolicy) -> Result<(), UrlRefusal> {
    match url.port_or_known_default() {
        Some(80 | 443 | 1024..) => Ok(()),
        Some(1..) if !policy.allow.is_empty() => Ok(()),
        _ => Err(UrlRefusal::Port),
    }
}

/// Why a URL is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    /// It is no absolute URL with a host.
    #[error("must be an absolute URL, such as https://example.com/hooks")]
    Malformed,
    /// It is too long.
    #[error("must not be longer than {MAX_LENGTH} characters")]
    TooLong,
    /// It is not `https`.
    #[error("must begin with https://")]
    Scheme,
    /// It contains a user name or password.
    #[error("must not contain a user name or password; deliveries are authenticated by their signature")]
    Credentials,
    /// Its port belongs to another service.
    #[error("must use port 443, 80, or one from 1024 up")]
    Port,
    /// Its host has no public name.
    #[error("must have a host with a public name; localhost and names of private networks cannot be reached")]
    PrivateName,
    /// Its host is an address that is not public.
    #[error("cannot be reached: {0}")]
    Address(#[from] Refusal),
}

#[cfg(test)]
mod disguises;
#[cfg(test)]
mod tests {
    use super::*;

    fn judge(url: &str, exemptions: &str) -> Result<String, UrlRefusal> {
        judge_url(url, &exemptions.parse().expect("exemptions")).map(String::from)
    }

    #[test]
    fn public_https_urls_are_accepted() {
        for good in [
            "https://example.com",
            "https://hooks.example.com:8443/a/b?c=d#e",
            "HTTPS://EXAMPLE.COM/",
            "https://example.com./",
            "https://does-not-exist.invalid/hook",
            "https://notlocalhost.com/",
            "https://example.notlocal/",
            "https://bücher.example/",
            "https://8.8.8.8/hook",
            "https://[2606:4700:4700::1111]/hook",
        ] {
            assert!(judge(good, "").is_ok(), "{good}: {:?}", judge(good, ""));
        }
    }

    #[test]
    fn each_refusal_has_its_reason() {
        let long = format!("https://example.com/{}", "a".repeat(2_048));
        for (bad, why) in [
            ("", UrlRefusal::Malformed),
            ("/hook", UrlRefusal::Malformed),
            ("https://", UrlRefusal::Malformed),
            ("https://exa mple.com/", UrlRefusal::Malformed),
            ("https://1.2.3.4.5/", UrlRefusal::Malformed),
            ("https://127.0.0.1../", UrlRefusal::Malformed),
            ("https://[fe80::1%25eth0]/", UrlRefusal::Malformed),
            (&long, UrlRefusal::TooLong),
            ("http://example.com/", UrlRefusal::Scheme),
            ("ftp://example.com/", UrlRefusal::Scheme),
            ("file:///etc/passwd", UrlRefusal::Scheme),
            ("https://user@example.com/", UrlRefusal::Credentials),
            ("https://:secret@example.com/", UrlRefusal::Credentials),
            ("https://example.com:22/", UrlRefusal::Port),
            ("https://example.com:0/", UrlRefusal::Port),
            ("https://localhost/", UrlRefusal::PrivateName),
            ("https://LOCALHOST./", UrlRefusal::PrivateName),
            ("https://api.localhost:8443/", UrlRefusal::PrivateName),
            ("https://localhost.localdomain/", UrlRefusal::PrivateName),
            ("https://printer.local/", UrlRefusal::PrivateName),
            ("https://metadata.google.internal/", UrlRefusal::PrivateName),
            ("https://router.home.arpa/", UrlRefusal::PrivateName),
            ("https://intranet/", UrlRefusal::PrivateName),
        ] {
            assert_eq!(judge(bad, ""), Err(why), "{bad}");
        }
    }

    #[test]
    fn an_address_in_any_disguise_is_judged_as_what_it_is() {
        for disguised in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://017700000001/",
            "https://0x7f000001/",
            "https://0x7f.0.0.1/",
            "https://0177.0.0.1/",
            "https://127.0.0.1./",
            "https://%31%32%37.0.0.1/",
            "https://①②⑦.0.0.1/",
            "https://127。0。0。1/",
            "https://0/",
            "https://10.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://168.63.129.16/",
            "https://[::1]/",
            "https://[::]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[0:0:0:0:0:ffff:7f00:1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[fe80::1]/",
            "https://[fd00:ec2::254]/",
        ] {
            assert!(
                matches!(judge(disguised, ""), Err(UrlRefusal::Address(_))),
                "{disguised}: {:?}",
                judge(disguised, "")
            );
        }
    }

    #[test]
    fn exemptions_open_a_developers_machine_or_a_private_network() {
        let developer = "127.0.0.0/8,::1/128,http";
        for open in ["http://127.0.0.1:9000/", "http://localhost:9000/", "https://[::1]:9000/", "http://localhost:81/"]
        {
            assert!(judge(open, developer).is_ok(), "{open}: {:?}", judge(open, developer));
        }
        for closed in ["http://receiver:9000/", "http://10.0.0.1/", "https://printer.local/", "ftp://localhost/"] {
            assert!(judge(closed, developer).is_err(), "{closed}");
        }
        for open in ["https://receiver:9000/", "https://hooks.internal/", "https://10.0.0.1/"] {
            assert!(judge(open, "10.0.0.0/8").is_ok(), "{open}: {:?}", judge(open, "10.0.0.0/8"));
        }
        for closed in ["http://10.0.0.1/", "https://localhost/", "https://192.168.0.1/"] {
            assert!(judge(closed, "10.0.0.0/8").is_err(), "{closed}");
        }
    }
}
