//! Spellings of an address in a URL: each of them is checked as the address that it leads to.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

/// The notation of one part of an IPv4 address (WHATWG URL, "IPv4 number parser").
#[derive(Clone, Copy, Debug)]
enum Radix {
    Decimal,
    Octal,
    Hexadecimal,
    UpperHexadecimal,
}

/// The encoding of a host's characters; all of it is undone before the host is parsed (WHATWG URL, "host parser").
#[derive(Clone, Copy, Debug)]
enum Script {
    Plain,
    PercentEncoded,
    FullWidth,
    Circled,
}

/// A spelling of an IPv4 address.
#[derive(Clone, Debug)]
struct Disguise {
    /// The number of parts, from 1 to 4: the last one holds the rest of the address.
    parts: usize,
    radixes: [Radix; 4],
    zeros: usize,
    scripts: [Script; 4],
    dot: char,
    trailing_dot: bool,
}

fn disguise() -> impl Strategy<Value = Disguise> {
    use {Radix::*, Script::*};
    let radix = prop::sample::select(vec![Decimal, Octal, Hexadecimal, UpperHexadecimal]);
    let script = prop::sample::select(vec![Plain, PercentEncoded, FullWidth, Circled]);
    let (radixes, scripts) = (prop::array::uniform4(radix), prop::array::uniform4(script));
    let dot = prop::sample::select(vec!['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']);
    (1_usize..=4, radixes, 0_usize..3, scripts, dot, any::<bool>()).prop_map(
        |(parts, radixes, zeros, scripts, dot, trailing_dot)| Disguise {
            parts,
            radixes,
            zeros,
            scripts,
            dot,
            trailing_dot,
        },
    )
}

impl Disguise {
    fn write(&self, address: Ipv4Addr) -> String {
        let bits = u32::from(address);
        let mut numbers: Vec<u32> = address.octets()[..self.parts - 1].iter().map(|octet| u32::from(*octet)).collect();
        numbers.push(bits & u32::MAX >> (8 * (self.parts - 1)));
        let mut host = String::new();
        for (at, number) in numbers.into_iter().enumerate() {
            if at > 0 {
                host.push(self.dot);
            }
            host.extend(self.number(number, at).chars().map(|character| self.scripts[at].write(character)));
        }
        if self.trailing_dot {
            host.push(self.dot);
        }
        host
    }

    fn number(&self, number: u32, at: usize) -> String {
        let zeros = "0".repeat(self.zeros);
        match self.radixes[at] {
            Radix::Decimal => number.to_string(),
            Radix::Octal => format!("0{zeros}{number:o}"),
            Radix::Hexadecimal => format!("0x{zeros}{number:x}"),
            Radix::UpperHexadecimal => format!("0X{zeros}{number:X}"),
        }
    }
}

impl Script {
    fn write(self, character: char) -> String {
        let code = u32::from(character);
        match (self, character) {
            (Self::PercentEncoded, _) => format!("%{code:02x}"),
            (Self::FullWidth, _) => char::from_u32(code - 0x20 + 0xff00).map_or_else(String::new, String::from),
            (Self::Circled, '1'..='9') => char::from_u32(code - 0x31 + 0x2460).map_or_else(String::new, String::from),
            (Self::Circled | Self::Plain, _) => character.to_string(),
        }
    }
}

/// Writes an IPv6 address in brackets, in one of its spellings.
fn write_v6(address: Ipv6Addr, form: usize) -> String {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let [.., w, x, y, z] = address.octets();
    match form {
        0 => format!("[{address}]"),
        1 => format!("[{a:04x}:{b:04X}:{c:04x}:{d:04X}:{e:04x}:{f:04X}:{g:04x}:{h:04X}]"),
        2 => format!("[{a:x}:{b:x}:{c:x}:{d:x}:{e:x}:{f:x}:{g:x}:{h:x}]"),
        _ => format!("[{a:x}:{b:x}:{c:x}:{d:x}:{e:x}:{f:x}:{w}.{x}.{y}.{z}]"),
    }
}

/// Generates loopback, private, metadata and public addresses in equal measure.
fn v4() -> impl Strategy<Value = Ipv4Addr> {
    let any_of = |first: [u8; 2]| any::<[u8; 2]>().prop_map(move |[c, d]| Ipv4Addr::new(first[0], first[1], c, d));
    prop_oneof![
        any_of([127, 0]),
        any_of([10, 1]),
        any_of([192, 168]),
        Just(Ipv4Addr::new(169, 254, 169, 254)),
        Just(Ipv4Addr::UNSPECIFIED),
        any_of([8, 8]),
        any::<u32>().prop_map(Ipv4Addr::from),
    ]
}

fn judge(url: &str) -> Result<Url, UrlRefusal> {
    judge_url(url, &AddressPolicy::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn an_ipv4_address_is_judged_as_what_it_is_however_it_is_written(address in v4(), disguise in disguise()) {
        let url = format!("https://{}/hook", disguise.write(address));
        match AddressPolicy::default().judge(address.into()) {
            Ok(()) => {
                let accepted = judge(&url).map(|url| url.host().map(|host| host.to_owned()));
                prop_assert_eq!(accepted, Ok(Some(Host::Ipv4(address))), "{}", url);
            }
            Err(refusal) => prop_assert_eq!(judge(&url).err(), Some(UrlRefusal::Address(refusal)), "{}", url),
        }
    }

    #[test]
    fn an_ipv6_address_is_judged_as_what_it_is_however_it_is_written(
        bits in any::<u128>(), mapped in prop::option::of(v4()), form in 0_usize..4,
    ) {
        let address = mapped.map_or(Ipv6Addr::from(0b001 << 125 | bits >> 3), |address| address.to_ipv6_mapped());
        let written = write_v6(address, form);
        let verdict = judge(&format!("https://{written}:8443/")).map(drop);
        prop_assert_eq!(verdict, AddressPolicy::default().judge(address.into()).map_err(UrlRefusal::Address), "{}", written);
        prop_assert_eq!(judge(&format!("https://{}%25eth0]/", written.trim_end_matches(']'))), Err(UrlRefusal::Malformed));
        prop_assert_eq!(judge(&format!("https://{}%eth0]/", written.trim_end_matches(']'))), Err(UrlRefusal::Malformed));
    }

    /// `https://good.example@10.0.0.1/` and the like: what looks like the host is a user name.
    #[test]
    fn userinfo_does_not_disguise_the_host(address in v4(), disguise in disguise()) {
        let host = disguise.write(address);
        for url in [
            format!("https://example.com@{host}/"),
            format!("https://example.com:443@{host}/"),
            format!("https://{host}@example.com/"),
            format!("https://example.com%40{host}/"),
            format!("https:\\\\example.com@{host}\\"),
        ] {
            prop_assert!(judge(&url).is_err(), "{}", url);
        }
    }

    /// Any host: one that is an address has been checked, and one that ends in a number is an address.
    #[test]
    fn no_accepted_url_leads_to_an_address_that_is_not_public(host in r"[0-9a-fxX.:%\[\]@/\\?#①。\t-]{1,40}") {
        if let Ok(url) = judge(&format!("https://{host}/")) {
            match url.host() {
                Some(Host::Ipv4(address)) => prop_assert_eq!(AddressPolicy::default().judge(address.into()), Ok(())),
                Some(Host::Ipv6(address)) => prop_assert_eq!(AddressPolicy::default().judge(address.into()), Ok(())),
                Some(Host::Domain(name)) => {
                    let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
                    prop_assert!(last.bytes().any(|byte| !byte.is_ascii_digit()), "{}", name);
                }
                None => prop_assert!(false, "{} has no host", url),
            }
        }
    }
}
