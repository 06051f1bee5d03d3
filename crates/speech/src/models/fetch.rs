//! Downloads wheels with `pip`, which has the settings of the package index and the proxy.
//!
//! pip runs as a child process with `--require-hashes` and neither builds nor installs anything; the hash is checked again afterwards. Its
//! environment can point to a private package index. Where there is only uv, `uvx` gets pip first.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::manifest::Model;
use super::scratch::ScratchDir;
use super::{ModelError, Progress, Stage};

/// Ways to call pip, in order.
const CLIENTS: &[&[&str]] = &[&["pip3"], &["pip"], &["python3", "-m", "pip"], &["python", "-m", "pip"], UVX];

/// The pip that uv downloads into its cache.
const UVX: &[&str] = &["uvx", "pip"];

/// Timeout: enough for the 55 MB of the largest wheel at 100 kB/s.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(600);

/// Poll interval of the progress.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Downloads the wheel of `model` into `scratch` and returns its path.
pub(super) fn fetch(
    model: &'static Model,
    scratch: &ScratchDir,
    progress: &dyn Progress,
) -> Result<PathBuf, ModelError> {
    let client =
        CLIENTS.iter().copied().find(|client| is_pip(client)).ok_or(ModelError::NoPip { wheel: model.wheel })?;
    fetch_with(client, DOWNLOAD_TIMEOUT, model, scratch, progress)
}

/// Returns whether this command is pip, or gets it.
fn is_pip(client: &[&str]) -> bool {
    // uvx would download pip to ask it for its version, with no deadline and no message of what fails.
    let asked = if client == UVX { &client[..1] } else { client };
    let version = command(asked).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

fn command(client: &[&str]) -> Command {
    let mut command = Command::new(client[0]);
    command.args(&client[1..]).stdin(Stdio::null());
    command
}

fn fetch_with(
    client: &[&str],
    deadline: Duration,
    model: &'static Model,
    scratch: &ScratchDir,
    progress: &dyn Progress,
) -> Result<PathBuf, ModelError> {
    let folder = scratch.path();
    let lock = folder.join("models.lock");
    let pinned = format!("{}=={} --hash=sha256:{}\n", model.package, model.version, model.wheel_sha256);
    fs::write(&lock, pinned).map_err(ModelError::io(&lock))?;
    let log_path = folder.join("pip.log");
    let log = File::create(&log_path).map_err(ModelError::io(&log_path))?;

    let mut command = command(client);
    command
        .args(["download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"])
        .args(["--disable-pip-version-check", "--no-input", "--progress-bar=off"])
        // The wheels are tagged for one platform because of libraries that are not used here; their models work everywhere.
        .args(["--platform=manylinux2014_x86_64", "--platform=any", "--python-version=3.11"])
        .args(["--implementation=cp", "--abi=none"])
        .arg("--requirement")
        .arg(&lock)
        .arg("--dest")
        .arg(folder)
        // pip downloads into a temporary folder first; inside this one its size can be watched, and it is removed together with this one.
        .envs(["TMPDIR", "TEMP", "TMP"].map(|name| (name, folder)))
        .stderr(log)
        .stdout(Stdio::null());
    let child = command.spawn().map_err(|_| ModelError::NoPip { wheel: model.wheel })?;
    let status = wait(child, deadline, || {
        progress.report(model.id, Stage::Download, scratch.size().min(model.wheel_bytes), model.wheel_bytes);
    });
    match status.map_err(ModelError::io(folder))? {
        None => Err(ModelError::PipTimeout { wheel: model.wheel, seconds: deadline.as_secs() }),
        Some(status) if !status.success() => Err(ModelError::PipFailed {
            package: model.package,
            version: model.version,
            message: last_words(&log_path),
            wheel: model.wheel,
        }),
        Some(_) => Ok(folder.join(model.wheel)),
    }
}

/// Waits for `child` and reports progress; kills it at the deadline and returns `None`.
fn wait(mut child: Child, deadline: Duration, mut look: impl FnMut()) -> std::io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        look();
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Returns the last error of pip or uvx, one line, truncated.
fn last_words(log: &Path) -> String {
    let log = fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| line.starts_with("ERROR") || line.starts_with("error:");
    let line = lines().rfind(is_error).or_else(|| lines().next_back()).unwrap_or("no error message");
    line.trim_start_matches("ERROR:").trim_start_matches("error:").trim().chars().take(200).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::models::manifest::MODELS;
    use crate::models::progress::NoProgress;

    /// Writes a fake pip: a script for `sh`.
    fn pretend(scratch: &ScratchDir, script: &str) -> String {
        let path = scratch.path().join("pip");
        fs::write(&path, script).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn scratch() -> ScratchDir {
        ScratchDir::new(&std::env::temp_dir().join("switchhook-fetch-tests")).unwrap()
    }

    #[test]
    fn a_refusal_is_reported_in_pips_own_words_with_the_way_out() {
        let scratch = scratch();
        let pip = pretend(&scratch, "echo 'WARNING: odd' >&2; echo 'ERROR: No matching distribution' >&2; exit 1");
        let error =
            fetch_with(&["sh", &pip], DOWNLOAD_TIMEOUT, &MODELS[0], &scratch, &NoProgress).unwrap_err().to_string();
        assert!(error.contains("(No matching distribution)"), "{error}");
        assert!(error.contains("--from FILE.whl"), "{error}");
    }

    #[test]
    fn a_uvx_that_cannot_get_pip_is_reported_without_its_hints() {
        let scratch = scratch();
        let uvx =
            "echo 'error: Failed to fetch: `pip`' >&2; echo '  cause: dns error' >&2; echo 'hint: try' >&2; exit 2";
        let uvx = pretend(&scratch, uvx);
        let error =
            fetch_with(&["sh", &uvx], DOWNLOAD_TIMEOUT, &MODELS[0], &scratch, &NoProgress).unwrap_err().to_string();
        assert!(error.contains("(Failed to fetch: `pip`)"), "{error}");
    }

    #[test]
    fn a_pip_that_hangs_is_ended_at_the_deadline() {
        let scratch = scratch();
        let pip = pretend(&scratch, "exec sleep 60");
        let started = Instant::now();
        let error =
            fetch_with(&["sh", &pip], Duration::from_millis(50), &MODELS[0], &scratch, &NoProgress).unwrap_err();
        assert!(matches!(error, ModelError::PipTimeout { .. }), "{error}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn pip_is_asked_for_exactly_the_pinned_wheel_and_builds_nothing() {
        let scratch = scratch();
        let pip = pretend(
            &scratch,
            "here=$(dirname \"$0\"); echo \"$@\" > \"$here/asked\"; cp \"$here/models.lock\" \"$here/pinned\"",
        );
        let path = fetch_with(&["sh", &pip], DOWNLOAD_TIMEOUT, &MODELS[1], &scratch, &NoProgress).unwrap();
        assert_eq!(path.file_name().unwrap(), MODELS[1].wheel);
        let asked = fs::read_to_string(scratch.path().join("asked")).unwrap();
        assert!(asked.starts_with("download "), "{asked}");
        assert!(asked.contains("--require-hashes --only-binary=:all:"), "{asked}");
        let pinned = fs::read_to_string(scratch.path().join("pinned")).unwrap();
        assert_eq!(pinned, format!("hibari-tts==0.2.1 --hash=sha256:{}\n", MODELS[1].wheel_sha256));
    }
}
