//! The real binary in a separate process, which can be killed.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A `switchhook serve`. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) base: String,
}

/// A data directory and a database for consecutive processes.
pub(crate) struct Node {
    folder: TempDir,
    database: Option<String>,
    settings: Vec<(&'static str, String)>,
}

impl Node {
    pub(crate) async fn new() -> Self {
        Self::on(super::database::create().await)
    }

    /// Creates a node with this PostgreSQL database, or with SQLite.
    pub(crate) fn on(database: Option<String>) -> Self {
        Self { folder: super::private_folder(), database, settings: Vec::new() }
    }

    /// Sets this variable in the environment of its processes.
    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.settings.push((variable, value.into()));
        self
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the database URL of its processes.
    pub(crate) fn database_url(&self) -> String {
        let in_folder = || format!("sqlite://{}", self.folder.path().join("switchhook.db").display());
        self.database.clone().unwrap_or_else(in_folder)
    }

    /// Returns the logs of its processes.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Returns a command with the environment of a test, without that of the developer.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchhook"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SWITCHHOOK_")) {
            command.env_remove(name);
        }
        command
            .env("SWITCHHOOK_DATA_DIR", self.folder.path())
            .env("SWITCHHOOK_SHUTDOWN_DELAY", "0s")
            .env("SWITCHHOOK_WEBHOOK_ALLOW", "127.0.0.0/8,::1/128,http");
        if let Some(database) = &self.database {
            command.env("SWITCHHOOK_DATABASE_URL", database);
        }
        command.envs(self.settings.iter().map(|(variable, value)| (variable, value)));
        command
    }

    /// Starts the service on a free port and waits until it reports where it listens.
    pub(crate) fn serve(&self) -> Process {
        self.start(self.command())
    }

    /// The same with only these roles.
    pub(crate) fn serve_as(&self, roles: &str) -> Process {
        self.serve_with("SWITCHHOOK_ROLES", roles)
    }

    /// The same with this environment variable.
    pub(crate) fn serve_with(&self, variable: &str, value: &str) -> Process {
        let mut command = self.command();
        command.env(variable, value);
        self.start(command)
    }

    /// The same after these shell commands, such as `ulimit`.
    pub(crate) fn serve_after(&self, commands: &str) -> Process {
        let binary = self.command();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{commands} && exec \"$0\" \"$@\"")).arg(binary.get_program());
        for (name, value) in binary.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        self.start(shell)
    }

    /// The same with this standard error.
    pub(crate) fn serve_logging_to(&self, stderr: Stdio) -> Process {
        Process::start(self.command(), stderr)
    }

    fn start(&self, command: Command) -> Process {
        let log = File::options().create(true).append(true).open(self.log_path()).expect("a file for the log");
        Process::start(command, log.into())
    }
}

/// Runs a command that prints one JSON object.
pub(crate) fn json_of(command: &mut Command) -> Value {
    let output = command.output().expect("the binary starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

impl Process {
    fn start(mut command: Command, stderr: Stdio) -> Self {
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the binary starts");
        let stdout = child.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(stdout).lines();
        let base = loop {
            let line = lines.next().expect("it says where it listens before it ends").expect("text");
            if let Some(at) = line.find("http://") {
                break line[at..].split_whitespace().next().expect("an address").trim_end_matches('/').to_owned();
            }
        };
        // The output is drained, because a full pipe would stop the service.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, base }
    }

    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name: `TERM`, `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.child.id())).status();
        assert!(sent.expect("a shell").success(), "the process runs");
    }

    /// Waits until it exits.
    pub(crate) async fn ended(mut self) {
        let ended = tokio::task::spawn_blocking(move || self.child.wait().expect("it is ours"));
        let status = tokio::time::timeout(super::TIMEOUT, ended).await.expect("it ends in time").expect("no panic");
        assert!(status.success(), "{status}");
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is ours");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Already gone is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
