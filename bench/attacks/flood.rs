//! Requests as fast as they are answered.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout_at};

use crate::support::{Connection, loopback};

/// Connections, each with one request at a time, until one of the bounds.
pub(crate) struct Flood<'a> {
    pub(crate) address: &'a str,
    pub(crate) senders: usize,
    /// Addresses of this machine that the senders share, the bench's own among them.
    pub(crate) addresses: usize,
    pub(crate) lasts: Duration,
    /// Requests of each sender.
    pub(crate) at_most: usize,
}

/// The number of responses by status; 0 stands for a connection that was closed.
#[derive(Default)]
pub(crate) struct Answers(BTreeMap<u16, usize>);

impl Flood<'_> {
    /// Sends these in turn; each sender begins with another one.
    pub(crate) async fn run(&self, requests: &[Vec<u8>]) -> Answers {
        let end = Instant::now() + self.lasts;
        let mut all = Answers::default();
        for answers in join_all((0..self.senders).map(|number| self.sender(number, requests, end))).await {
            all.extend(answers);
        }
        all
    }

    async fn sender(&self, number: usize, requests: &[Vec<u8>], end: Instant) -> Answers {
        let (mut answers, mut connection) = (Answers::default(), None);
        let from = loopback(number % self.addresses);
        for request in requests.iter().cycle().skip(number % requests.len()).take(self.at_most) {
            // A request without a response at the end is not counted.
            let Ok(status) = timeout_at(end, send(&mut connection, from, self.address, request)).await else { break };
            if status.is_err() {
                connection = None;
            }
            answers.add(status.unwrap_or(0), 1);
        }
        answers
    }
}

async fn send(
    connection: &mut Option<Connection>,
    from: Ipv4Addr,
    address: &str,
    request: &[u8],
) -> anyhow::Result<u16> {
    if connection.is_none() {
        *connection = Some(Connection::open_from(from, address).await?);
    }
    connection.as_mut().expect("it was opened").send(request).await
}

impl Answers {
    pub(crate) fn add(&mut self, status: u16, times: usize) {
        *self.0.entry(status).or_default() += times;
    }

    pub(crate) fn extend(&mut self, more: Self) {
        more.0.into_iter().for_each(|(status, times)| self.add(status, times));
    }

    pub(crate) fn of(&self, status: u16) -> usize {
        self.0.get(&status).copied().unwrap_or(0)
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|(status, times)| match status {
            0 => format!("closed × {times}"),
            _ => format!("{status} × {times}"),
        });
        let shown: Vec<_> = shown.collect();
        f.write_str(if shown.is_empty() { "no answer" } else { "" })?;
        f.write_str(&shown.join(", "))
    }
}
