//! Which addresses an outgoing request may connect to when a customer chose the destination.
//!
//! Only addresses of the public internet, by the special-purpose registries of IANA
//! (<https://www.iana.org/assignments/iana-ipv4-special-registry>, `…/iana-ipv6-special-registry`). Blocks that the
//! registries call globally reachable but that no receiver lives in (relays, sinks) are refused with the others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

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
        if self.exempts(IpAddr::V4(address)) {
            return Ok(());
        }
        match SPECIAL_V4.iter().find(|(block, _)| block.contains(&address)) {
            Some((_, what)) => Err(Refusal { what }),
            None => Ok(()),
        }
    }

    fn judge_v6(&self, address: Ipv6Addr) -> Result<(), Refusal> {
        if self.exempts(IpAddr::V6(address)) {
            return Ok(());
        }
        match SPECIAL_V6.iter().find(|(block, _)| block.contains(&address)) {
            Some((_, what)) => Err(Refusal { what }),
            None if GLOBAL_UNICAST.contains(&address) => Ok(()),
            None => Err(Refusal { what: "not assigned to anybody" }),
        }
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
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

const fn v4(octets: [u8; 4], length: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(segments: [u16; 8], length: u8) -> Ipv6Net {
    let [a, b, c, d, e, f, g, h] = segments;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), length)
}

const SPECIAL_V4: &[(Ipv4Net, &str)] = &[
    (v4([0, 0, 0, 0], 8), "this network, RFC 791"),
    (v4([10, 0, 0, 0], 8), "private use, RFC 1918"),
    (v4([100, 64, 0, 0], 10), "shared by a provider's customers, RFC 6598"),
    (v4([127, 0, 0, 0], 8), "loopback, RFC 1122"),
    (v4([168, 63, 129, 16], 32), "platform services of a cloud"),
    (v4([169, 254, 0, 0], 16), "link-local, RFC 3927, with the metadata services of clouds"),
    (v4([172, 16, 0, 0], 12), "private use, RFC 1918"),
    (v4([192, 0, 0, 0], 24), "protocol assignments, RFC 6890"),
    (v4([192, 0, 2, 0], 24), "documentation, RFC 5737"),
    (v4([192, 31, 196, 0], 24), "sink for stray name queries, RFC 7535"),
    (v4([192, 52, 193, 0], 24), "multicast relays, RFC 7450"),
    (v4([192, 88, 99, 0], 24), "6to4 relays, RFC 7526"),
    (v4([192, 168, 0, 0], 16), "private use, RFC 1918"),
    (v4([192, 175, 48, 0], 24), "sink for stray name queries, RFC 7534"),
    (v4([198, 18, 0, 0], 15), "benchmarks, RFC 2544"),
    (v4([198, 51, 100, 0], 24), "documentation, RFC 5737"),
    (v4([203, 0, 113, 0], 24), "documentation, RFC 5737"),
    (v4([224, 0, 0, 0], 4), "multicast, RFC 5771"),
    (v4([240, 0, 0, 0], 4), "reserved, RFC 1112, with the broadcast address"),
];

/// The special blocks, those outside [`GLOBAL_UNICAST`] for the sake of a telling reason only.
const SPECIAL_V6: &[(Ipv6Net, &str)] = &[
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), "loopback, RFC 4291"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), "unspecified, RFC 4291"),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), "IPv4 behind a translator, RFC 6052"),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "IPv4 behind a translator, RFC 8215"),
    (v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "discarded, RFC 6666"),
    (v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64), "dummy prefix, RFC 9780"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "protocol assignments, RFC 2928, with Teredo"),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "documentation, RFC 3849"),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "6to4, RFC 3056"),
    (v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), "sink for stray name queries, RFC 7534"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "documentation, RFC 9637"),
    (v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), "segment routing, RFC 9602"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "unique local, RFC 4193"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "link-local, RFC 4291"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "site-local, RFC 3879"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "multicast, RFC 4291"),
];

/// The IPv4 address that a translator or tunnel would make of an IPv6 address. Mapped addresses are not meant.
///
/// All of these lie in refused blocks; what matters here is that an exemption for such a block does not open the
/// private IPv4 networks behind it.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Compatible (RFC 4291 section 2.5.5.1), but neither `::` nor `::1`.
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => from(high, low),
        // NAT64 with its well-known prefix (RFC 6052), and with a /96 of the local one (RFC 8215).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 1, _, _, _, high, low] => from(high, low),
        // 6to4 (RFC 3056 section 2).
        [0x2002, high, low, ..] => from(high, low),
        // Teredo: the client's address, inverted (RFC 4380 section 4).
        [0x2001, 0, _, _, _, _, high, low] => from(!high, !low),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
