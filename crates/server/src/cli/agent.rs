//! `switchhook agent …`: which versions of an agent calls get. Works while the service runs and while it is down.

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;
use switchhook_core::Timestamp;
use switchhook_core::agent::{Traffic, TrafficPart};
use switchhook_core::id::TenantId;
use switchhook_runtime::clock::Clock;

use super::{CliError, output};
use crate::config::Config;
use crate::http::error::ApiError;
use crate::http::unknown_query::alike;
use crate::http::{agents as resource, bounds};
use crate::operator;
use crate::store::agents::{self, AgentRow};
use crate::store::page::PageRequest;
use crate::store::{Conn, Store};

/// Maximum number of versions that `versions` lists, besides those that get calls.
const MAX_LISTED_VERSIONS: i64 = 50;

/// Subcommands of `switchhook agent`.
#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// List an agent's newest 50 versions, those that get calls, and the share of new calls that each gets.
    Versions {
        #[command(flatten)]
        agent: Named,
    },
    /// Show how an agent's new calls are split among its versions, or change it. Calls that were accepted before, queued and scheduled
    /// ones among them, keep their version.
    Traffic {
        #[command(flatten)]
        agent: Named,
        /// Versions and their shares, such as `7=90 8=10`; one version alone gets all calls; `newest` stops pinning.
        #[arg(value_name = "VERSION=PERCENT|VERSION|newest")]
        split: Vec<String>,
    },
    /// Send all new calls to an earlier version: the one before the version that gets them now, or the oldest of a split.
    Rollback {
        #[command(flatten)]
        agent: Named,
        /// The version that gets them.
        #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(i64).range(1..))]
        to: Option<i64>,
    },
}

/// An agent by its name.
#[derive(clap::Args, Debug)]
pub(super) struct Named {
    /// Name of the agent.
    name: String,
    /// Id of the tenant; may be left out if exactly one is active.
    #[arg(long, value_name = "ID")]
    tenant: Option<TenantId>,
}

/// The action of a command on an agent.
enum Action {
    ListVersions,
    ShowTraffic,
    Split(Option<Traffic>),
    RollBack,
}

pub(super) async fn run(command: AgentCommand, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let (agent, action) = match command {
        AgentCommand::Versions { agent } => (agent, Action::ListVersions),
        AgentCommand::Traffic { agent, split } if split.is_empty() => (agent, Action::ShowTraffic),
        AgentCommand::Traffic { agent, split } => (agent, Action::Split(parse(&split).map_err(CliError::Usage)?)),
        AgentCommand::Rollback { agent, to: None } => (agent, Action::RollBack),
        AgentCommand::Rollback { agent, to: Some(version) } => (agent, Action::Split(Some(Traffic::all_to(version)))),
    };
    let store = Store::open_migrated(&config.database_url()).await?;
    let done = Box::pin(execute(&store, &agent, action, json)).await;
    store.close().await;
    done.map(|()| ExitCode::SUCCESS)
}

async fn execute(store: &Store, agent: &Named, action: Action, json: bool) -> Result<(), CliError> {
    let tenant = operator::tenant_or_only(store, agent.tenant).await?.map_err(CliError::Usage)?;
    match action {
        Action::ListVersions => return list(&mut store.read().await?, tenant, &agent.name, json).await,
        Action::ShowTraffic => {
            let row = find(&mut store.read().await?, tenant, &agent.name).await?;
            return show(&row, None, json);
        }
        Action::Split(_) | Action::RollBack => {}
    }
    let mut tx = store.begin().await?;
    bounds::lock(&mut tx, tenant).await.map_err(refused)?;
    let row = find(&mut tx, tenant, &agent.name).await?;
    let before = described(row.traffic());
    let wanted = match action {
        Action::Split(wanted) => wanted,
        _ => Some(Traffic::all_to(earlier(&mut tx, &row).await?)),
    };
    let row = resource::set_traffic(&mut tx, row, wanted, Clock::system().now()).await.map_err(refused)?;
    tx.commit().await?;
    show(&row, Some(&before), json)
}

async fn find(conn: &mut Conn, tenant: TenantId, name: &str) -> Result<AgentRow, CliError> {
    if let Some(row) = agents::named(conn, tenant, name).await? {
        return Ok(row);
    }
    let others = agents::list(conn, tenant, PageRequest::first(100)).await?.rows;
    let near = alike(name, others.iter().map(|row| row.name.as_str()));
    let near = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
    Err(CliError::Usage(format!("there is no agent {name:?}{near}")))
}

/// Returns the version that a rollback goes to.
async fn earlier(conn: &mut Conn, row: &AgentRow) -> Result<i64, CliError> {
    let live = row.traffic().map(Traffic::parts).unwrap_or_default().iter().map(|part| part.version);
    let (split, oldest) = (live.len() > 1, live.min().unwrap_or(row.version));
    if split {
        return Ok(oldest);
    }
    let before = agents::versions(conn, row.tenant(), row.agent(), oldest, 1).await?.rows.pop();
    let none = || CliError::Usage(format!("{:?} has no version before version {oldest}", row.name));
    before.map(|version| version.version).ok_or_else(none)
}

async fn list(conn: &mut Conn, tenant: TenantId, name: &str, json: bool) -> Result<(), CliError> {
    let row = find(conn, tenant, name).await?;
    let versions = agents::creation_times(conn, &row, MAX_LISTED_VERSIONS).await?;
    let all_newest = Traffic::all_to(row.version);
    let traffic = row.traffic().unwrap_or(&all_newest);
    let share =
        |version: i64| traffic.parts().iter().find(|part| part.version == version).map_or(0, |part| part.percent);
    if json {
        let version = |(version, created): &(i64, i64)| json!({ "version": version, "created_at": Timestamp::from_micros(*created), "percent": share(*version) });
        return Ok(output::json(&versions.iter().map(version).collect::<Vec<_>>())?);
    }
    let cells = |(version, created): &(i64, i64)| {
        let percent = match share(*version) {
            0 => String::new(),
            percent => format!("{percent}%"),
        };
        vec![version.to_string(), Timestamp::from_micros(*created).to_string(), percent]
    };
    output::table(&["VERSION", "CREATED", "NEW CALLS"], &versions.iter().map(cells).collect::<Vec<_>>());
    Ok(())
}

fn show(row: &AgentRow, before: Option<&str>, json: bool) -> Result<(), CliError> {
    if json {
        let shown = json!({ "id": row.id, "name": row.name, "version": row.version, "traffic": row.traffic() });
        return Ok(output::json(&shown)?);
    }
    output::line(&output::plain(&format!("{}: {}", row.name, described(row.traffic()))));
    if let Some(before) = before {
        output::line(&format!("Before: {before}"));
        output::line("Calls that were accepted before, queued and scheduled ones among them, keep their version.");
    }
    Ok(())
}

fn described(traffic: Option<&Traffic>) -> String {
    match traffic.map(Traffic::parts) {
        None => "new calls get the newest version".to_owned(),
        Some([only]) => format!("new calls get version {}", only.version),
        Some(parts) => {
            let part = |part: &TrafficPart| format!("{}% version {}", part.percent, part.version);
            format!("new calls get {}", parts.iter().map(part).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Reads `7=90 8=10`, `7` or `newest`.
fn parse(split: &[String]) -> Result<Option<Traffic>, String> {
    match split {
        [word] if word == "newest" => return Ok(None),
        [version] if !version.contains('=') => return version_number(version).map(Traffic::all_to).map(Some),
        _ => {}
    }
    let parts = split.iter().map(|text| {
        let (version, percent) = text.split_once('=').ok_or_else(|| format!("{text:?} is not VERSION=PERCENT"))?;
        let percent = percent.trim_end_matches('%').parse().map_err(|_| format!("{text:?} is not VERSION=PERCENT"))?;
        Ok(TrafficPart { version: version_number(version)?, percent })
    });
    let traffic = Traffic::new(parts.collect::<Result<_, String>>()?);
    match traffic.validate().first() {
        Some(error) => Err(format!("the split {}: {}", split.join(" "), error.message)),
        None => Ok(Some(traffic)),
    }
}

fn version_number(text: &str) -> Result<i64, String> {
    text.parse().ok().filter(|version| *version > 0).ok_or_else(|| format!("{text:?} is not the number of a version"))
}

fn refused(error: ApiError) -> CliError {
    if error.is_of_service() {
        return CliError::Failed(anyhow::anyhow!("{}", error.body(None).detail));
    }
    let body = error.body(None);
    let message = body.errors.first().map_or(body.detail.as_str(), |error| error.message.as_str());
    CliError::Usage(message.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Traffic>, String> {
        parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_split_is_read_as_it_is_typed() {
        let part = |version, percent| TrafficPart { version, percent };
        assert_eq!(read("newest"), Ok(None));
        assert_eq!(read("7"), Ok(Some(Traffic::all_to(7))));
        let split = Ok(Some(Traffic::new(vec![part(7, 90), part(8, 10)])));
        assert_eq!((read("7=90 8=10"), read("7=90% 8=10%")), (split.clone(), split));
        for (wrong, said) in [
            ("7=90 8=11", "must add up to 100 percent, not 101"),
            ("7=100 8=0", "must be from 1 to 100"),
            ("7=50 7=50", "repeats version 7"),
            ("7 8", "\"7\" is not VERSION=PERCENT"),
            ("7=x", "\"7=x\" is not VERSION=PERCENT"),
            ("newset", "\"newset\" is not the number of a version"),
            ("0", "\"0\" is not the number of a version"),
        ] {
            assert!(read(wrong).is_err_and(|error| error.contains(said)), "{wrong}: {:?}", read(wrong));
        }
    }
}
