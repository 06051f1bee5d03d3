//! `switchhook doctor`: finds problems and their fixes. It changes nothing and works whether or not the service runs.

mod carriers;
mod file_system;
mod machine;
mod network;
mod sign_in;
mod stored;
mod surroundings;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;

use super::{CliError, output};
use crate::config::{Config, ConfigError};

/// The status of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// No problem.
    Ok,
    /// It works, but needs attention.
    Warning,
    /// It does not work.
    Problem,
}

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    name: String,
    status: Status,
    /// One sentence.
    detail: String,
    /// How to fix it.
    fix: Option<String>,
}

impl Finding {
    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), status: Status::Ok, detail: detail.into(), fix: None }
    }

    fn warning(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: Status::Warning, fix: Some(fix.into()), ..Self::ok(name, detail) }
    }

    fn problem(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: Status::Problem, ..Self::warning(name, detail, fix) }
    }
}

/// The output of `--json`.
#[derive(Serialize)]
struct DoctorReport {
    ok: bool,
    checks: Vec<Finding>,
}

pub(super) async fn run(config: Result<Arc<Config>, ConfigError>, json: bool) -> Result<ExitCode, CliError> {
    let printer = Printer { json, colours: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() };
    let checks = match config {
        Ok(config) => examine(&config, &printer).await,
        Err(error) => {
            let fix = "Correct the setting; docs/operations.md lists all of them.";
            vec![printer.print(Finding::problem("configuration", error.to_string(), fix))]
        }
    };
    let ok = checks.iter().all(|finding| finding.status != Status::Problem);
    if json {
        output::json(&DoctorReport { ok, checks })?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn examine(config: &Arc<Config>, printer: &Printer) -> Vec<Finding> {
    let mut checks = Vec::new();
    let mut print = |findings: Vec<Finding>| checks.extend(findings.into_iter().map(|finding| printer.print(finding)));
    print(vec![configuration(config)]);
    print(surroundings::settings(config));
    print(machine::data_directory(config).await);
    print(machine::database_space(config).await.into_iter().collect());
    print(file_system::of_database(config).into_iter().collect());
    let vault = machine::master_key(config);
    print(vec![vault.0]);
    print(machine::models(config));
    print(vec![machine::open_files(config)]);
    let (port, instance) = network::port(config).await;
    print(vec![port]);
    print(vec![network::authorities(config)]);
    print(network::public_address(config, instance).await);
    print(sign_in::provider(config).await);
    let (database, store) = stored::database(config).await;
    print(database);
    if let Some(store) = store {
        print(stored::tenants(config, &store, vault.1).await);
        store.close().await;
    }
    checks
}

fn configuration(config: &Config) -> Finding {
    let roles: Vec<_> = config.roles.iter().map(|role| format!("{role:?}").to_lowercase()).collect();
    let detail = format!("It is valid; this node has the roles {}.", roles.join(", "));
    if config.without_effect.is_empty() {
        return Finding::ok("configuration", detail);
    }
    let unused = config.without_effect.join(", ");
    Finding::warning("configuration", format!("{unused} has no effect in this version."), "Remove or rename it.")
}

/// Prints findings as they arrive.
struct Printer {
    json: bool,
    colours: bool,
}

impl Printer {
    fn print(&self, finding: Finding) -> Finding {
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
            if let Some(fix) = &finding.fix {
                output::line(&format!("         fix: {}", plain(fix)));
            }
        }
        finding
    }
}
