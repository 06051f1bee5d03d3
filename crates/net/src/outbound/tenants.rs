//! HTTP clients per tenant: pooled connections belong to one tenant.
//!
//! Tenants choose URLs and the data sent there. Data that one tenant leaves on a connection, such as half a response or the rest of
//! a request, must never meet the request of another tenant of the same service.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use switchhook_core::id::TenantId;
use switchhook_core::webhook::AddressPolicy;

/// Idle time after which a client and its connections are dropped.
const KEEP_UNUSED: Duration = Duration::from_secs(600);
/// Maximum cached clients; the least recently used one is evicted.
const MAX_CLIENTS: usize = 512;

/// Builds a tenant's client with these exemptions.
type Make<C> = Box<dyn Fn(&AddressPolicy) -> anyhow::Result<C> + Send + Sync>;

/// Clients of one kind, one per tenant.
pub struct PerTenant<C> {
    make: Make<C>,
    exemptions: Exemptions,
    kept: Mutex<Kept<C>>,
}

/// Exemptions of individual tenants beyond the configured ones. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Exemptions(Arc<RwLock<HashMap<TenantId, AddressPolicy>>>);

impl Exemptions {
    /// Returns a tenant's exemptions.
    #[must_use]
    pub fn of(&self, tenant: TenantId) -> AddressPolicy {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&tenant).cloned().unwrap_or_default()
    }

    #[cfg(test)]
    pub(super) fn set(&self, tenant: TenantId, policy: AddressPolicy) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(tenant, policy);
    }

    /// Replaces the exemptions of all tenants.
    pub fn replace(&self, all: HashMap<TenantId, AddressPolicy>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = all;
    }
}

impl<C: Clone> PerTenant<C> {
    /// Creates a cache of clients built by `make`.
    ///
    /// # Errors
    /// If a client cannot be built.
    pub fn new(
        exemptions: Exemptions,
        make: impl Fn(&AddressPolicy) -> anyhow::Result<C> + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        make(&AddressPolicy::default())?;
        Ok(Self { make: Box::new(make), exemptions, kept: Mutex::new(Kept(HashMap::new())) })
    }

    /// Returns the tenant's client.
    pub fn of(&self, tenant: TenantId) -> C {
        let policy = self.exemptions.of(tenant);
        let make = || (self.make)(&policy).expect("a client with the same settings was built at the start");
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.of((tenant, policy.clone()), Instant::now(), make)
    }
}

/// Clients by tenant, with the time of their last use.
struct Kept<C>(HashMap<TenantId, (Instant, AddressPolicy, C)>);

impl<C: Clone> Kept<C> {
    fn of(&mut self, (tenant, policy): (TenantId, AddressPolicy), now: Instant, make: impl FnOnce() -> C) -> C {
        if let Some((used, of, client)) = self.0.get_mut(&tenant)
            && *of == policy
        {
            *used = now;
            return client.clone();
        }
        self.0.retain(|_, (used, ..)| now.saturating_duration_since(*used) < KEEP_UNUSED);
        while self.0.len() >= MAX_CLIENTS
            && let Some(oldest) = self.0.iter().min_by_key(|(_, (used, ..))| *used).map(|(tenant, _)| *tenant)
        {
            self.0.remove(&oldest);
        }
        let client = make();
        self.0.insert(tenant, (now, policy, client.clone()));
        client
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use reqwest::header::HeaderMap;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use uuid::Uuid;

    use super::*;
    use crate::outbound::{ClientSettings, NetworkSettings};

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

    fn of(number: u128) -> (TenantId, AddressPolicy) {
        (tenant(number), AddressPolicy::default())
    }

    fn tenant(number: u128) -> TenantId {
        TenantId::from_uuid(Uuid::from_u128(number))
    }

    /// A server that keeps connections open and accepts any bytes as requests; records what each request contained.
    struct Server {
        address: SocketAddr,
        brought: Arc<Mutex<Vec<String>>>,
    }

    impl Server {
        async fn start() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let (address, brought) = (listener.local_addr().expect("bound"), Arc::<Mutex<Vec<String>>>::default());
            let noted = brought.clone();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let number = {
                        let mut noted = noted.lock().expect("whole");
                        noted.push(String::new());
                        noted.len() - 1
                    };
                    tokio::spawn(Self::connection(stream, number, noted.clone()));
                }
            });
            Self { address, brought }
        }

        async fn connection(mut stream: TcpStream, number: usize, noted: Arc<Mutex<Vec<String>>>) {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut piece).await {
                let whole = {
                    let mut noted = noted.lock().expect("whole");
                    noted[number].push_str(&String::from_utf8_lossy(&piece[..read]));
                    noted[number].contains("\r\n\r\n")
                };
                if whole && stream.write_all(ANSWER).await.is_err() {
                    return;
                }
            }
        }

        fn brought(&self) -> Vec<String> {
            self.brought.lock().expect("whole").clone()
        }
    }

    fn clients() -> PerTenant<reqwest::Client> {
        let settings = ClientSettings::new(&NetworkSettings::default(), &"127.0.0.0/8,http".parse().expect("a policy"))
            .expect("settings");
        PerTenant::new(Exemptions::default(), move |_| Ok(settings.builder().build()?)).expect("a client")
    }

    async fn post(client: &reqwest::Client, server: &Server, headers: HeaderMap, body: &'static str) {
        let url = format!("http://{}/hook", server.address);
        let answer = client.post(url).headers(headers).body(body).send().await.expect("an answer");
        assert_eq!(answer.bytes().await.expect("a body").len(), 0);
    }

    #[tokio::test]
    async fn what_one_tenant_leaves_on_a_connection_meets_no_request_of_another() {
        let (server, clients) = (Server::start().await, clients());
        let (attacker, victim) = (clients.of(tenant(1)), clients.of(tenant(2)));
        // Shorter than the body: the rest of the body becomes the start of the next request on the connection.
        let headers = HeaderMap::from_iter([(reqwest::header::CONTENT_LENGTH, "1".parse().expect("a value"))]);
        post(&attacker, &server, headers, "xPOST /poison HTTP/1.1\r\nx-swallows: ").await;
        for _ in 0..3 {
            post(&victim, &server, HeaderMap::new(), "secret").await;
        }
        let brought = server.brought();
        assert_eq!(brought.len(), 2, "a connection for each tenant: {brought:?}");
        assert_eq!(brought.iter().filter(|bytes| bytes.contains("secret")).count(), 1);
        let victims = brought.iter().find(|bytes| bytes.contains("secret")).expect("it was sent");
        assert!(!victims.contains("poison") && victims.matches("POST /hook").count() == 3, "it is reused: {victims}");
        assert!(victims.starts_with("POST /hook"), "{victims}");
    }

    #[tokio::test]
    async fn a_tenant_that_comes_again_finds_its_connection() {
        let (server, clients) = (Server::start().await, clients());
        post(&clients.of(tenant(1)), &server, HeaderMap::new(), "a").await;
        post(&clients.of(tenant(1)), &server, HeaderMap::new(), "b").await;
        assert_eq!(server.brought().len(), 1);
    }

    #[test]
    fn unused_and_least_recently_used_clients_are_evicted() {
        let (mut kept, start) = (Kept(HashMap::new()), Instant::now());
        let made = AtomicUsize::new(0);
        let make = || made.fetch_add(1, Ordering::Relaxed);
        let second = Duration::from_secs(1);
        for number in 0..MAX_CLIENTS as u128 {
            kept.of(of(number), start, make);
        }
        assert_eq!(kept.of(of(0), start + second, make), 0, "it is kept");
        kept.of(of(MAX_CLIENTS as u128), start + second * 2, make);
        assert_eq!(kept.0.len(), MAX_CLIENTS);
        assert_eq!(kept.of(of(0), start + second * 3, make), 0, "it was used lately");
        kept.of(of(9_999), start + second + KEEP_UNUSED, make);
        assert_eq!(kept.0.len(), 3, "whoever was used in the last ten minutes");
    }
}
