//! Which addresses a request to a customer's URL may connect to.
//!
//! Only public addresses: no block of IANA's special-purpose registries ([`registry`]), and of IPv6
//! only global unicast.

mod registry;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv6Net};

use self::registry::SPECIAL;

/// The rules and an operator's exemptions, such as `127.0.0.0/8,10.1.2.3/32:8080,http`.
///
/// An exemption covers only its addresses, on its port or on any, and with `http` also plain http to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Exempt networks.
    pub allow: Vec<Exemption>,
    /// Whether exempt networks may be reached by plain `http`.
    pub allow_http: bool,
}

/// An exempt network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exemption {
    /// Its addresses.
    pub network: IpNet,
    /// The only allowed port; any port if `None`.
    pub port: Option<u16>,
}

/// The destination of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The address.
    pub address: IpAddr,
    /// The port.
    pub port: u16,
    /// Whether the connection is unencrypted.
    pub plain: bool,
}

impl AddressPolicy {
    /// Checks the address of an encrypted connection to an unrestricted port, when it is made.
    ///
    /// An IPv6 address that embeds an IPv4 address leads to that one: both must be allowed.
    ///
    /// # Errors
    /// Why the destination is refused.
    pub fn judge(&self, address: IpAddr) -> Result<(), Refusal> {
        self.judge_on(address, None)
    }

    /// Checks the address of an encrypted connection to a port; see [`AddressPolicy::judge`].
    pub(super) fn judge_on(&self, address: IpAddr, port: Option<u16>) -> Result<(), Refusal> {
        match address {
            IpAddr::V4(address) => self.judge_v4(address, port),
            IpAddr::V6(address) => match (address.to_ipv4_mapped(), embedded_v4(address)) {
                // The same address in another notation.
                (Some(mapped), _) => self.judge_v4(mapped, port),
                (None, Some(embedded)) => self.judge_v4(embedded, port).and(self.judge_v6(address, port)),
                (None, None) => self.judge_v6(address, port),
            },
        }
    }

    fn judge_v4(&self, address: Ipv4Addr, port: Option<u16>) -> Result<(), Refusal> {
        let address = IpAddr::V4(address);
        if self.exempts(address, port) { Ok(()) } else { not_special(address) }
    }

    fn judge_v6(&self, address: Ipv6Addr, port: Option<u16>) -> Result<(), Refusal> {
        if self.exempts(IpAddr::V6(address), port) {
            return Ok(());
        }
        not_special(IpAddr::V6(address))?;
        if GLOBAL_UNICAST.contains(&address) { Ok(()) } else { Err(Refusal { what: "unassigned" }) }
    }

    /// Returns whether an exemption covers this address, on this port or on any.
    pub(super) fn exempts(&self, address: IpAddr, port: Option<u16>) -> bool {
        let applies = |exemption: &&Exemption| exemption.port.is_none() || exemption.port == port;
        self.allow.iter().filter(applies).any(|exemption| exemption.network.contains(&address))
    }

    /// Returns whether an exemption is for one port only.
    pub(super) fn has_ports(&self) -> bool {
        self.allow.iter().any(|exemption| exemption.port.is_some())
    }

    /// Combines these exemptions with those of `more`.
    #[must_use]
    pub fn with(mut self, more: &Self) -> Self {
        self.allow.extend_from_slice(&more.allow);
        self.allow_http |= more.allow_http;
        self
    }

    /// Returns whether `localhost` is allowed. The address that it resolves to is checked too, when the connection is made.
    pub(super) fn allows_loopback(&self) -> bool {
        let usual = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let covers = |network: &IpNet| usual.iter().any(|address| network.contains(address));
        self.allow.iter().any(|exemption| exemption.network.network().is_loopback() || covers(&exemption.network))
    }

    /// Returns whether names of private networks are allowed.
    pub(super) fn allows_private_networks(&self) -> bool {
        self.allow.iter().any(|exemption| !exemption.network.network().is_loopback())
    }
}

/// Returns whether a port is allowed. Ports below 1024 belong to other services; customers' receivers can use any port from 1024.
pub(super) fn is_open_port(port: u16) -> bool {
    matches!(port, 80 | 443 | 1024..)
}

fn not_special(address: IpAddr) -> Result<(), Refusal> {
    match SPECIAL.iter().find(|special| special.block.contains(&address)) {
        Some(special) => Err(Refusal { what: special.name }),
        None => Ok(()),
    }
}

/// Parses `SWITCHHOOK_WEBHOOK_ALLOW`: networks in CIDR notation or single addresses, with or without a port, and the word `http`,
/// comma-separated. IPv6 with a port is written `[fd00::/8]:8080`.
impl FromStr for AddressPolicy {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut policy = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            if entry == "http" {
                policy.allow_http = true;
                continue;
            }
            policy.allow.push(exemption(entry).ok_or_else(|| ParsePolicyError { entry: entry.to_owned() })?);
        }
        Ok(policy)
    }
}

fn exemption(entry: &str) -> Option<Exemption> {
    let network = |text: &str| text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).ok();
    if let Some(network) = network(entry) {
        return Some(Exemption { network, port: None });
    }
    let (text, port) = entry.rsplit_once(':')?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    // Without brackets, a colon can be part of an IPv6 address.
    let network = network(bare.unwrap_or(text)).filter(|network| bare.is_some() || network.addr().is_ipv4())?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    Some(Exemption { network, port: Some(port) })
}

/// An exemption is malformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}` is not a network such as 10.0.0.0/8 or 10.0.0.0/8:8080, an address, or the word http")]
pub struct ParsePolicyError {
    entry: String,
}

/// The address is not public. The sentence names the kind of address but not the address, which an internal name server may
/// have returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its address is not on the public internet ({what})")]
pub struct Refusal {
    what: &'static str,
}

/// IPv6 global unicast (RFC 4291 section 2.4).
const GLOBAL_UNICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Returns the IPv4 address that a translator or tunnel would derive from an IPv6 address; excludes mapped addresses.
///
/// All but ISATAP's lie in refused blocks; for these, an exemption for such a block must not expose
/// the private IPv4 networks behind it.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Compatible (RFC 4291 section 2.5.5.1), but neither `::` nor `::1`.
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => from(high, low),
        // Translated (RFC 2765 section 2.1).
        [0, 0, 0, 0, 0xffff, 0, high, low] => from(high, low),
        // NAT64 with its well-known prefix (RFC 6052), and with a /96 of the local one (RFC 8215).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 1, _, _, _, high, low] => from(high, low),
        // 6to4 (RFC 3056 section 2).
        [0x2002, high, low, ..] => from(high, low),
        // Teredo: the client's address, inverted (RFC 4380 section 4).
        [0x2001, 0, _, _, _, _, high, low] => from(!high, !low),
        // ISATAP, under any prefix (RFC 5214 section 6.1).
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => from(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
