//! Unauthenticated clients that attack the sign-in to the dashboard.

use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::join_all;
use tokio::time::{Instant, timeout_at};

use crate::Target;
use crate::disk::Disk;
use crate::flood::{Answers, Flood};
use crate::other::Other;
use crate::support::{Connection, loopback};
use crate::watch::{Row, Watch};

const LASTS: Duration = Duration::from_secs(10);
const SENDERS: usize = 4;
/// An address has a budget of 120 requests: with these, most find something left of one.
const ADDRESSES: usize = 400;
/// Sign-ins from one address before a sender moves to its next.
const IN_A_ROW: usize = 60;
/// While the provider is silent.
const LOGINS: usize = 1_000;
const CODES: usize = 100;
const PATIENT_ADDRESSES: usize = 100;

/// The responses to unauthenticated clients.
#[derive(Default)]
struct Visits {
    logins: Answers,
    callbacks: Answers,
}

/// Each leaves for the provider, and comes back with its refusal.
pub(crate) async fn come_back(target: &Target) -> anyhow::Result<Row> {
    let other = Other::join(target).await?;
    let disk = Disk::begin(&target.place).await?;
    let (watch, end) = (Watch::begin(&target.node)?, Instant::now() + LASTS);
    let strangers = join_all((0..SENDERS).map(|number| stranger(&target.node.address, number, end)));
    let (all, latencies) = other.during(strangers).await?;
    let mut answers = Visits::default();
    for visits in all {
        answers.logins.extend(visits.logins);
        answers.callbacks.extend(visits.callbacks);
    }
    let (Visits { logins, callbacks }, disk) = (answers, disk.compare().await?);
    watch.end(format!("logins {logins}; callbacks {callbacks}; {disk}; {latencies}")).await
}

async fn stranger(node: &str, number: usize, end: Instant) -> Visits {
    let mut visits = Visits::default();
    for address in (0..ADDRESSES).cycle().skip(number).step_by(SENDERS) {
        match timeout_at(end, visits.come_from(address, node)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => visits.logins.add(0, 1),
            // A request without a response at the end is not counted.
            Err(_) => break,
        }
    }
    visits
}

impl Visits {
    async fn come_from(&mut self, address: usize, node: &str) -> anyhow::Result<()> {
        let mut connection = Connection::open_from(loopback(address), node).await?;
        for _ in 0..IN_A_ROW {
            self.logins.add(connection.send(&login()).await?, 1);
            // Without a state, it is invented.
            let returns =
                callback(&connection, "error=x").unwrap_or_else(|_| get("/auth/callback?state=x&error=x", ""));
            self.callbacks.add(connection.send(&returns).await?, 1);
        }
        Ok(())
    }
}

/// No sign-in reaches the provider.
pub(crate) async fn silent_discovery(target: &Target) -> anyhow::Result<Row> {
    target.issuer.fall_silent();
    at_a_silent_provider(target, LOGINS, &[login()]).await
}

/// Everybody comes back with a state of the service, and a code that is none.
pub(crate) async fn silent_tokens(target: &Target) -> anyhow::Result<Row> {
    let mut callbacks = Vec::new();
    for number in 0..CODES {
        let mut connection = Connection::open_from(loopback(number % PATIENT_ADDRESSES), &target.node.address).await?;
        connection.send(&login()).await?;
        callbacks.push(callback(&connection, &format!("code=invented{number}"))?);
    }
    at_a_silent_provider(target, CODES, &callbacks).await
}

async fn at_a_silent_provider(target: &Target, senders: usize, requests: &[Vec<u8>]) -> anyhow::Result<Row> {
    let other = Other::join(target).await?;
    let disk = Disk::begin(&target.place).await?;
    let watch = Watch::begin(&target.node)?;
    let (address, addresses) = (target.node.address.as_str(), PATIENT_ADDRESSES);
    let flood = Flood { address, senders, addresses, lasts: LASTS, at_most: usize::MAX };
    let (answers, latencies) = other.during(flood.run(requests)).await?;
    let disk = disk.compare().await?;
    watch.end(format!("{answers}; {}; {disk}; {latencies}", target.issuer.seen())).await
}

fn login() -> Vec<u8> {
    get("/auth/login", "")
}

/// Returns the request of a browser that was sent to the provider, when it returns from there with `outcome`.
fn callback(answered: &Connection, outcome: &str) -> anyhow::Result<Vec<u8>> {
    let provider: url::Url = answered.header("location").context("a way to the provider")?.parse()?;
    let (_, state) = provider.query_pairs().find(|(name, _)| name == "state").context("a state")?;
    let cookie = answered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).context("a cookie")?;
    // A state is base64 for URLs.
    Ok(get(&format!("/auth/callback?state={state}&{outcome}"), &format!("Cookie: {cookie}\r\n")))
}

/// Returns a request without an API key.
fn get(path: &str, more: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: bench\r\n{more}\r\n").into_bytes()
}
