//! Limits the requests of carriers by connection, network and node: a token bucket, checked before the body is read. Clients that do not
//! know an address's token do not get this far; one that knows it but cannot sign does not use up the carrier's tokens, as its network differs.

use std::net::IpAddr;
use std::time::Duration;

use switchhook_core::id::ConnectionId;
use tokio::time::Instant;

use crate::http::client_network::ClientNetwork;
use crate::http::token_bucket::TokenBuckets;

/// Requests in a second, in the long run. A call makes about five.
const PER_SECOND: u32 = 200;
/// Requests at once: everything that 300 calls bring which begin or end at the same moment.
const BURST: u32 = 1_500;
/// Requests that were refused.
const REFUSED: &str = "switchhook_carrier_requests_refused_total";

/// The buckets of all connections and of the networks from which they are reached. Clones share them.
#[derive(Clone, Debug)]
pub(in crate::http) struct CarrierRate(TokenBuckets<(ConnectionId, Option<IpAddr>)>);

impl Default for CarrierRate {
    fn default() -> Self {
        Self(TokenBuckets::new(Duration::from_secs(1) / PER_SECOND, BURST))
    }
}

impl CarrierRate {
    /// Takes a token for a request to the connection from this network.
    ///
    /// # Errors
    /// The wait until one is available.
    pub(in crate::http) fn admit(
        &self,
        connection: ConnectionId,
        from: ClientNetwork,
        now: Instant,
    ) -> Result<(), Duration> {
        self.0.take((connection, from.0), now).inspect_err(|_| metrics::counter!(REFUSED).increment(1))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn connection(number: u128) -> ConnectionId {
        ConnectionId::from_uuid(Uuid::from_u128(number))
    }

    #[test]
    fn three_hundred_calls_pass_and_a_flood_does_not() {
        let (rate, start) = (CarrierRate::default(), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        let carrier = ClientNetwork(Some([192, 0, 2, 1].into()));
        let admitted =
            |connection, at, count: u32| (0..count).filter(|_| rate.admit(connection, carrier, at).is_ok()).count();
        assert_eq!(admitted(connection(1), at(0), 300 * 5), 1_500, "all that 300 calls bring at one moment");
        assert_eq!(rate.admit(connection(1), carrier, at(0)), Err(Duration::from_millis(5)));
        assert_eq!(admitted(connection(2), at(0), 10), 10, "of another connection");
        assert_eq!(admitted(connection(1), at(1_000), 10_000), 200, "what was refused is not owed");
        assert_eq!(admitted(connection(1), at(60_000), 10_000), 1_500, "never more than that at once");
    }

    #[test]
    fn who_floods_a_carriers_address_takes_nothing_from_the_carrier() {
        let (rate, now) = (CarrierRate::default(), Instant::now());
        let flooder = ClientNetwork(Some([198, 51, 100, 1].into()));
        while rate.admit(connection(1), flooder, now).is_ok() {}
        let carrier = ClientNetwork(Some([192, 0, 2, 1].into()));
        assert_eq!(rate.admit(connection(1), carrier, now), Ok(()));
    }
}
