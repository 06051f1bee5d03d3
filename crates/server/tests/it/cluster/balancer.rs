//! A minimal round-robin balancer of connections.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::{TcpListener, TcpStream};

use super::Member;
use crate::harness::Client;

/// Connects each client to the next node. Clones are the same balancer.
#[derive(Clone)]
pub(super) struct Balancer {
    base: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    nodes: Vec<String>,
    next: usize,
}

impl Balancer {
    pub(super) async fn before(members: &[Member]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let balancer = Self { base, state: Arc::default() };
        balancer.serves(members.iter());
        let state = balancer.state.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let node = state.lock().unwrap_or_else(PoisonError::into_inner).turn();
                tokio::spawn(async move {
                    // If the node is gone, the connection ends, and the client sees that.
                    if let Ok(mut node) = TcpStream::connect(node).await {
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut node).await;
                    }
                });
            }
        });
        balancer
    }

    /// Sets the nodes.
    pub(super) fn serves<'a>(&self, members: impl Iterator<Item = &'a Member>) {
        let address = |member: &Member| member.process.base.trim_start_matches("http://").to_owned();
        self.state.lock().unwrap_or_else(PoisonError::into_inner).nodes = members.map(address).collect();
    }

    /// Returns a client whose every request may reach another node.
    pub(super) fn client(&self, key: &str) -> Client {
        Client::with_a_connection_for_each_request(self.base.clone(), key.to_owned())
    }
}

impl State {
    fn turn(&mut self) -> String {
        self.next += 1;
        self.nodes[self.next % self.nodes.len()].clone()
    }
}
