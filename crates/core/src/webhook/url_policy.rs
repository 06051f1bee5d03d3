//! Rules for URLs to which customers can have requests sent.
//!
//! This early check covers the URL itself. Its resolved addresses are checked by
//! [`AddressPolicy::judge`] at registration and again for every connection.

use std::net::IpAddr;

use url::{Host, Url};

use super::address::{AddressPolicy, Destination, Refusal, is_open_port};
use crate::entered::{is_blank, trimmed};

const MAX_LENGTH: usize = 2048;

/// Names of the machine itself (RFC 6761 section 6.3).
const LOCAL_NAMES: &[&str] = &["localhost", "localdomain"];

/// Suffixes of names in private networks: multicast DNS (RFC 6762), `.internal` (ICANN,
/// 2024), home networks (RFC 8375), Tor (RFC 7686), and unofficial ones of routers and companies.
const PRIVATE_SUFFIXES: &[&str] =
    &["local", "internal", "home.arpa", "onion", "intranet", "private", "corp", "home", "lan"];

/// Normalises a URL that a person entered for storage: no blanks around it, and everything as requests use it.
///
/// Parsers of URLs forgive what browsers forgive, such as tabs within, backslashes and a missing `//`; what is stored must not
/// depend on that.
///
/// # Errors
/// A sentence for the person who entered the URL.
pub fn entered_url(text: &str) -> Result<String, UrlRefusal> {
    let text = trimmed(text);
    if text.contains(|c| is_blank(c) || c == '\\') {
        return Err(UrlRefusal::Characters);
    }
    let rest = text.split_once("://").map(|(_, rest)| rest).ok_or(UrlRefusal::Malformed)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err(UrlRefusal::Malformed);
    }
    let url = String::from(Url::parse(text).map_err(|_| UrlRefusal::Malformed)?);
    // An empty path stays one: people compare the address with what they entered.
    Ok(if url.strip_suffix('/') == Some(text) { text.to_owned() } else { url })
}

/// Checks a URL without DNS.
///
/// Parses the host like a browser (WHATWG URL), so an address in any notation (`https://2130706433/`,
/// `https://0x7f.1/`, `https://①②⑦.0.0.1/`) is checked as the address it means.
///
/// # Errors
/// A sentence for the person who entered the URL.
pub fn judge_url(text: &str, policy: &AddressPolicy) -> Result<Url, UrlRefusal> {
    if text.len() > MAX_LENGTH {
        return Err(UrlRefusal::TooLong);
    }
    let url = Url::parse(text).map_err(|_| UrlRefusal::Malformed)?;
    judge_scheme(&url, policy)?;
    let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(UrlRefusal::Port)?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRefusal::Credentials);
    }
    match url.host().ok_or(UrlRefusal::Malformed)? {
        Host::Domain(name) => {
            judge_name(name, policy)?;
            // Its address may be exempt.
            if !is_open_port(port) && policy.allow.is_empty() {
                return Err(UrlRefusal::Port);
            }
        }
        Host::Ipv4(address) => policy.judge_destination(destination(&url, IpAddr::V4(address), port))?,
        Host::Ipv6(address) => policy.judge_destination(destination(&url, IpAddr::V6(address), port))?,
    }
    Ok(url)
}

impl AddressPolicy {
    /// Checks a destination: address, port and encryption.
    ///
    /// # Errors
    /// Why the destination is refused.
    pub fn judge_destination(&self, to: Destination) -> Result<(), UrlRefusal> {
        self.judge_on(to.address, Some(to.port))?;
        let exempt = self.exempts(to.address.to_canonical(), Some(to.port));
        if to.plain && !(exempt && self.allow_http) {
            return Err(UrlRefusal::Scheme);
        }
        if exempt || is_open_port(to.port) { Ok(()) } else { Err(UrlRefusal::Port) }
    }
}

fn destination(url: &Url, address: IpAddr, port: u16) -> Destination {
    Destination { address, port, plain: url.scheme() == "http" }
}

/// Checks an address of the host of a URL that [`judge_url`] accepted.
///
/// # Errors
/// Why the destination is refused.
pub fn judge_address(url: &Url, address: IpAddr, policy: &AddressPolicy) -> Result<(), UrlRefusal> {
    let port = url.port_or_known_default().ok_or(UrlRefusal::Port)?;
    policy.judge_destination(destination(url, address, port))
}

/// Returns whether [`judge_address`] must check a URL's addresses instead of [`AddressPolicy::judge`]: its scheme or port is allowed for exempt
/// addresses only, or an address may be exempt on this port.
#[must_use]
pub fn depends_on_exemptions(url: &Url, policy: &AddressPolicy) -> bool {
    let named = matches!(url.host(), Some(Host::Domain(_)));
    let open = url.port_or_known_default().is_some_and(is_open_port);
    named && (url.scheme() == "http" || !open || policy.has_ports())
}

fn judge_scheme(url: &Url, policy: &AddressPolicy) -> Result<(), UrlRefusal> {
    match url.scheme() {
        "https" => Ok(()),
        "http" if policy.allow_http && !policy.allow.is_empty() => Ok(()), // Its address must be exempt too.
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

/// Why a URL is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    /// It is not an absolute URL with a host.
    #[error("must be an absolute URL, such as https://example.com/hooks")]
    Malformed,
    /// It holds characters that no URL has.
    #[error("must not contain blanks, line breaks, control characters or backslashes")]
    Characters,
    /// It is too long.
    #[error("must be at most {MAX_LENGTH} characters")]
    TooLong,
    /// It is not `https`.
    #[error("must start with https://")]
    Scheme,
    /// It contains a user name or password.
    #[error("must not contain a user name or password; deliveries are authenticated by their signature")]
    Credentials,
    /// Its port belongs to another service.
    #[error("must use port 443, 80, or 1024 and above")]
    Port,
    /// Its host does not have a public name.
    #[error("must have a public host name; localhost and names of private networks are not allowed")]
    PrivateName,
    /// Its host is a non-public address.
    #[error("cannot be reached: {0}")]
    Address(#[from] Refusal),
}

#[cfg(test)]
mod disguises;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_entered_is_stored_as_it_is_used_or_refused() {
        for (text, stored) in [
            ("https://example.com", Ok("https://example.com")),
            ("https://example.com/hooks?a=b", Ok("https://example.com/hooks?a=b")),
            ("https://example.com:8443/x", Ok("https://example.com:8443/x")),
            ("  https://example.com/hooks\r\n", Ok("https://example.com/hooks")),
            ("\u{feff}https://example.com/hooks\u{200b}", Ok("https://example.com/hooks")),
            ("HTTPS://Example.COM/Hooks", Ok("https://example.com/Hooks")),
            ("https://example.com:443/x", Ok("https://example.com/x")),
            ("https://b\u{fc}cher.example/x", Ok("https://xn--bcher-kva.example/x")),
            ("https://example.com/a/../hooks/./x", Ok("https://example.com/hooks/x")),
            ("https://example.com/a/%2e%2e/hooks", Ok("https://example.com/hooks")),
            ("https://example.com/b\u{fc}cher", Ok("https://example.com/b%C3%BCcher")),
            ("https://example.com?a=b", Ok("https://example.com/?a=b")),
            ("https://exam\tple.com/hooks", Err(UrlRefusal::Characters)),
            ("https://example.com/ho\noks", Err(UrlRefusal::Characters)),
            ("https://example.com/my hooks", Err(UrlRefusal::Characters)),
            ("https:\\\\example.com\\hooks", Err(UrlRefusal::Characters)),
            ("https://example.com\\hooks", Err(UrlRefusal::Characters)),
            ("https:example.com/hooks", Err(UrlRefusal::Malformed)),
            ("https:/example.com/hooks", Err(UrlRefusal::Malformed)),
            ("https:///example.com/hooks", Err(UrlRefusal::Malformed)),
            ("example.com/hooks", Err(UrlRefusal::Malformed)),
            ("", Err(UrlRefusal::Malformed)),
        ] {
            assert_eq!(entered_url(text), stored.map(str::to_owned), "{text:?}");
        }
    }

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
        for closed in [
            "http://receiver:9000/",
            "http://10.0.0.1/",
            "http://8.8.8.8/",
            "https://8.8.8.8:22/",
            "https://printer.local/",
            "ftp://localhost/",
        ] {
            assert!(judge(closed, developer).is_err(), "{closed}");
        }
        for open in ["https://receiver:9000/", "https://hooks.internal/", "https://10.0.0.1/"] {
            assert!(judge(open, "10.0.0.0/8").is_ok(), "{open}: {:?}", judge(open, "10.0.0.0/8"));
        }
        for closed in ["http://10.0.0.1/", "https://localhost/", "https://192.168.0.1/"] {
            assert!(judge(closed, "10.0.0.0/8").is_err(), "{closed}");
        }
        for wide in ["0.0.0.0/0,::/0,http", "0.0.0.0/0,http", "::/0,http", "126.0.0.0/7:9000,http"] {
            assert!(
                judge("http://localhost:9000/", wide).is_ok(),
                "{wide}: {:?}",
                judge("http://localhost:9000/", wide)
            );
        }
        for beside in ["128.0.0.0/1,http", "fc00::/7,http", "::2/127,http"] {
            assert_eq!(judge("http://localhost:9000/", beside), Err(UrlRefusal::PrivateName), "{beside}");
        }
        let one_port = "10.0.0.0/8:8080,[fd00::/8]:22,http";
        for open in ["http://10.0.0.1:8080/", "https://10.0.0.1:8080/", "https://[fd00::1]:22/"] {
            assert!(judge(open, one_port).is_ok(), "{open}: {:?}", judge(open, one_port));
        }
        for closed in ["http://10.0.0.1/", "https://10.0.0.1:8081/", "https://[fd00::1]/", "http://8.8.8.8:8080/"] {
            assert!(judge(closed, one_port).is_err(), "{closed}");
        }
    }

    #[test]
    fn an_exemption_lifts_nothing_for_public_hosts() {
        let policy: AddressPolicy = "10.0.0.0/8:8080,127.0.0.0/8,http".parse().expect("exemptions");
        let judge = |url: &str, address: &str| {
            let url = judge_url(url, &policy).expect("to be decided by its address");
            assert!(depends_on_exemptions(&url, &policy), "{url}");
            judge_address(&url, address.parse().expect("an address"), &policy)
        };
        let table = [
            ("http://hooks.example.com/", "8.8.8.8", Err(UrlRefusal::Scheme)),
            ("https://hooks.example.com:22/", "8.8.8.8", Err(UrlRefusal::Port)),
            ("https://hooks.example.com:22/", "127.0.0.1", Ok(())),
            ("http://hooks.example.com/", "127.0.0.1", Ok(())),
            ("http://hooks.example.com:8080/", "10.0.0.1", Ok(())),
        ];
        for (url, address, expected) in table {
            assert_eq!(judge(url, address), expected, "{url} at {address}");
        }
        assert!(matches!(judge("https://hooks.example.com/", "10.0.0.1"), Err(UrlRefusal::Address(_))), "another port");
    }
}
