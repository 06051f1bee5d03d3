//! `switchhook replay`: runs ended calls again from the logs of their inputs.

use std::process::ExitCode;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::Value;
use switchhook_core::agent::AgentConfig;
use switchhook_core::id::{AgentId, CallId};
use switchhook_core::replay::{Comparison, Figures, InputLog, NotComparable, TurnStrategy, rerun, simulate};

use super::{CliError, output};
use crate::config::Config;
use crate::store::Store;
use crate::store::calls::decisions::{self, DecisionEntry};
use crate::store::calls::inputs;
use crate::talk::driver::MAX_DECISIONS;

/// Arguments of `switchhook replay`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Ids of calls.
    #[arg(required_unless_present = "last", conflicts_with = "last", value_name = "CALL_ID")]
    calls: Vec<CallId>,
    /// Replay so many of the last calls.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    last: Option<u32>,
    /// With --last: only calls of this agent.
    #[arg(long, value_name = "AGENT_ID", requires = "last", conflicts_with = "calls")]
    agent: Option<AgentId>,
    /// Change a setting of the agent, such as turn_taking.eagerness=low, and say what would have been different. Repeatable.
    #[arg(long = "set", value_name = "SETTING=VALUE", value_parser = setting)]
    settings: Vec<(String, Value)>,
}

/// A number, `true`, a list… as JSON; anything else is text.
fn setting(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("must be SETTING=VALUE, such as turn_taking.eagerness=low")?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}

pub(super) async fn run(args: Args, config: &Config, json: bool) -> Result<ExitCode, CliError> {
    let store = Store::open_migrated(&config.database_url()).await?;
    let done = execute(&args, &store, json).await;
    store.close().await;
    done
}

async fn execute(args: &Args, store: &Store, json: bool) -> Result<ExitCode, CliError> {
    let ids = match args.last {
        Some(count) => inputs::last_for_operator(&mut store.read().await?, args.agent, count).await?,
        None => args.calls.clone(),
    };
    if ids.is_empty() {
        return Err(anyhow::anyhow!("no call has a log. Calls are logged while `replay_days` is not 0.").into());
    }
    let asked = ids.len();
    let bar = progress(asked);
    let mut replays = Vec::new();
    for id in ids {
        let replayed = replay(store, id, &args.settings).await;
        // One unreadable call is no reason to say nothing about the others.
        match replayed {
            Err(CliError::Failed(error)) if args.last.is_some() => {
                bar.suspend(|| output::note(&output::plain(&format!("call {id} left out: {error:#}"))));
            }
            other => replays.push(other?),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if replays.is_empty() {
        return Err(anyhow::anyhow!("none of {asked} calls could be replayed, for the reasons above").into());
    }
    let report = Report::of(replays);
    output::show(json, &report, Report::print)?;
    Ok(if report.differ.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn progress(calls: usize) -> ProgressBar {
    let target = if calls > 20 { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(calls as u64), target);
    let style = ProgressStyle::with_template("Replaying [{bar:30}] {pos}/{len} calls, {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A call that was run again.
struct Replay {
    id: CallId,
    decisions: Vec<DecisionEntry>,
    /// How the decisions relate to those that were made.
    comparison: Comparison,
    /// Whether the log has no more than the beginning of the call.
    is_cut: bool,
    as_it_was: Figures,
    /// With the settings as they were, and with the others.
    simulated: Option<(Figures, Figures)>,
}

async fn replay(store: &Store, id: CallId, settings: &[(String, Value)]) -> Result<Replay, CliError> {
    let missing =
        "has no log. It is live, was logged by no program, or its words were deleted; logs are kept for `replay_days`";
    let mut conn = store.read().await?;
    let logged = inputs::get_for_operator(&mut conn, id).await?.with_context(|| format!("call {id} {missing}"))?;
    let decided = decisions::list(&mut conn, logged.tenant, id).await?;
    drop(conn);
    let text = logged.log().with_context(|| format!("the log of call {id} is damaged"))?;
    let log = InputLog::parse(&text).with_context(|| format!("the log of call {id} cannot be read"))?;
    let again = rerun(&log);
    let decisions: Vec<DecisionEntry> = again.decisions.iter().map(DecisionEntry::from).collect();
    let comparison = log.compare(&decisions, &decided, MAX_DECISIONS);
    let simulated = if settings.is_empty() { None } else { Some(compared(&log, settings)?) };
    Ok(Replay { id, decisions, comparison, is_cut: log.is_cut(), as_it_was: again.figures, simulated })
}

fn compared(log: &InputLog, settings: &[(String, Value)]) -> Result<(Figures, Figures), CliError> {
    if log.header.strategy == TurnStrategy::Realtime {
        let words = "a speech-to-speech model takes turns by itself: settings of the agent change nothing";
        return Err(CliError::Failed(anyhow::anyhow!(words)));
    }
    let other = changed(&log.header.agent, settings).map_err(CliError::Usage)?;
    Ok((simulate(log, &log.header.agent).1, simulate(log, &other).1))
}

/// The agent with other settings.
fn changed(agent: &AgentConfig, settings: &[(String, Value)]) -> Result<AgentConfig, String> {
    let mut value = serde_json::to_value(agent).map_err(|error| error.to_string())?;
    for (name, new) in settings {
        let pointer = format!("/{}", name.replace('.', "/"));
        let old = value.pointer_mut(&pointer).ok_or_else(|| unknown(name))?;
        *old = new.clone();
    }
    let agent: AgentConfig = serde_json::from_value(value).map_err(|error| format!("--set: {error}"))?;
    match agent.validate().first() {
        Some(error) => Err(format!("--set {}: {}", error.path, error.message)),
        None => Ok(agent),
    }
}

fn unknown(name: &str) -> String {
    format!(
        "--set: an agent has no setting {name}. Those of turn-taking: turn_taking.eagerness, .min_silence_ms, .max_silence_ms, \
        .speculative; interruption.enabled, .min_speech_ms, .min_words, .backchannels"
    )
}

/// What is printed.
#[derive(Serialize)]
struct Report {
    calls: usize,
    /// Calls of which other decisions were made, by another version of the program.
    differ: Vec<CallId>,
    /// Calls that came to other decisions, which says nothing about the program.
    not_comparable: Vec<LeftOpen>,
    /// Calls whose logs became too long: they are replayed, counted and compared as far as these go.
    cut: Vec<CallId>,
    as_it_was: Shown,
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    with_settings: Option<Shown>,
    /// Of a single call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<DecisionEntry>,
}

/// A call whose decisions cannot be compared.
#[derive(Serialize)]
struct LeftOpen {
    call: CallId,
    reason: NotComparable,
}

/// Figures, as they are printed.
#[derive(Clone, Serialize)]
struct Shown {
    turns: u32,
    early: u32,
    heard_early: u32,
    interruptions: u32,
    false_interruptions: u32,
    backchannels: u32,
    speculations: u32,
    discarded: u32,
    response_p50_ms: Option<i64>,
    response_p95_ms: Option<i64>,
}

impl From<&Figures> for Shown {
    fn from(figures: &Figures) -> Self {
        Self {
            turns: figures.turns,
            early: figures.early,
            heard_early: figures.heard_early,
            interruptions: figures.interruptions,
            false_interruptions: figures.false_interruptions,
            backchannels: figures.backchannels,
            speculations: figures.speculations,
            discarded: figures.discarded,
            response_p50_ms: figures.response_percentile(50),
            response_p95_ms: figures.response_percentile(95),
        }
    }
}

impl Shown {
    fn rows(&self) -> [(&'static str, String); 10] {
        let ms = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"));
        [
            ("turns of the caller", self.turns.to_string()),
            ("the caller went on within 1.5 s", self.early.to_string()),
            ("and had heard the agent by then", self.heard_early.to_string()),
            ("interruptions", self.interruptions.to_string()),
            ("false interruptions", self.false_interruptions.to_string()),
            ("backchannels", self.backchannels.to_string()),
            ("requests before the end of a turn", self.speculations.to_string()),
            ("of those discarded", self.discarded.to_string()),
            ("response time, median", ms(self.response_p50_ms)),
            ("response time, 95 %", ms(self.response_p95_ms)),
        ]
    }
}

/// Figures of several calls.
fn sum<'a>(figures: impl Iterator<Item = &'a Figures>) -> Shown {
    let mut all = Figures::default();
    figures.for_each(|figures| all.add(figures));
    Shown::from(&all)
}

impl Report {
    fn of(mut replays: Vec<Replay>) -> Self {
        let decisions = match replays.as_mut_slice() {
            [only] => std::mem::take(&mut only.decisions),
            _ => Vec::new(),
        };
        let simulated: Vec<&(Figures, Figures)> =
            replays.iter().filter_map(|replay| replay.simulated.as_ref()).collect();
        let any = !simulated.is_empty();
        let ids = |wanted: fn(&Replay) -> bool| -> Vec<CallId> {
            replays.iter().filter(|replay| wanted(replay)).map(|replay| replay.id).collect()
        };
        let left_open = replays.iter().filter_map(|replay| match replay.comparison {
            Comparison::NotComparable(reason) => Some(LeftOpen { call: replay.id, reason }),
            Comparison::Same | Comparison::Different => None,
        });
        Self {
            calls: replays.len(),
            differ: ids(|replay| replay.comparison == Comparison::Different),
            not_comparable: left_open.collect(),
            cut: ids(|replay| replay.is_cut),
            as_it_was: sum(replays.iter().map(|replay| &replay.as_it_was)),
            simulated: any.then(|| sum(simulated.iter().map(|(same, _)| same))),
            with_settings: any.then(|| sum(simulated.iter().map(|(_, other)| other))),
            decisions,
        }
    }

    fn print(&self) {
        if !self.decisions.is_empty() && self.simulated.is_none() {
            output::table(&DECISION_COLUMNS, &self.decisions.iter().map(decision_row).collect::<Vec<_>>());
            output::line("");
        }
        let columns: Vec<&Shown> = [Some(&self.as_it_was), self.simulated.as_ref(), self.with_settings.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        let heading = ["", "AS IT WAS", "SIMULATED", "WITH THESE SETTINGS"];
        let rows: Vec<Vec<String>> = (0..self.as_it_was.rows().len())
            .map(|row| {
                let name = self.as_it_was.rows()[row].0.to_owned();
                std::iter::once(name).chain(columns.iter().map(|column| column.rows()[row].1.clone())).collect()
            })
            .collect();
        output::table(&heading[..=columns.len()], &rows);
        self.print_conclusion();
    }

    fn print_conclusion(&self) {
        output::line("");
        if self.simulated.is_some() {
            output::line(
                "Compare the last two columns: both are simulated, with the caller, the providers and the line as they were. Callers \
                 who would have behaved differently are not guessed.",
            );
        }
        for text in self.conclusion() {
            output::line(&text);
        }
    }

    /// Returns the conclusion of the comparison, the good news last.
    fn conclusion(&self) -> Vec<String> {
        let (calls, mut lines) = (self.calls, Vec::new());
        if !self.differ.is_empty() {
            let differ = count(
                self.differ.len(),
                calls,
                "comes to other decisions than it",
                "come to other decisions than they",
            );
            lines.push(format!("{differ} did, held by another version of the program:"));
            lines.extend(listed(self.differ.iter()));
        }
        if !self.not_comparable.is_empty() {
            let open = count(self.not_comparable.len(), calls, "is not comparable", "are not comparable");
            lines.push(format!("{open}: words were redacted, and decisions depend on words."));
            lines.extend(listed(self.not_comparable.iter().map(|open| &open.call)));
        }
        if !self.cut.is_empty() {
            let cut = count(
                self.cut.len(),
                calls,
                "is replayed to the end of its log",
                "are replayed to the ends of their logs",
            );
            lines.push(format!("{cut}, which became too long: what followed is not counted."));
            lines.extend(listed(self.cut.iter()));
        }
        match calls - self.differ.len() - self.not_comparable.len() {
            0 => {}
            1 if calls == 1 => lines.push("The replay came to the same decisions as the call.".to_owned()),
            same if same == calls => {
                lines.push(format!("The replays of {calls} calls came to the same decisions as the calls."));
            }
            same => {
                lines.push(format!("The replays of {same} of {calls} calls came to the same decisions as the calls."));
            }
        }
        lines
    }
}

/// So many of the calls, with a verb.
fn count(some: usize, calls: usize, one: &str, several: &str) -> String {
    match (some, calls) {
        (1, 1) => format!("The call {one}"),
        (1, _) => format!("1 of {calls} calls {one}"),
        _ => format!("{some} of {calls} calls {several}"),
    }
}

/// The first of them, one a line.
fn listed<'a>(calls: impl Iterator<Item = &'a CallId>) -> impl Iterator<Item = String> {
    calls.take(10).map(|id| format!("  {id}"))
}

const DECISION_COLUMNS: [&str; 5] = ["AT", "DECISION", "SILENCE", "END", "EVIDENCE"];

fn decision_row(decision: &DecisionEntry) -> Vec<String> {
    let ms = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), |ms| ms.to_string());
    let silence = match (decision.silence_ms, decision.silence_needed_ms) {
        (None, None) => String::new(),
        (silence, None) => format!("{} ms", ms(silence)),
        (silence, needed) => format!("{} / {} ms", ms(silence), ms(needed)),
    };
    let evidence = decision.evidence.iter().map(|found| format!("{} {:+.1}", found.name, found.value * found.weight));
    let seconds = decision.at_ms / 1_000;
    vec![
        format!("{}:{:02}.{:03}", seconds / 60, seconds % 60, decision.at_ms % 1_000),
        serde_json::to_value(decision.kind)
            .ok()
            .and_then(|kind| Some(kind.as_str()?.replace('_', " ")))
            .unwrap_or_default(),
        silence,
        decision.probability.map_or_else(String::new, |probability| format!("{:.0} %", probability * 100.0)),
        evidence.collect::<Vec<_>>().join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How calls compare, and whether their logs were cut.
    type Calls = &'static [(Comparison, bool)];

    const REDACTED: Comparison = Comparison::NotComparable(NotComparable::Redacted);

    fn report(calls: Calls) -> Report {
        let replay = |(number, (comparison, is_cut)): (u8, &(Comparison, bool))| Replay {
            id: format!("0198c6a0-0000-7000-8000-0000000000{number:02}").parse().expect("an id"),
            decisions: Vec::new(),
            comparison: *comparison,
            is_cut: *is_cut,
            as_it_was: Figures::default(),
            simulated: None,
        };
        Report::of((1..).zip(calls).map(replay).collect())
    }

    #[test]
    fn a_conclusion_claims_no_more_than_was_compared() {
        use Comparison::{Different, Same};
        let id = |number: u8| format!("  0198c6a0-0000-7000-8000-0000000000{number:02}");
        let (other, open) =
            ("held by another version of the program:", "words were redacted, and decisions depend on words.");
        let cut = "which became too long: what followed is not counted.";
        let table: [(Calls, Vec<String>); 6] = [
            (&[(Same, false)], vec!["The replay came to the same decisions as the call.".to_owned()]),
            (
                &[(Same, false), (Same, false)],
                vec!["The replays of 2 calls came to the same decisions as the calls.".to_owned()],
            ),
            (&[(Different, false)], vec![format!("The call comes to other decisions than it did, {other}"), id(1)]),
            (&[(REDACTED, false)], vec![format!("The call is not comparable: {open}"), id(1)]),
            (
                &[(Same, true)],
                vec![
                    format!("The call is replayed to the end of its log, {cut}"),
                    id(1),
                    "The replay came to the same decisions as the call.".to_owned(),
                ],
            ),
            (
                &[(REDACTED, false), (Same, false), (Different, false), (REDACTED, true)],
                vec![
                    format!("1 of 4 calls comes to other decisions than it did, {other}"),
                    id(3),
                    format!("2 of 4 calls are not comparable: {open}"),
                    id(1),
                    id(4),
                    format!("1 of 4 calls is replayed to the end of its log, {cut}"),
                    id(4),
                    "The replays of 1 of 4 calls came to the same decisions as the calls.".to_owned(),
                ],
            ),
        ];
        for (calls, expected) in table {
            assert_eq!(report(calls).conclusion(), expected, "{calls:?}");
        }
    }

    #[test]
    fn calls_that_cannot_be_compared_are_listed_with_the_reason() {
        let shown = serde_json::to_value(report(&[(REDACTED, true), (Comparison::Same, false)])).expect("JSON");
        let id = "0198c6a0-0000-7000-8000-000000000001";
        assert_eq!(shown["differ"], serde_json::json!([]));
        assert_eq!(shown["not_comparable"], serde_json::json!([{ "call": id, "reason": "redacted" }]));
        assert_eq!(shown["cut"], serde_json::json!([id]));
    }
}
