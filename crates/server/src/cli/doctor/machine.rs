//! Checks this machine: data directory, key file, speech models.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use switchhook_runtime::clock::{self, Clock};
use switchhook_speech::models::ModelStore;
use switchhook_vault::Vault;
use tokio::process::Command;

use super::Finding;
use crate::config::{Config, NodeRole};
use crate::open_files;
use crate::recordings::Recordings;

const DATA: &str = "data directory";
const KEY: &str = "master key";
const MODELS: &str = "speech models";
const FILES: &str = "open files";
const SPACE: &str = "space for the database";
/// A supervisor sets the limits of what it starts.
const WHOSE_LIMIT: &str =
    "This is the limit of this command: a service that systemd or a container engine starts has its own.";
/// Free space that causes a warning, and a problem, in kilobytes.
const LITTLE: u64 = 1_000_000;
const TOO_LITTLE: u64 = 100_000;
const WEEK: Duration = Duration::from_secs(7 * 24 * 3_600);

pub(super) async fn data_directory(config: &Config) -> Vec<Finding> {
    let folder = &config.data_dir;
    let shown = folder.display();
    if !folder.exists() {
        return vec![Finding::ok(DATA, format!("{shown} does not exist yet; the first start creates it."))];
    }
    if let Err(error) = write_in(folder) {
        let fix = format!("Change its owner to the user that runs the service: `chown -R USER {shown}`.");
        return vec![Finding::problem(DATA, format!("{shown} is not writable: {error}."), fix)];
    }
    let mut findings = Vec::new();
    let mode = fs::metadata(folder).map_or(0, |data| data.permissions().mode());
    if mode & 0o077 != 0 {
        let detail = format!("{shown} is readable by other users (mode {:o}).", mode & 0o777);
        findings.push(Finding::problem(DATA, detail, format!("Run `chmod 700 {shown}`.")));
    }
    findings.push(match free_kilobytes(folder).await {
        Some(free) => space(folder, free, recorded(folder).await),
        None => Finding::ok(DATA, format!("{shown} is writable.")),
    });
    findings
}

fn space(folder: &Path, free: u64, recorded: u64) -> Finding {
    let detail = format!("{} has {} MB of free space.", folder.display(), free / 1_000);
    let fix = "Free up space, or move the data directory to a larger disk: calls, recordings and the database need it.";
    if free >= LITTLE && free < recorded {
        let detail = format!("{detail} The recordings of the last week took {} MB.", recorded / 1_000);
        let fix = "Free up space, use a larger disk, or keep recordings for fewer days (`privacy.retention_days` of an agent).";
        return Finding::warning(DATA, detail, fix);
    }
    judged(DATA, free, detail, fix)
}

fn judged(name: &str, free: u64, detail: String, fix: &str) -> Finding {
    match free {
        free if free < TOO_LITTLE => Finding::problem(name, detail, fix),
        free if free < LITTLE => Finding::warning(name, detail, fix),
        _ => Finding::ok(name, detail),
    }
}

/// Checks the space for a database file that is not in the data directory itself.
pub(super) async fn database_space(config: &Config) -> Option<Finding> {
    let file = config.database_file()?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder == config.data_dir {
        return None;
    }
    free_kilobytes(folder).await.map(|free| space_for_database(folder, free))
}

fn space_for_database(folder: &Path, free: u64) -> Finding {
    let detail = format!("{} has {} MB of free space.", folder.display(), free / 1_000);
    let fix =
        "Free up space, or move the database to a larger disk: no call is accepted or changed without space for it.";
    judged(SPACE, free, detail, fix)
}

/// Returns the kilobytes of recordings of the last week.
async fn recorded(folder: &Path) -> u64 {
    let since = Clock::system().now() - WEEK;
    let stored = Recordings::below(folder).stored().await;
    stored.iter().filter(|stored| stored.modified > since).map(|stored| stored.bytes).sum::<u64>() / 1_000
}

fn write_in(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!(".doctor-{:016x}", u64::from_ne_bytes(clock::random())));
    OpenOptions::new().write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)
}

/// Parses `df` (POSIX: kilobytes in the fourth column of the second line).
async fn free_kilobytes(folder: &Path) -> Option<u64> {
    let output = Command::new("df").arg("-Pk").arg(folder).output().await.ok()?;
    String::from_utf8(output.stdout).ok()?.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

/// Checks the key if there is one; creates none.
pub(super) fn master_key(config: &Config) -> (Finding, Option<Vault>) {
    let file = Vault::key_file(&config.data_dir);
    if config.master_key.is_none() && !file.exists() {
        let words = format!("There is none yet; the first start creates {}.", file.display());
        return (Finding::ok(KEY, words), None);
    }
    match config.open_vault() {
        Ok(vault) => {
            let from =
                config.master_key.as_ref().map_or_else(|| file.display().to_string(), |_| "the settings".to_owned());
            (Finding::ok(KEY, format!("It is read from {from}.")), Some(vault))
        }
        Err(error) => {
            let fix = "Restore the previous key: no other key opens what it sealed.";
            (Finding::problem(KEY, format!("{error:#}."), fix), None)
        }
    }
}

/// Checks whether as many connections fit as the settings allow. The service raises the limit itself as far as it may.
pub(super) fn open_files(config: &Config) -> Finding {
    files_finding(config, open_files::highest())
}

fn files_finding(config: &Config, files: Option<u64>) -> Finding {
    let Some(limit) = files else { return Finding::ok(FILES, format!("There is no limit. {WHOSE_LIMIT}")) };
    if let Err(error) = open_files::check(files) {
        return Finding::problem(FILES, format!("{error}. {WHOSE_LIMIT}"), "Raise the hard limit to 65536.");
    }
    let wanted = config.listener_bounds();
    let fitted = open_files::fit(wanted, files);
    if fitted.connections == wanted.connections {
        let detail = format!("The hard limit is {limit}: enough for {} connections. {WHOSE_LIMIT}", wanted.connections);
        return Finding::ok(FILES, detail);
    }
    let detail = format!(
        "The hard limit is {limit}: the service takes {} connections, {} from one address, instead of {}. {WHOSE_LIMIT}",
        fitted.connections, fitted.connections_per_address, wanted.connections
    );
    let fix = "Raise the hard limit to 65536 (`LimitNOFILE=` of systemd, `ulimits` of Compose), or lower \
        SWITCHHOOK_MAX_CONNECTIONS.";
    Finding::warning(FILES, detail, fix)
}

pub(super) fn models(config: &Config) -> Vec<Finding> {
    if !config.has_role(NodeRole::Calls) {
        return Vec::new();
    }
    let missing = ModelStore::new(&config.data_dir).missing();
    vec![if missing.is_empty() {
        Finding::ok(MODELS, "All are installed.")
    } else {
        let detail =
            format!("{} is not installed: agents that use local STT or TTS cannot take calls.", missing.join(", "));
        Finding::warning(MODELS, detail, "Run `switchhook models pull`.")
    }]
}

#[cfg(test)]
mod tests {
    use switchhook_core::private::Private;
    use uuid::Uuid;

    use super::*;
    use crate::cli::doctor::Status;

    #[test]
    fn a_limit_of_open_files_that_leaves_fewer_connections_is_reported() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = Config::for_tests(folder.path());
        for (limit, status) in [
            (None, Status::Ok),
            (Some(65_536), Status::Ok),
            (Some(1_024), Status::Warning),
            (Some(24), Status::Problem),
        ] {
            assert_eq!(files_finding(&config, limit).status, status, "{limit:?}");
        }
    }

    #[tokio::test]
    async fn the_space_for_a_database_elsewhere_is_measured() {
        let (folder, elsewhere) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let mut config = Config::for_tests(folder.path());
        assert!(database_space(&config).await.is_none(), "the data directory has a check of its own");
        let at = |path: &Path| Some(Private::new(format!("sqlite://{}", path.join("calls.db").display())));
        config.database_url = at(elsewhere.path());
        let finding = database_space(&config).await.expect("it is measured");
        assert!(finding.detail.contains(&elsewhere.path().display().to_string()), "{}", finding.detail);
        config.database_url = at(&elsewhere.path().join("missing"));
        assert!(database_space(&config).await.is_none(), "the first start creates the folder");
        for (free, status) in [(1_000_000, Status::Ok), (999_999, Status::Warning), (99_999, Status::Problem)] {
            assert_eq!(space_for_database(elsewhere.path(), free).status, status, "{free} kB");
        }
    }

    #[tokio::test]
    async fn space_is_measured_and_little_of_it_is_reported() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(free_kilobytes(folder.path()).await.is_some_and(|free| free > 0), "df is there");
        for (free, recorded, status) in [
            (2_000_000, 1_999_999, Status::Ok),
            (2_000_000, 2_000_001, Status::Warning),
            (999_999, 0, Status::Warning),
            (99_999, 0, Status::Problem),
        ] {
            assert_eq!(space(folder.path(), free, recorded).status, status, "{free} kB, {recorded} kB");
        }
        let recording = Recordings::below(folder.path()).of(Uuid::nil(), Uuid::nil());
        fs::create_dir_all(recording.path().parent().expect("a folder")).expect("created");
        fs::write(recording.path(), vec![0; 5_000]).expect("written");
        assert_eq!(recorded(folder.path()).await, 5);
    }
}
