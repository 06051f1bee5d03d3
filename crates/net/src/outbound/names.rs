//! Resolves host names to allowed addresses.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use hickory_resolver::TokioResolver;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use switchhook_core::webhook::{AddressPolicy, Destination, UrlRefusal};
use tokio::sync::Semaphore;

use super::clients::Opening;
use super::{NetworkSettings, dns};

/// Concurrent lookups of one client; each tenant has its own. The threads are shared by the whole service, and a name server that does
/// not respond blocks one for many seconds.
const LOOKUPS: usize = 16;

/// Resolves names with the system's resolver or the configured name server.
#[derive(Clone)]
pub struct Names {
    server: Option<TokioResolver>,
    /// Permits for lookups by the system's resolver.
    lookups: Arc<Semaphore>,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("configured", &self.server.is_some()).finish()
    }
}

/// Why a name could not be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// It has no address, or no name server responds.
    #[error("the host name could not be resolved")]
    Unknown,
    /// One of its addresses is forbidden.
    #[error(transparent)]
    Refused(#[from] UrlRefusal),
}

impl LookupError {
    /// Finds this error in an error of the HTTP client.
    #[must_use]
    pub fn in_chain<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

impl Names {
    /// Creates the configured resolver.
    #[must_use]
    pub fn new(network: &NetworkSettings) -> Self {
        // Only TLS settings and trust anchors, of which there are none, could be wrong.
        let resolver = |server| dns::resolver(server).expect("a resolver without TLS can be built");
        Self { server: network.dns.map(resolver), lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }

    /// Resolves a name to addresses that `judge` all accepts: one forbidden address refuses the name, because its owner could
    /// otherwise mix one in and retry until it is used.
    ///
    /// # Errors
    /// If there is no address, or a forbidden one.
    pub async fn vetted(
        &self,
        host: &str,
        judge: impl Fn(IpAddr) -> Result<(), UrlRefusal>,
    ) -> Result<Vec<IpAddr>, LookupError> {
        let addresses = self.addresses(host).await.map_err(|_| LookupError::Unknown)?;
        if addresses.is_empty() {
            return Err(LookupError::Unknown);
        }
        addresses.iter().try_for_each(|address| judge(*address))?;
        Ok(addresses)
    }

    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        match &self.server {
            None => self.look_up(host.to_owned()).await,
            // Never queried at a name server (RFC 6761 section 6.3).
            Some(_) if host == "localhost" => {
                Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)])
            }
            Some(server) => dns::addresses(server, host).await,
        }
    }
}

impl Names {
    /// Queries the system's resolver on a thread. A lookup cannot be cancelled, so the permit is held as long as the thread.
    async fn look_up(&self, host: String) -> io::Result<Vec<IpAddr>> {
        let place = self.lookups.clone().acquire_owned().await.map_err(io::Error::other)?;
        let lookup = tokio::task::spawn_blocking(move || {
            let _place = place;
            (host.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
        });
        lookup.await.map_err(io::Error::other)?
    }
}

fn judge(policy: &AddressPolicy, opening: Option<Opening>, address: IpAddr) -> Result<(), UrlRefusal> {
    match opening {
        None => Ok(policy.judge(address)?),
        Some(Opening { port, plain }) => policy.judge_destination(Destination { address, port, plain }),
    }
}

/// The resolver of the HTTP client.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) names: Names,
    pub(super) policy: AddressPolicy,
    /// The port and scheme to check addresses for; `None` for unrestricted ports.
    pub(super) opening: Option<Opening>,
}

impl Guard {
    /// Returns the same guard for another client, with separate lookup permits.
    pub(super) fn apart(&self) -> Self {
        let names = Names { lookups: Arc::new(Semaphore::new(LOOKUPS)), ..self.names.clone() };
        Self { names, ..self.clone() }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (names, policy, opening) = (self.names.clone(), self.policy.clone(), self.opening);
        Box::pin(async move {
            let addresses = names.vetted(name.as_str(), |address| judge(&policy, opening, address)).await?;
            // Port 0 means the URL's port.
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
