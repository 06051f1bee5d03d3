//! A PostgreSQL server for one test: it can be restarted, and committed data is on disk.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tempfile::TempDir;

use super::database;

/// The directory of PostgreSQL versions on Debian and Ubuntu.
const INSTALLED: &str = "/usr/lib/postgresql";

/// How a server is stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// Sessions are ended and everything is written.
    Fast,
    /// As after a crash: the next start recovers from the log.
    Immediate,
}

/// A running server. Stopped and deleted when dropped.
pub(crate) struct Server {
    folder: TempDir,
    programs: PathBuf,
    /// The user that runs it when we are root, which PostgreSQL refuses.
    owner: Option<&'static str>,
}

impl Server {
    /// Starts a server that listens on a Unix socket only.
    pub(crate) fn start() -> Self {
        Self::with_connections(400)
    }

    /// The same with this `max_connections`.
    pub(crate) fn with_connections(most: u32) -> Self {
        // A socket path is limited to 107 bytes, so the environment's folder for temporary files is not used.
        let folder = tempfile::Builder::new().prefix("switchhook-postgres.").tempdir_in("/tmp").expect("a folder");
        let server = Self { programs: programs(), owner: is_root().then_some("postgres"), folder };
        if let Some(owner) = server.owner {
            let given = Command::new("chown").arg(owner).arg(server.folder.path()).status().expect("chown");
            assert!(given.success(), "the user {owner} exists where PostgreSQL is installed");
        }
        let data = server.data();
        let made = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"];
        server.run("initdb", made.into_iter().chain([data.as_str()]));
        let socket = server.folder.path().display();
        let options = format!("-k {socket} -c listen_addresses= -c max_connections={most}");
        let log = server.path("server.log");
        server.run("pg_ctl", ["-D", &data, "-l", &log, "-o", &options, "-w", "start"]);
        server
    }

    /// Creates a new, empty database. Returns its URL.
    pub(crate) async fn database(&self) -> String {
        let name = database::new_name();
        self.execute(&[&format!("CREATE DATABASE {name}")]).await;
        database::with_database(&self.address(), &name)
    }

    /// Executes statements as its superuser, outside any test's database.
    pub(crate) async fn execute(&self, statements: &[&str]) {
        let mut connection = PgConnection::connect(&self.address()).await.expect("it takes connections");
        for statement in statements {
            connection.execute(AssertSqlSafe(statement.to_string())).await.expect("a valid statement");
        }
    }

    /// Returns the path of its Unix socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join(".s.PGSQL.5432")
    }

    fn address(&self) -> String {
        format!("postgres://postgres@localhost/postgres?host={}", self.folder.path().display())
    }

    /// Restarts it; it accepts connections when this returns.
    pub(crate) fn restart(&self, how: Stop) {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        let (data, log) = (self.data(), self.path("server.log"));
        self.run("pg_ctl", ["-D", &data, "-l", &log, "-m", mode, "-w", "restart"]);
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn data(&self) -> String {
        self.path("data")
    }

    fn run<'a>(&self, program: &str, arguments: impl IntoIterator<Item = &'a str>) {
        let said = File::create(self.folder.path().join("said")).expect("a file");
        let status = self.command(program).args(arguments).stdout(Stdio::null()).stderr(said).status();
        let said = std::fs::read_to_string(self.folder.path().join("said")).unwrap_or_default();
        assert!(status.expect("the program starts").success(), "{program}: {said}");
    }

    /// Returns a command of PostgreSQL, run as its owner. It must not inherit a pipe: the server would hold it open.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = match self.owner {
            Some(owner) => {
                let mut command = Command::new("runuser");
                command.args(["-u", owner, "--"]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.current_dir("/");
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        // A server that no longer runs is fine.
        let _ = stop.args(["-D", &self.data(), "-m", "immediate", "-w", "stop"]).stdout(Stdio::null()).status();
    }
}

/// Returns the directory of the newest installation, else the one on the PATH.
fn programs() -> PathBuf {
    let version = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let installed = std::fs::read_dir(INSTALLED).into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = installed.filter(|path| path.join("bin/initdb").exists()).max_by_key(|path| version(path));
    let on_path = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).find(|folder| folder.join("initdb").exists())
    };
    newest
        .map(|path| path.join("bin"))
        .or_else(on_path)
        .expect("these tests need PostgreSQL; on Debian and Ubuntu: apt install postgresql")
}

fn is_root() -> bool {
    let said = Command::new("id").arg("-u").output().expect("id");
    said.stdout.trim_ascii() == b"0"
}
