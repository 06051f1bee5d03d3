//! IANA's special-purpose address registries (RFC 6890) as of 2026-07-18, and blocks that they omit.
//!
//! The two files are the registries as IANA publishes them, from a public copy of that day. To update them, replace the files with
//! <https://www.iana.org/assignments/iana-ipv4-special-registry/iana-ipv4-special-registry-1.csv> and
//! <https://www.iana.org/assignments/iana-ipv6-special-registry/iana-ipv6-special-registry-1.csv>, and add new blocks to the
//! list in the tests.
//!
//! Every block counts, including those that the registry calls globally reachable, because no customer has a receiver there. They
//! are anycast services of the sender's own network (its port mapper, its TURN server), sinks for stray queries (AS112), relays,
//! translators, and identifiers that are not locations.

use std::sync::LazyLock;

use ipnet::IpNet;

/// A block of addresses that are not public hosts.
pub(super) struct Special {
    /// The addresses.
    pub(super) block: IpNet,
    /// Their purpose.
    pub(super) name: &'static str,
}

/// Multicast and site-local have registries of their own or none; the last address serves the virtual machines of a
/// cloud and lies among public ones.
const UNREGISTERED: [(&str, &str); 4] = [
    ("224.0.0.0/4", "Multicast"),
    ("ff00::/8", "Multicast"),
    ("fec0::/10", "Site-Local Unicast"),
    ("168.63.129.16/32", "Platform services of a cloud"),
];

/// Returns every special block, of IPv4 and IPv6.
pub(super) static SPECIAL: LazyLock<Vec<Special>> = LazyLock::new(|| {
    let registries =
        [include_str!("iana-ipv4-special-registry-1.csv"), include_str!("iana-ipv6-special-registry-1.csv")];
    let beyond = UNREGISTERED.into_iter().map(|(block, name)| special(block, name));
    registries.into_iter().flat_map(blocks).chain(beyond).collect()
});

/// Parses a registry. Its first two columns are the blocks, comma-separated, each possibly with a footnote number
/// (`192.0.0.0/24 [2]`), and the name.
fn blocks(csv: &'static str) -> impl Iterator<Item = Special> {
    outside_quotes(csv, '\n').skip(1).filter(|row| !row.trim().is_empty()).flat_map(|row| {
        let mut cells = outside_quotes(row, ',').map(|cell| cell.trim_matches('"'));
        let (blocks, name) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        blocks.split(',').map(move |block| special(block.split('[').next().unwrap_or_default().trim(), name))
    })
}

fn special(block: &str, name: &'static str) -> Special {
    Special { block: block.parse().expect("the registries, which a test reads, hold networks"), name }
}

/// Splits CSV (RFC 4180); quoted fields can contain the separator.
fn outside_quotes(text: &'static str, separator: char) -> impl Iterator<Item = &'static str> {
    let mut quoted = false;
    text.split(move |character| {
        quoted ^= character == '"';
        !quoted && character == separator
    })
}
