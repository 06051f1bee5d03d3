//! Shared code of the service's benches: a node in a separate process, and requests that cost the generator little.
#![allow(dead_code, reason = "not every bench uses all of it")]

pub(crate) mod database;
pub(crate) mod receiver;

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// The folder for the data of one bench's nodes.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    /// Of PostgreSQL; SQLite's is a file in the folder.
    database: Option<String>,
    /// For the nodes' environment.
    settings: Vec<(&'static str, String)>,
}

/// A `switchhook serve`; ended when dropped.
pub(crate) struct Node {
    child: Child,
    /// `host:port`.
    pub(crate) address: String,
}

impl Place {
    /// A new folder, and on PostgreSQL (address in `SWITCHHOOK_TEST_POSTGRES`) the database there.
    pub(crate) fn new() -> anyhow::Result<Self> {
        // Beside the build, not in /tmp, which may be memory: what is measured waits for a disk.
        let folder =
            tempfile::Builder::new().prefix("bench").permissions(Permissions::from_mode(0o700)).tempdir_in(target()?)?;
        Ok(Self { folder, database: std::env::var("SWITCHHOOK_TEST_POSTGRES").ok(), settings: Vec::new() })
    }

    /// A new folder, and on PostgreSQL a new database of this name on the server.
    pub(crate) async fn with_database(name: &str) -> anyhow::Result<Self> {
        let mut place = Self::new()?;
        if let Some(server) = &place.database {
            place.database = Some(database::create_postgres(server, name).await?);
        }
        Ok(place)
    }

    /// Gives nodes that are started from now on this environment variable.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value.into()));
    }

    /// Returns the URL of the database for the service.
    pub(crate) fn database_url(&self) -> String {
        let file = || format!("sqlite://{}", self.path().join("switchhook.db").display());
        self.database.clone().unwrap_or_else(file)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database_name(&self) -> &'static str {
        if self.database.is_some() { "PostgreSQL" } else { "SQLite" }
    }

    pub(crate) fn command(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(target()?.join("switchhook"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SWITCHHOOK_")) {
            command.env_remove(name);
        }
        command
            .env("SWITCHHOOK_DATA_DIR", self.folder.path())
            // Everybody comes from one address.
            .env("SWITCHHOOK_MAX_CONNECTIONS_PER_ADDRESS", "10000")
            .env("SWITCHHOOK_WEBHOOK_ALLOW", "127.0.0.0/8,http")
            .env("SWITCHHOOK_OUTBOUND_ALLOW", "127.0.0.0/8,http")
            .env("RUST_LOG", "warn");
        if let Some(database) = &self.database {
            command.env("SWITCHHOOK_DATABASE_URL", database);
        }
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Starts a node with these roles and waits until it says where it listens.
    pub(crate) fn serve(&self, roles: &str) -> anyhow::Result<Node> {
        let mut child = self
            .command()?
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("SWITCHHOOK_ROLES", roles)
            .stdout(Stdio::piped())
            .spawn()
            .context("build the binary first: cargo build --release")?;
        let mut lines = BufReader::new(child.stdout.take().context("it is piped")?).lines();
        let address = loop {
            let line = lines.next().context("the service ended before it said where it listens")??;
            if let Some((_, after)) = line.split_once("http://") {
                break after.split([' ', '/']).next().unwrap_or_default().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Node { child, address })
    }

    /// A tenant with no limits to speak of; its key.
    pub(crate) fn tenant(&self, name: &str) -> anyhow::Result<String> {
        let limits = ["--rate-limit", "1000000", "--concurrent-calls", "1000000"];
        let output = self.command()?.args(["tenant", "create", name, "--json"]).args(limits).output()?;
        anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let made: Value = serde_json::from_slice(&output.stdout)?;
        Ok(made["api_key"]["key"].as_str().context("a key")?.to_owned())
    }
}

/// The folder of the release binaries: examples are one below.
pub(crate) fn target() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    Ok(here.ancestors().nth(2).context("an example lies in target/release/examples")?.to_owned())
}

/// Keeps a process on one core, if there is `taskset` and that core.
pub(crate) fn pin(process: u32, core: u32) -> bool {
    let pinned = Command::new("taskset")
        .args(["-acp", &core.to_string(), &process.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    pinned.is_ok_and(|status| status.success())
}

/// Seconds of processor time used so far by a process or thread, from its `stat` (fields 14 and 15, in hundredths).
pub(crate) fn cpu_seconds(stat: &str) -> f64 {
    let stat = std::fs::read_to_string(stat).unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

impl Node {
    /// Keeps it on one core; whether that worked.
    pub(crate) fn pin(&self, core: u32) -> bool {
        pin(self.child.id(), core)
    }

    /// Of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Seconds of processor time used so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        cpu_seconds(&format!("/proc/{}/stat", self.child.id()))
    }

    /// Those of them that SQLite's own threads used; one thread is behind each connection.
    pub(crate) fn sqlite_cpu_seconds(&self) -> f64 {
        let folder = format!("/proc/{}/task", self.child.id());
        let threads = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|thread| thread.path());
        let is_sqlite = |thread: &PathBuf| {
            std::fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.starts_with("sqlx-sqlite"))
        };
        threads.filter(is_sqlite).map(|thread| cpu_seconds(&thread.join("stat").to_string_lossy())).sum()
    }

    /// Waits until it says that it is ready.
    pub(crate) async fn ready(&self) -> anyhow::Result<()> {
        let mut connection = Connection::open(&self.address).await?;
        while connection.send(&request("GET", "/readyz", "none", "", "")).await? != 200 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Megabytes of resident memory.
    pub(crate) fn resident_mb(&self) -> f64 {
        self.status_mb("VmRSS:")
    }

    /// The most megabytes of resident memory since the start, or since [`Self::reset_peak`].
    pub(crate) fn peak_mb(&self) -> f64 {
        self.status_mb("VmHWM:")
    }

    pub(crate) fn reset_peak(&self) -> anyhow::Result<()> {
        // The meaning of 5: proc_pid_clear_refs(5).
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").context("the kernel's peak of memory")
    }

    fn status_mb(&self, field: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
        line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Already gone is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One of the addresses that this machine has for itself: 127.0.0.1, from which the bench's own requests come, and those after it.
pub(crate) fn loopback(number: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + u32::try_from(number).expect("fewer than 127.0.0.0/8 has"))
}

/// Connects from an address of this machine.
pub(crate) async fn connect_from(from: Ipv4Addr, address: &str) -> anyhow::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    Ok(socket.connect(address.parse::<SocketAddr>()?).await?)
}

/// One connection that sends what it is given and reads one answer: nothing that a client library would cost.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: &str) -> anyhow::Result<Self> {
        Self::over(TcpStream::connect(address).await?)
    }

    /// A connection from this address of the machine.
    pub(crate) async fn open_from(from: Ipv4Addr, address: &str) -> anyhow::Result<Self> {
        Self::over(connect_from(from, address).await?)
    }

    fn over(stream: TcpStream) -> anyhow::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16_384) })
    }

    /// The status of the answer; its body is in [`Self::body`] until the next request.
    pub(crate) async fn send(&mut self, request: &[u8]) -> anyhow::Result<u16> {
        self.buffer.clear();
        self.stream.write_all(request).await?;
        loop {
            anyhow::ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the service closed the connection");
            if is_complete(&self.buffer) {
                return Ok(std::str::from_utf8(&self.buffer[9..12])?.parse()?);
            }
        }
    }

    pub(crate) fn body(&self) -> &[u8] {
        body_of(&self.buffer).map_or(&[], |(start, length)| &self.buffer[start..start + length])
    }

    /// A header of the answer; its name in lower case, as the service writes it.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let (start, _) = body_of(&self.buffer)?;
        let lines = std::str::from_utf8(&self.buffer[..start]).ok()?.lines();
        lines.filter_map(|line| line.split_once(": ")).find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Sends a request and reads JSON; anything but a success is an error.
    pub(crate) async fn json(&mut self, method: &str, path: &str, key: &str, body: &Value) -> anyhow::Result<Value> {
        let status = self.send(&request(method, path, key, "", &body.to_string())).await?;
        anyhow::ensure!((200..300).contains(&status), "{path}: {status} {}", String::from_utf8_lossy(self.body()));
        Ok(serde_json::from_slice(self.body())?)
    }

    /// A tenant's agent and number, with synthetic providers. The agent's id.
    pub(crate) async fn scripted_agent(&mut self, key: &str) -> anyhow::Result<String> {
        let scripted = json!({ "name": "scripted", "provider": "scripted" });
        let scripted = self.json("POST", "/v1/connections", key, &scripted).await?;
        let carrier = json!({ "name": "simulator", "provider": "simulator" });
        let carrier = self.json("POST", "/v1/connections", key, &carrier).await?;
        let by = json!({ "connection_id": scripted["id"] });
        let agent = json!({ "name": "Ava", "instructions": "Book a table.", "stt": by, "llm": by, "tts": by });
        let agent = self.json("POST", "/v1/agents", key, &agent).await?;
        let number = json!({ "number": "+12025550199", "connection_id": carrier["id"] });
        self.json("POST", "/v1/numbers", key, &number).await?;
        Ok(agent["id"].as_str().context("an id")?.to_owned())
    }
}

/// Returns whether a message has all of its body.
pub(crate) fn is_complete(message: &[u8]) -> bool {
    body_of(message).is_some_and(|(start, length)| message.len() >= start + length)
}

/// Returns where the body of a message begins and its length, once the headers are complete.
fn body_of(answer: &[u8]) -> Option<(usize, usize)> {
    let start = answer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let headers = std::str::from_utf8(&answer[..start]).ok()?;
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse().ok()?;
    Some((start, length))
}

/// The bytes of a request; `more` are further header lines.
pub(crate) fn request(method: &str, path: &str, key: &str, more: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         {more}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Returns how many small writes a second this disk makes durable, one after another: the limit without group commit.
pub(crate) fn durable_writes_per_second(folder: &Path) -> anyhow::Result<f64> {
    use std::io::Write as _;
    let mut file = std::fs::File::create(folder.join("disk"))?;
    let (start, mut writes) = (Instant::now(), 0.0);
    while start.elapsed() < Duration::from_secs(1) {
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        writes += 1.0;
    }
    Ok(writes / start.elapsed().as_secs_f64())
}

/// The value below which `percent` of the sorted values lie.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).copied().unwrap_or_default()
}
