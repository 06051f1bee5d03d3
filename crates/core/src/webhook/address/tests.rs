//! Tests every special-purpose block of the registries with its neighbours, and compares the policy with a second implementation that shares nothing
//! with it.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The registry of IPv4, multicast and a cloud's platform address: written down a second time, to detect a row that is not parsed.
const REGISTRY_V4: &[&str] = &[
    "0.0.0.0/8",
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.9/32",
    "192.0.0.10/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.88.99.2/32",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "224.0.0.0/4",
    "168.63.129.16/32",
];

/// The registry of IPv6, multicast and site-local.
const REGISTRY_V6: &[&str] = &[
    "::1/128",
    "::/128",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn blocks() -> Vec<IpNet> {
    REGISTRY_V4.iter().chain(REGISTRY_V6).map(|block| block.parse().expect("a network")).collect()
}

/// Returns all blocks except the one whose addresses are checked as the IPv4 addresses that they map.
fn closed_blocks() -> Vec<IpNet> {
    let mapped: IpNet = "::ffff:0:0/96".parse().expect("a network");
    blocks().into_iter().filter(|block| *block != mapped).collect()
}

/// Checks an address independently of the policy: compares bits and prefixes as text.
fn is_public(address: IpAddr) -> bool {
    let outside = |bits: &str| !blocks().into_iter().any(|block| bits.starts_with(&prefix(block)));
    match address {
        IpAddr::V4(address) => outside(&format!("v4 {:032b}", u32::from(address))),
        IpAddr::V6(address) => {
            let bits = format!("v6 {:0128b}", u128::from(address));
            if let Some(mapped) = bits.strip_prefix(&prefix("::ffff:0:0/96".parse().expect("a network"))) {
                return outside(&format!("v4 {mapped}"));
            }
            let isatap = bits[3 + 64..].strip_prefix("000000").and_then(|bits| {
                let bits = bits.strip_prefix(['0', '1'])?;
                bits.strip_prefix("0000000000101111011111110")
            });
            bits.starts_with("v6 001") && outside(&bits) && isatap.is_none_or(|bits| outside(&format!("v4 {bits}")))
        }
    }
}

fn prefix(block: IpNet) -> String {
    let bits = match block {
        IpNet::V4(net) => format!("v4 {:032b}", u32::from(net.network())),
        IpNet::V6(net) => format!("v6 {:0128b}", u128::from(net.network())),
    };
    bits[..3 + usize::from(block.prefix_len())].to_owned()
}

fn strict() -> AddressPolicy {
    AddressPolicy::default()
}

#[test]
fn the_table_is_what_the_registries_list_and_nothing_else() {
    let table: BTreeSet<IpNet> = SPECIAL.iter().map(|special| special.block).collect();
    assert_eq!(table, blocks().into_iter().collect());
    assert_eq!(SPECIAL.len(), blocks().len());
    let named = |block: &str| {
        let block: IpNet = block.parse().expect("a network");
        SPECIAL.iter().find(|special| special.block == block).map(|special| special.name)
    };
    assert_eq!(named("2002::/16"), Some("6to4"), "a block with a footnote");
    assert_eq!(named("192.0.0.171/32"), Some("NAT64/DNS64 Discovery"), "the second block of a row");
    assert_eq!(named("fe80::/10"), Some("Link-Local Unicast"), "the row after one with a line break in a cell");
}

#[test]
fn both_ends_of_every_special_block_are_refused() {
    for block in closed_blocks() {
        assert!(strict().judge(block.network()).is_err(), "first of {block}");
        assert!(strict().judge(block.broadcast()).is_err(), "last of {block}");
    }
}

#[test]
fn the_public_neighbours_of_special_blocks_are_accepted() {
    for public in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2000::1",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2001:db7:ffff::1",
        "2001:db9::1",
        "2003::1",
        "2606:4700:4700::1111",
        "2620:4f:7fff::1",
        "3fff:1000::1",
        "3ffe:ffff::1",
        "::ffff:8.8.8.8",
        "2606:4700::5efe:8.8.8.8",
    ] {
        assert_eq!(strict().judge(ip(public)), Ok(()), "{public}");
    }
}

#[test]
fn an_ipv4_address_in_disguise_is_judged_by_what_it_is() {
    for disguised in [
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "::8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b:1::10.0.0.1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "::ffff:0:8.8.8.8",
        "2606:4700::5efe:10.0.0.1",
        "2606:4700::200:5efe:169.254.169.254",
    ] {
        assert!(strict().judge(ip(disguised)).is_err(), "{disguised}");
    }
}

#[test]
fn exemptions_open_what_they_name_and_nothing_behind_it() {
    let local: AddressPolicy = "127.0.0.0/8, ::1/128,http".parse().expect("the example of the manual");
    assert!(local.allow_http);
    for open in ["127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1", "8.8.8.8"] {
        assert_eq!(local.judge(ip(open)), Ok(()), "{open}");
    }
    for closed in ["10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "fd00::1", "2002:7f00:1::"] {
        assert!(local.judge(ip(closed)).is_err(), "{closed}");
    }

    // On a network that reaches IPv4 through NAT64 every receiver has such an address, and so does the cloud's metadata service.
    let translated: AddressPolicy = "64:ff9b::/96,2002::/16,2001::/32".parse().expect("networks");
    assert_eq!(translated.judge(ip("64:ff9b::8.8.8.8")), Ok(()));
    for closed in [
        "64:ff9b::169.254.169.254",
        "64:ff9b::10.0.0.1",
        "2002:a00:1::1",
        "2001:0:1:2:3:4:80ff:fffe",
        "::ffff:10.0.0.1",
    ] {
        assert!(translated.judge(ip(closed)).is_err(), "{closed}");
    }
}

#[test]
fn exemptions_are_networks_addresses_and_one_word() {
    let policy: AddressPolicy = "10.1.2.3, fd00::/8,10.0.0.0/8:8080,[fd00::1]:81".parse().expect("exemptions");
    let exemption = |network: &str, port| Exemption { network: network.parse().expect("a network"), port };
    let expected = [
        exemption("10.1.2.3/32", None),
        exemption("fd00::/8", None),
        exemption("10.0.0.0/8", Some(8080)),
        exemption("fd00::1/128", Some(81)),
    ];
    assert_eq!(policy.allow, expected);
    assert!(!policy.allow_http);
    assert_eq!("".parse(), Ok(AddressPolicy::default()));
    for bad in ["10.0.0.0/8:0", "10.0.0.0/8:65536", "10.0.0.0/8:", "localhost:80", "[fd00::/8]"] {
        assert!(bad.parse::<AddressPolicy>().is_err(), "{bad}");
    }
    let refusal = "10.0.0.0/8,localhost".parse::<AddressPolicy>().expect_err("a name is no network");
    assert!(refusal.to_string().starts_with("`localhost` is not"), "{refusal}");
}

#[test]
fn a_refusal_tells_the_kind_and_keeps_the_address_to_itself() {
    let refusal = strict().judge(ip("10.20.30.40")).expect_err("private");
    assert_eq!(refusal.to_string(), "its address is not on the public internet (Private-Use)");
}

/// Returns an address of `block`, with the host part of `bits`.
fn within(block: IpNet, bits: u128) -> IpAddr {
    match block {
        IpNet::V4(net) => Ipv4Addr::from(u32::from(net.network()) | (low_32(bits) & u32::from(net.hostmask()))).into(),
        IpNet::V6(net) => Ipv6Addr::from(u128::from(net.network()) | (bits & u128::from(net.hostmask()))).into(),
    }
}

fn low_32(bits: u128) -> u32 {
    u32::try_from(bits & u128::from(u32::MAX)).expect("32 bits are left")
}

/// Returns the addresses next to a block, `distance` away from its ends.
fn beside(block: IpNet, distance: u32) -> [IpAddr; 2] {
    match block {
        IpNet::V4(net) => [
            Ipv4Addr::from(u32::from(net.network()).wrapping_sub(distance)).into(),
            Ipv4Addr::from(u32::from(net.broadcast()).wrapping_add(distance)).into(),
        ],
        IpNet::V6(net) => [
            Ipv6Addr::from(u128::from(net.network()).wrapping_sub(distance.into())).into(),
            Ipv6Addr::from(u128::from(net.broadcast()).wrapping_add(distance.into())).into(),
        ],
    }
}

/// Generates any address, often one close to a boundary.
fn address() -> impl Strategy<Value = IpAddr> {
    let block = || prop::sample::select(blocks());
    let isatap = |(bits, host): (u128, u32)| {
        let prefix = 0b001 << 125 | bits >> 3 & !u128::from(u64::MAX);
        IpAddr::V6(Ipv6Addr::from(prefix | (bits & 1) << 57 | 0x5efe << 32 | u128::from(host)))
    };
    prop_oneof![
        any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).into()),
        any::<u128>().prop_map(|bits| Ipv6Addr::from(bits).into()),
        // Global unicast.
        any::<u128>().prop_map(|bits| Ipv6Addr::from(0b001 << 125 | bits >> 3).into()),
        any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).to_ipv6_mapped().into()),
        any::<(u128, u32)>().prop_map(isatap),
        (block(), any::<u128>()).prop_map(|(block, bits)| within(block, bits)),
        (block(), 1_u32..4, 0_usize..2).prop_map(|(block, distance, end)| beside(block, distance)[end]),
    ]
}

/// Returns the forms in which translators and tunnels embed an IPv4 address.
fn embeddings(inner: Ipv4Addr) -> [Ipv6Addr; 6] {
    let bits = u128::from(u32::from(inner));
    let under = |prefix: &str| u128::from(prefix.parse::<Ipv6Addr>().expect("a prefix"));
    [
        under("64:ff9b::") | bits,
        under("64:ff9b:1::") | bits,
        under("::ffff:0:0:0") | bits,
        under("2002::1") | bits << 80,
        under("2001:0:808:808::") | !bits & u128::from(u32::MAX),
        under("2606:4700::200:5efe:0:0") | bits,
    ]
    .map(Ipv6Addr::from)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_address_inside_a_special_block_is_ever_accepted(
        block in prop::sample::select(closed_blocks()),
        bits in any::<u128>(),
    ) {
        let inside = within(block, bits);
        prop_assert!(block.contains(&inside));
        prop_assert!(strict().judge(inside).is_err(), "{} of {}", inside, block);
    }

    #[test]
    fn both_judges_agree_on_every_address(address in address()) {
        prop_assert_eq!(strict().judge(address).is_ok(), is_public(address), "{}", address);
    }

    #[test]
    fn outside_2000_3_no_ipv6_address_is_accepted_unless_it_is_an_ipv4_address(bits in any::<u128>()) {
        let address = Ipv6Addr::from(bits);
        let accepted = strict().judge(IpAddr::V6(address)).is_ok();
        prop_assert!(!accepted || GLOBAL_UNICAST.contains(&address));
    }

    #[test]
    fn a_mapped_address_is_judged_like_the_one_it_maps(bits in any::<u32>()) {
        let address = Ipv4Addr::from(bits);
        prop_assert_eq!(strict().judge(address.into()), strict().judge(address.to_ipv6_mapped().into()));
    }

    #[test]
    fn whatever_an_operator_allows_of_ipv6_an_embedded_address_is_judged_as_itself(address in address()) {
        let inner = match address {
            IpAddr::V4(inner) => inner,
            IpAddr::V6(address) => Ipv4Addr::from(low_32(u128::from(address))),
        };
        let all_of_ipv6: AddressPolicy = "::/0".parse().expect("a network");
        for outer in embeddings(inner) {
            prop_assert_eq!(all_of_ipv6.judge(outer.into()), strict().judge(inner.into()), "{}", outer);
        }
    }
}
