//! Which addresses an outgoing request may connect to when a customer chose the destination.
//!
//! Only addresses of the public internet: no block of IANA's special-purpose registries ([`registry`]), and of IPv6
//! only what is given out to networks.

mod registry;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv6Net};

use self::registry::SPECIAL;

/// The rules and an operator's exemptions from them, such as `127.0.0.0/8,::1/128,http`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Networks that are allowed although they are not public.
    pub allow: Vec<IpNet>,
    /// Whether URLs may be `http`.
    pub allow_http: bool,
}

impl AddressPolicy {
    /// Judges the address of one connection, at the moment it is made.
    ///
    /// An IPv6 address that carries an IPv4 address leads to that one: both must be acceptable.
    ///
    /// # Errors
    /// Why nothing may be sent there.
    pub fn judge(&self, address: IpAddr) -> Result<(), Refusal> {
        match address {
            IpAddr::V4(address) => self.judge_v4(address),
            IpAddr::V6(address) => match (address.to_ipv4_mapped(), embedded_v4(address)) {
                // The same destination in another notation.
                (Some(mapped), _) => self.judge_v4(mapped),
                (None, Some(embedded)) => self.judge_v4(embedded).and(self.judge_v6(address)),
                (None, None) => self.judge_v6(address),
            },
        }
    }

    fn judge_v4(&self, address: Ipv4Addr) -> Result<(), Refusal> {
        let address = IpAddr::V4(address);
        if self.exempts(address) { Ok(()) } else { not_special(address) }
    }

    fn judge_v6(&self, address: Ipv6Addr) -> Result<(), Refusal> {
        if self.exempts(IpAddr::V6(address)) {
            return Ok(());
        }
        not_special(IpAddr::V6(address))?;
        if GLOBAL_UNICAST.contains(&address) { Ok(()) } else { Err(Refusal { what: "not assigned to anybody" }) }
    }

    fn exempts(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|network| network.contains(&address))
    }

    /// Whether `localhost` may be named.
    pub(super) fn allows_loopback(&self) -> bool {
        self.allow.iter().any(|network| network.network().is_loopback())
    }

    /// Whether names of private networks may be used.
    pub(super) fn allows_private_networks(&self) -> bool {
        self.allow.iter().any(|network| !network.network().is_loopback())
    }
}

fn not_special(address: IpAddr) -> Result<(), Refusal> {
    match SPECIAL.iter().find(|special| special.block.contains(&address)) {
        Some(special) => Err(Refusal { what: special.name }),
        None => Ok(()),
    }
}

/// Reads `SWITCHHOOK_WEBHOOK_ALLOW`: networks in CIDR notation, single addresses and the word `http`, comma-separated.
impl FromStr for AddressPolicy {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut policy = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            if entry == "http" {
                policy.allow_http = true;
                continue;
            }
            let network = entry.parse().or_else(|_| entry.parse::<IpAddr>().map(IpNet::from));
            policy.allow.push(network.map_err(|_| ParsePolicyError { entry: entry.to_owned() })?);
        }
        Ok(policy)
    }
}

/// An entry of the exemptions cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}` is neither a network such as 10.0.0.0/8, nor an address, nor the word http")]
pub struct ParsePolicyError {
    entry: String,
}

/// The address is not public. The sentence names the kind of address and not the address, which may be the answer of
/// an internal name server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its address is not on the public internet ({what})")]
pub struct Refusal {
    what: &'static str,
}

/// The part of IPv6 that is given out to networks (RFC 4291 section 2.4).
const GLOBAL_UNICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The IPv4 address that a translator or tunnel would make of an IPv6 address. Mapped addresses are not meant.
///
/// All but those of ISATAP lie in refused blocks; for these it matters that an exemption for such a block does not open
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
