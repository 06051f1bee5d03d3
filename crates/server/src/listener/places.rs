//! Limits on open connections, in total and per address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Bounds;

/// Open client connections.
const OPEN: &str = "switchhook_connections";
/// Connections closed at once, by the limit they exceeded.
const REFUSED: &str = "switchhook_connections_refused_total";

/// The open connections. Clones share the count.
#[derive(Clone, Debug)]
pub(super) struct Places {
    bounds: Bounds,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: u32,
    by_address: HashMap<IpAddr, u32>,
}

/// A connection's slot, released when dropped.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    places: Places,
    address: IpAddr,
}

impl Places {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, taken: Arc::default() }
    }

    /// Takes a slot for a connection from `address`; `None` at the limit.
    pub(super) fn take(&self, address: IpAddr) -> Option<ConnectionPlace> {
        let address = network(address);
        let mut taken = self.taken();
        let of_address = taken.by_address.get(&address).copied().unwrap_or_default();
        let refused = if taken.all >= self.bounds.connections {
            Some("all")
        } else {
            (of_address >= self.bounds.connections_per_address).then_some("address")
        };
        if let Some(bound) = refused {
            metrics::counter!(REFUSED, "bound" => bound).increment(1);
            return None;
        }
        taken.all += 1;
        taken.by_address.insert(address, of_address + 1);
        metrics::gauge!(OPEN).increment(1.0);
        Some(ConnectionPlace { places: self.clone(), address })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        // The state is consistent at every step.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        if let Some(of_address) = taken.by_address.get_mut(&self.address) {
            *of_address -= 1;
            if *of_address == 0 {
                taken.by_address.remove(&self.address);
            }
        }
        metrics::gauge!(OPEN).decrement(1.0);
    }
}

/// Maps an IPv6 address to its /64 network, because one client usually controls all of it.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_its_share_and_released_places_are_free() {
        let bounds = Bounds { connections: 3, connections_per_address: 2, ..Bounds::default() };
        let places = Places::new(bounds);
        let take = |address: &str| places.take(address.parse().expect("an address"));
        let first = take("2001:db8:1:2:aaaa::1");
        let second = take("2001:db8:1:2:bbbb::2");
        assert!(first.is_some() && second.is_some());
        assert!(take("2001:db8:1:2::3").is_none(), "one network is one address");
        let other = take("192.0.2.1");
        assert!(other.is_some());
        assert!(take("192.0.2.2").is_none(), "all are taken");
        drop(first);
        assert!(take("2001:db8:1:2::3").is_some());
        drop((second, other));
        let taken = places.taken();
        assert!(taken.all == 0 && taken.by_address.is_empty(), "nothing is remembered of whoever is gone");
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let read = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(read("2001:db8:1:2:aaaa::1"), read("2001:db8:1:2:bbbb::2"));
        assert_ne!(read("2001:db8:1:2::1"), read("2001:db8:1:3::1"));
        assert_eq!(read("::ffff:192.0.2.1"), read("192.0.2.1"));
    }
}
