//! `switchhook doctor`: what is wrong, and how to mend it. Nothing is changed, and it does not matter whether the service runs.

mod carriers;
mod machine;
mod network;
mod stored;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;

use super::{Failure, output};
use crate::config::{Config, ConfigError};

/// How one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// As it should be.
    Ok,
    /// Works, but somebody should know.
    Warning,
    /// Does not work.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    name: String,
    status: Status,
    /// One sentence.
    detail: String,
    /// What to do about it.
    mend: Option<String>,
}

impl Finding {
    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), status: Status::Ok, detail: detail.into(), mend: None }
    }

    fn warning(name: impl Into<String>, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { status: Status::Warning, mend: Some(mend.into()), ..Self::ok(name, detail) }
    }

    fn problem(name: impl Into<String>, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { status: Status::Problem, ..Self::warning(name, detail, mend) }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Finding>,
}

pub(super) async fn run(config: Result<Arc<Config>, ConfigError>, json: bool) -> Result<ExitCode, Failure> {
    let paper = Paper { json, colours: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() };
    let checks = match config {
        Ok(config) => examine(&config, &paper).await,
        Err(error) => {
            let mend = "Correct it there; docs/operations.md has every setting.";
            vec![paper.told(Finding::problem("configuration", error.to_string(), mend))]
        }
    };
    let ok = checks.iter().all(|finding| finding.status != Status::Problem);
    if json {
        output::json(&Report { ok, checks })?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn examine(config: &Arc<Config>, paper: &Paper) -> Vec<Finding> {
    let mut checks = Vec::new();
    let mut tell = |findings: Vec<Finding>| checks.extend(findings.into_iter().map(|finding| paper.told(finding)));
    tell(vec![configuration(config)]);
    tell(machine::data_directory(config).await);
    let vault = machine::master_key(config);
    tell(vec![vault.0]);
    tell(machine::models(config));
    let (port, instance) = network::port(config).await;
    tell(vec![port]);
    tell(network::public_address(config, instance).await);
    let (database, store) = stored::database(config).await;
    tell(database);
    if let Some(store) = store {
        tell(stored::tenants(config, &store, vault.1).await);
        store.close().await;
    }
    checks
}

fn configuration(config: &Config) -> Finding {
    let roles: Vec<_> = config.roles.iter().map(|role| format!("{role:?}").to_lowercase()).collect();
    let detail = format!("It can be read; this node has the roles {}.", roles.join(", "));
    if config.without_effect.is_empty() {
        return Finding::ok("configuration", detail);
    }
    let unused = config.without_effect.join(", ");
    Finding::warning("configuration", format!("{unused} has no effect in this version."), "Remove what has no effect.")
}

/// Where findings are told as they are made.
struct Paper {
    json: bool,
    colours: bool,
}

impl Paper {
    fn told(&self, finding: Finding) -> Finding {
        if !self.json {
            let (word, colour) = match finding.status {
                Status::Ok => ("ok", "32"),
                Status::Warning => ("warning", "33"),
                Status::Problem => ("problem", "31"),
            };
            let word = format!("{word:<8}");
            let word = if self.colours { format!("\u{1b}[{colour}m{word}\u{1b}[0m") } else { word };
            let plain = |text: &str| text.replace(char::is_control, " ");
            output::line(&format!("{word} {}: {}", plain(&finding.name), plain(&finding.detail)));
            if let Some(mend) = &finding.mend {
                output::line(&format!("         to mend it: {}", plain(mend)));
            }
        }
        finding
    }
}
