//! Nodes, their database, and the faults between them.

use std::io::pipe;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use switchhook_runtime::clock;
use tempfile::TempDir;
use tokio::net::{TcpSocket, TcpStream};

use super::fault::Fault;
use crate::crash::load::Nodes;
use crate::faults::gate::Gate;
use crate::harness::postgres::{Server, Stop};
use crate::harness::process::{Node, Process, json_of};
use crate::harness::{Client, text};

/// The same on every node: 32 bytes that are not used anywhere else.
const MASTER_KEY: &str = "c3dpdGNoaG9vayBrZXkgZm9yIGNoYW9zIG9ubHkhISE=";
/// The delay of a slow database.
const SLOW: Duration = Duration::from_secs(2);
/// The connections of a database that others can take.
const CONNECTIONS: u32 = 60;
/// A limit of open files with which a node just works, the connections that a client opens then, and its address.
const FEW_FILES: &str = "ulimit -n 256";
const HELD: usize = 200;
const ELSEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3)), 0);
/// The seed, unless the environment overrides it.
const SEED: u64 = 20_261_127;

pub(super) struct Fixture {
    seed: u64,
    /// With PostgreSQL: the server, and a gate before it for each node.
    server: Option<(Server, String)>,
    gates: Vec<Gate>,
    /// Connections to the database that other clients have taken.
    taken: Vec<PgConnection>,
    /// Connections to the first node that a client holds.
    held: Vec<TcpStream>,
    nodes: Vec<Node>,
    processes: Vec<Process>,
    clients: Nodes,
    key: String,
    shared: TempDir,
}

impl Fixture {
    /// Starts two nodes on a PostgreSQL server.
    pub(super) async fn on_postgres() -> Self {
        let server = tokio::task::block_in_place(|| Server::with_connections(CONNECTIONS));
        let database = server.database().await;
        let gates = [Gate::before(server.socket()).await, Gate::before(server.socket()).await];
        let databases = gates.iter().map(|gate| Some(gate.url_of(&database))).collect();
        let mut fixture = Self::on(databases);
        fixture.gates = gates.into();
        fixture.server = Some((server, database));
        fixture
    }

    /// Starts a node on SQLite.
    pub(super) fn on_sqlite() -> Self {
        Self::on(vec![None])
    }

    fn on(databases: Vec<Option<String>>) -> Self {
        switchhook_net::install_tls();
        let shared = tempfile::tempdir().expect("a temporary folder");
        let dial_log = shared.path().join("dials").display().to_string();
        let node = |database| {
            Node::on(database)
                .with("SWITCHHOOK_MASTER_KEY", MASTER_KEY)
                .with("SWITCHHOOK_DATABASE_CONNECTIONS", "16")
                .with("SWITCHHOOK_SIMULATOR_DIAL_LOG", dial_log.clone())
                .with("SWITCHHOOK_WEBHOOK_RETRY_DELAYS", "200ms,500ms,1s,1s,2s,2s,2s")
                .with("SWITCHHOOK_WEBHOOK_TIMEOUT", "2s")
        };
        let nodes: Vec<_> = databases.into_iter().map(node).collect();
        let limits = ["--rate-limit", "1000000", "--concurrent-calls", "500"];
        let create = || json_of(nodes[0].command().args(["tenant", "create", "acme", "--json"]).args(limits));
        let key = text(&tokio::task::block_in_place(create)["api_key"]["key"]);
        let seed = std::env::var("SWITCHHOOK_CHAOS_SEED").ok().map(|text| text.parse().expect("a whole number"));
        let drawn = if super::rounds().is_some() { u64::from_ne_bytes(clock::random()) } else { SEED };
        let mut fixture = Self {
            seed: seed.unwrap_or(drawn),
            server: None,
            gates: Vec::new(),
            taken: Vec::new(),
            held: Vec::new(),
            nodes,
            processes: Vec::new(),
            clients: Nodes::default(),
            key,
            shared,
        };
        fixture.processes = (0..fixture.nodes.len()).map(|number| fixture.serve(number)).collect();
        fixture.show();
        fixture
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the nodes that accept requests, in turn.
    pub(super) fn nodes(&self) -> Nodes {
        self.clients.clone()
    }

    /// Returns a client of a node.
    pub(super) fn client(&self) -> Client {
        self.clients.next()
    }

    pub(super) fn dial_log(&self) -> PathBuf {
        self.shared.path().join("dials")
    }

    pub(super) fn logs(&self) -> impl Iterator<Item = String> {
        self.nodes.iter().map(Node::log)
    }

    /// Starts a node.
    fn serve(&self, number: usize) -> Process {
        tokio::task::block_in_place(|| self.nodes[number].serve())
    }

    /// Returns a client of each node that runs.
    pub(super) fn clients(&self) -> Vec<Client> {
        let client = |process: &Process| Client::new(process.base.clone(), self.key.clone());
        self.processes.iter().map(client).collect()
    }

    /// Gives customers the nodes that run. Without any they keep those that ran.
    fn show(&self) {
        if !self.processes.is_empty() {
            self.clients.are(self.clients());
        }
    }

    pub(super) async fn throw(&mut self, fault: Fault) {
        match fault {
            Fault::DatabaseCut => self.gates[0].shut(),
            Fault::DatabaseSlow => self.gates[0].slow_down(SLOW),
            Fault::DatabaseReadOnly => {
                self.execute(&["ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"]).await;
            }
            Fault::DatabaseRestarted => {
                tokio::task::block_in_place(|| self.server().restart(Stop::Immediate));
            }
            Fault::ConnectionsTaken => self.take_connections().await,
            Fault::PoolerRestarted => self.gates.iter().for_each(Gate::restart),
            Fault::NodePaused => self.processes[0].signal("STOP"),
            Fault::NodeKilled => {
                self.processes.remove(0).kill();
                self.show();
            }
            Fault::LogGone => {
                let (reader, writer) = pipe().expect("a pipe");
                drop(reader);
                self.processes.remove(0).kill();
                let node = &self.nodes[0];
                let process = tokio::task::block_in_place(|| node.serve_logging_to(writer.into()));
                self.processes.insert(0, process);
                self.show();
            }
            Fault::FilesTaken => {
                self.processes.remove(0).kill();
                let process = tokio::task::block_in_place(|| self.nodes[0].serve_after(FEW_FILES));
                self.hold_connections(&process.base).await;
                self.processes.insert(0, process);
                self.show();
            }
            Fault::DiskFull => self.limit_files("4096"),
        }
    }

    pub(super) async fn lift(&mut self, fault: Fault) {
        match fault {
            Fault::DatabaseCut | Fault::DatabaseSlow => self.gates[0].open(),
            Fault::DatabaseReadOnly => {
                self.execute(&["ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()"]).await;
            }
            Fault::DatabaseRestarted | Fault::PoolerRestarted => {}
            Fault::ConnectionsTaken => self.taken.clear(),
            Fault::NodePaused => self.processes[0].signal("CONT"),
            Fault::NodeKilled => {
                let process = self.serve(0);
                self.processes.insert(0, process);
                self.show();
            }
            Fault::LogGone | Fault::FilesTaken => {
                self.held.clear();
                self.processes.remove(0).kill();
                let process = self.serve(0);
                self.processes.insert(0, process);
                self.show();
            }
            Fault::DiskFull => self.limit_files("unlimited"),
        }
    }

    fn server(&self) -> &Server {
        &self.server.as_ref().expect("this fault is one of PostgreSQL").0
    }

    async fn execute(&self, statements: &[&str]) {
        self.server().execute(statements).await;
    }

    /// Takes every connection that is left, those for superusers too.
    async fn take_connections(&mut self) {
        let (_, database) = self.server.as_ref().expect("this fault is one of PostgreSQL");
        while let Ok(connection) = PgConnection::connect(database).await {
            self.taken.push(connection);
        }
    }

    /// Opens more connections to a node than one address may have; those beyond are closed at once.
    async fn hold_connections(&mut self, base: &str) {
        let node = base.trim_start_matches("http://").parse().expect("an address");
        for _ in 0..HELD {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.bind(ELSEWHERE).expect("an address of this machine");
            self.held.push(socket.connect(node).await.expect("the port is open"));
        }
    }

    /// Limits the size of the files that the first node may write, in bytes.
    fn limit_files(&self, size: &str) {
        let limit = format!("--fsize={size}:unlimited");
        let done = Command::new("prlimit").args(["--pid", &self.processes[0].id().to_string(), &limit]).status();
        assert!(done.expect("prlimit of util-linux").success());
    }
}
