//! Finds the session of a packet. Strangers can send anything to a public port; a packet for no session costs one table look-up.

use std::collections::HashMap;
use std::net::SocketAddr;

/// The maximum number of addresses for one session: a browser tries each of its networks.
pub(crate) const SOURCES: usize = 16;
/// The magic cookie of a STUN message, after its type and length.
const COOKIE: [u8; 4] = 0x2112_A442_u32.to_be_bytes();
const HEADER: usize = 20;
/// The attribute with the credentials of both sides, the receiver's first.
const USERNAME: u16 = 0x0006;

/// The sessions of a socket, by the name that the browser must send, and by the addresses from which it did.
pub(crate) struct Routes<T> {
    by_name: HashMap<String, (u64, T)>,
    by_source: HashMap<SocketAddr, (u64, T)>,
}

impl<T> Default for Routes<T> {
    fn default() -> Self {
        Self { by_name: HashMap::new(), by_source: HashMap::new() }
    }
}

impl<T: Clone> Routes<T> {
    /// Returns the session of a packet, if there is one.
    pub(crate) fn find(&self, source: SocketAddr, packet: &[u8]) -> Option<&T> {
        let found = match named(packet) {
            Some(name) => self.by_name.get(name),
            None => self.by_source.get(&source),
        };
        found.map(|(_, session)| session)
    }

    /// Adds a session.
    pub(crate) fn add(&mut self, id: u64, name: String, session: T) {
        self.by_name.insert(name, (id, session));
    }

    /// Adds an address at which a session's browser has proved that it knows the session's password. An address of another session stays with it: a
    /// peer that knows one password may still forge addresses.
    pub(crate) fn add_source(&mut self, id: u64, source: SocketAddr) {
        let Some(session) = self.by_name.values().find(|(known, _)| *known == id).map(|(_, session)| session.clone())
        else {
            return;
        };
        self.by_source.entry(source).or_insert((id, session));
    }

    /// Removes a session with all its addresses.
    pub(crate) fn remove(&mut self, id: u64) {
        self.by_name.retain(|_, (known, _)| *known != id);
        self.by_source.retain(|_, (known, _)| *known != id);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.by_name.len(), self.by_source.len())
    }
}

/// Returns the receiver's name in a STUN message, if present. Reads no more than necessary, and nothing beyond the packet.
pub(crate) fn named(packet: &[u8]) -> Option<&str> {
    let (header, mut attributes) = packet.split_at_checked(HEADER)?;
    if header[0] > 3 || header[4..8] != COOKIE {
        return None;
    }
    loop {
        let (head, rest) = attributes.split_at_checked(4)?;
        let (kind, length) = (u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([head[2], head[3]]));
        let (value, _) = rest.split_at_checked(length.into())?;
        if kind == USERNAME {
            let (ours, _) = std::str::from_utf8(value).ok()?.split_once(':')?;
            return Some(ours);
        }
        attributes = rest.get(usize::from(length).next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || vec![vec![tests::request("ours:theirs")], vec![tests::request("a:b"), tests::request("ours:theirs")]],
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |packet| named(packet).map(str::len).ok_or("it names nobody"))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a binding request with this user name, after an irrelevant attribute.
    pub(super) fn request(name: &str) -> Vec<u8> {
        let mut attributes = vec![0x80, 0x22, 0, 3, b'a', b'b', b'c', 0];
        let length = u8::try_from(name.len()).expect("short");
        attributes.extend([0, 6, 0, length]);
        attributes.extend(name.bytes());
        attributes.resize(attributes.len().next_multiple_of(4), 0);
        let length = u8::try_from(attributes.len()).expect("short");
        let mut packet = vec![0, 1, 0, length];
        packet.extend(COOKIE);
        packet.extend([7; 12]);
        packet.extend(attributes);
        packet
    }

    fn source(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[test]
    fn stun_is_found_by_its_name_and_all_else_by_its_source() {
        let mut routes = Routes::default();
        routes.add(1, "ours".to_owned(), "first");
        routes.add(2, "other".to_owned(), "second");
        assert_eq!(routes.find(source(1), &request("ours:x")), Some(&"first"));
        assert_eq!(routes.find(source(1), &request("other:x")), Some(&"second"));
        assert_eq!(routes.find(source(1), &request("nobody:x")), None);
        assert_eq!(routes.find(source(1), &[0x80; 100]), None, "nobody has shown a password there");
        routes.add_source(1, source(1));
        assert_eq!(routes.find(source(1), &[0x80; 100]), Some(&"first"));
        assert_eq!(routes.find(source(1), &request("nobody:x")), None, "a name says more than an address");
        routes.add_source(2, source(1));
        assert_eq!(routes.find(source(1), &[0x80; 100]), Some(&"first"), "nobody takes an address from another");
        routes.remove(1);
        assert_eq!(routes.find(source(1), &[0x80; 100]), None);
        routes.add_source(1, source(1));
        assert_eq!(routes.len(), (1, 0), "what is gone gets no addresses");
    }

    #[test]
    fn truncated_message_has_no_username() {
        let whole = request("ours:theirs");
        assert_eq!(named(&whole), Some("ours"));
        let end = whole.len() - 1;
        for length in 0..end {
            assert_eq!(named(&whole[..length]), None, "{length}");
        }
        let mut other = whole.clone();
        other[4] = 0;
        assert_eq!(named(&other), None, "another cookie");
        let mut other = whole;
        other[0] = 0x80;
        assert_eq!(named(&other), None, "RTP");
    }
}
