//! All carriers of this version, one line each. The provider catalogue, the validation of connections, the dial policy, `doctor` and
//! the documentation are derived from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::kind::CarrierKind;
use super::{Carrier, CarrierSettings, Connection, Driver, simulator, telnyx, twilio, web};

/// The carriers, in the order of the catalogue.
pub const CARRIERS: &[CarrierKind] = &[
    simulator::KIND,
    twilio::TWILIO,
    twilio::SIGNALWIRE,
    telnyx::KIND,
    CarrierKind::planned("plivo"),
    CarrierKind::planned("vonage"),
    CarrierKind::planned("sip"),
    web::KIND,
];

/// Returns the carrier with this name.
#[must_use]
pub fn kind(name: &str) -> Option<&'static CarrierKind> {
    CARRIERS.iter().find(|kind| kind.name == name)
}

/// Returns whether calls over this provider's connections ring real telephones.
#[must_use]
pub fn rings_phones(provider: &str) -> bool {
    kind(provider).is_none_or(|kind| kind.rings_phones)
}

/// Returns whether calls over this provider use a connection of the tenant.
#[must_use]
pub fn has_connections(provider: &str) -> bool {
    kind(provider).is_none_or(|kind| kind.has_connections)
}

/// The drivers of one node.
pub struct Drivers(BTreeMap<&'static str, Arc<dyn Driver>>);

impl Drivers {
    /// Creates one driver per carrier, not started yet.
    #[must_use]
    pub fn new(settings: &CarrierSettings) -> Self {
        let drivers = CARRIERS.iter().filter_map(|kind| Some((kind.name, kind.driver?(settings))));
        Self(drivers.collect())
    }

    /// Creates the adapter of a connection.
    ///
    /// # Errors
    /// A sentence that says what is missing or wrong.
    pub fn connect(&self, provider: &str, connection: &Connection<'_>) -> Result<Carrier, String> {
        let driver = self.0.get(provider).ok_or_else(|| format!("carrier {provider} is not available yet."))?;
        driver.connect(connection)
    }

    /// Starts every driver, before the node's first call.
    ///
    /// # Errors
    /// When a driver cannot start. Those that did are stopped again.
    pub async fn start(&self) -> anyhow::Result<()> {
        for driver in self.0.values() {
            if let Err(error) = driver.start().await {
                self.stop().await;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Stops every driver, after the node's last call. Stopping a driver that never started has no effect.
    pub async fn stop(&self) {
        for driver in self.0.values() {
            driver.stop().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;

    use super::*;

    const CARRIERS_PAGE: &str = include_str!("../../../docs/carriers.md");
    const SIMULATOR_PAGE: &str = include_str!("../../../docs/simulator.md");

    #[test]
    fn every_carrier_that_can_call_is_documented_with_its_credentials() {
        for kind in CARRIERS.iter().filter(|kind| kind.driver.is_some() && kind.has_connections) {
            let (page, mention) = if kind.rings_phones {
                (CARRIERS_PAGE, format!("\"provider\": \"{}\"", kind.name))
            } else {
                (SIMULATOR_PAGE, format!("provider `{}`", kind.name))
            };
            for word in kind.required_credentials.iter().copied().chain([mention.as_str()]) {
                assert!(page.contains(word), "{}: {word} is not in the documentation", kind.name);
            }
        }
    }

    /// A driver that records the calls to it, and may fail to start.
    struct Recorder {
        name: &'static str,
        starts: bool,
        log: Arc<Mutex<Vec<String>>>,
    }

    #[async_trait]
    impl Driver for Recorder {
        fn connect(&self, _connection: &Connection<'_>) -> Result<Carrier, String> {
            Err("It only starts and stops.".to_owned())
        }

        async fn start(&self) -> anyhow::Result<()> {
            self.log.lock().expect("whole").push(format!("start {}", self.name));
            anyhow::ensure!(self.starts, "its port is taken");
            Ok(())
        }

        async fn stop(&self) {
            self.log.lock().expect("whole").push(format!("stop {}", self.name));
        }
    }

    #[tokio::test]
    async fn when_one_driver_does_not_start_the_node_does_not_and_nothing_is_left_listening() {
        for (second_starts, expected) in
            [(true, "start a, start b, stop a, stop b"), (false, "start a, start b, stop a, stop b")]
        {
            let log = Arc::<Mutex<Vec<String>>>::default();
            let driver = |name, starts| -> (&'static str, Arc<dyn Driver>) {
                (name, Arc::new(Recorder { name, starts, log: log.clone() }))
            };
            let drivers = Drivers([driver("a", true), driver("b", second_starts)].into_iter().collect());
            let started = drivers.start().await;
            assert_eq!(started.is_ok(), second_starts);
            if second_starts {
                drivers.stop().await;
            }
            assert_eq!(log.lock().expect("whole").join(", "), expected);
        }
    }
}
