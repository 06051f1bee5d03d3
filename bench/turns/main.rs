//! Turn-taking on telephone audio: how often the agent speaks before callers have finished, how long they wait when they have, and
//! whether it stops for interruptions and for nothing else.
//!
//! The service is the release binary in a separate process with its default settings and the local STT. The corpus is made by this bench;
//! every item is played as one turn of a separate call over a carrier's media stream, and the times are those at the caller's phone.
//! README.md beside this file describes the corpus and the measurements.
//!
//! ```text
//! cargo build --release && target/release/switchhook models pull --data-dir DATA_DIR
//! cargo run --release -p switchhook --example bench-turns -- --data-dir DATA_DIR
//! ```
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::print_stderr, reason = "what was left out is reported at once")]

mod baseline;
mod caller;
mod carrier;
mod corpus;
mod figures;
mod fit;
mod outcome;
mod phone;
mod plot;
mod run;
mod smart_turn;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod world;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use self::baseline::Rule;
use self::corpus::{Class, Corpus, Split};
use self::outcome::Outcome;
use self::plot::Curve;
use self::smart_turn::SmartTurn;
use self::world::Delays;

/// Timers that are drawn, in milliseconds.
const TIMERS_MS: std::ops::RangeInclusive<i64> = 300..=1_600;
const TIMER_STEP: usize = 100;
/// Timers in the table.
const TABLE_TIMERS_MS: [i64; 2] = [500, 800];
/// Smart-turn's own threshold, and those that are drawn.
const THRESHOLD: f32 = 0.5;
const THRESHOLDS: [f32; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 0.95];

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SttChoice {
    /// Moonshine, in the service.
    Local,
    /// One that knows what is said and answers after --stt-delay.
    Scripted,
}

#[derive(Parser)]
struct Args {
    /// Where `switchhook models pull --data-dir` put the models.
    #[arg(long)]
    data_dir: PathBuf,
    /// Where the corpus is; made if it is not there. Default: beside the binaries.
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Which part of it is played: settings are chosen on `tune`, and `test` is only measured.
    #[arg(long, value_enum, default_value = "test")]
    split: Split,
    /// Only items whose id contains one of these.
    #[arg(long)]
    only: Vec<String>,
    /// Only every Nth item of each class.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Calls at the same time. Default: one for each core.
    #[arg(long)]
    calls: Option<usize>,
    #[arg(long, value_enum, default_value = "local")]
    stt: SttChoice,
    /// Milliseconds from the request to finalise to the words, with --stt scripted.
    #[arg(long, default_value_t = 60)]
    stt_delay: u64,
    /// Milliseconds to the model's first word.
    #[arg(long, default_value_t = 100)]
    llm_delay: u64,
    /// Milliseconds to the voice's first audio.
    #[arg(long, default_value_t = 80)]
    tts_delay: u64,
    /// Settings of the agent instead of the defaults, as JSON: {"turn_taking":{"min_silence_ms":600}}.
    #[arg(long, default_value = "{}")]
    agent: String,
    /// What this version is called in tables.
    #[arg(long, default_value = "Switchhook")]
    name: String,
    /// smart-turn-v3.2-cpu.onnx, from the Python package pipecat-ai.
    #[arg(long)]
    smart_turn: Option<PathBuf>,
    /// No calls: only what is computed, and earlier results.
    #[arg(long)]
    baselines_only: bool,
    /// Earlier results, to stand in the table and the drawing too.
    #[arg(long)]
    also: Vec<PathBuf>,
    /// Where results go, as `turns.json` and `turns.svg`. Default: beside the binaries.
    #[arg(long)]
    results: Option<PathBuf>,
    /// Make the corpus and play nothing.
    #[arg(long)]
    corpus_only: bool,
    /// Fit the weights of the evidence for the end of a turn on `tune`, write them to this file, and play nothing. It belongs at
    /// crates/core/src/conversation/cascade/weights.rs.
    #[arg(long)]
    fit: Option<PathBuf>,
    /// Write the items that would be played to this folder, as a corpus of its own, and play nothing.
    #[arg(long)]
    export: Option<PathBuf>,
}

/// A row of the table.
pub(crate) struct System {
    pub(crate) name: String,
    /// `None` if it is not available.
    pub(crate) outcomes: Option<Vec<Outcome>>,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    switchhook_net::install_tls();
    let beside = support::target()?;
    let folder = args.corpus.clone().unwrap_or_else(|| beside.join("turns-corpus"));
    let mut corpus = Corpus::open(&folder, &args.data_dir)?;
    if args.corpus_only {
        return Ok(());
    }
    if let Some(file) = &args.fit {
        return fit::fit(&corpus, &args.data_dir, file);
    }
    choose(&mut corpus, &args);
    anyhow::ensure!(!corpus.clips.is_empty(), "no item is left");
    if let Some(folder) = &args.export {
        return corpus.write(folder);
    }

    let results = args.results.clone().unwrap_or(beside);
    std::fs::create_dir_all(&results)?;
    let mut systems = Vec::new();
    if !args.baselines_only {
        let outcomes = play(&corpus, &args).await?;
        let file = results.join("turns.json");
        let all = json!({ "name": args.name, "split": args.split, "outcomes": outcomes });
        std::fs::write(&file, format!("{all:#}\n"))?;
        println!("{}\n{}\n{}", file.display(), table::classes(&outcomes), table::voices(&outcomes));
        let late = outcomes.iter().map(|outcome| outcome.late_ms).max().unwrap_or_default();
        println!("The bench itself was late by up to {late} ms, which counts as the service's.\n");
        systems.push(System { name: args.name.clone(), outcomes: Some(outcomes) });
    }
    for file in &args.also {
        systems.push(earlier(file)?);
    }
    let mut curves: Vec<Curve> = systems
        .iter()
        .filter_map(|system| Some(Curve { name: system.name.clone(), settings: vec![system.outcomes.clone()?] }))
        .collect();
    compare(&corpus, &args, &mut systems, &mut curves)?;

    println!("{}", table::systems(&systems));
    let file = results.join("turns.svg");
    plot::draw(&curves, &file)?;
    println!("{}", file.display());
    Ok(())
}

/// Keeps only the items to play.
fn choose(corpus: &mut Corpus, args: &Args) {
    corpus.clips.retain(|clip| {
        clip.item.split == args.split
            && (args.only.is_empty() || args.only.iter().any(|part| clip.item.id.contains(part)))
    });
    let mut seen = [0; Class::ALL.len()];
    corpus.clips.retain(|clip| {
        let count = &mut seen[clip.item.class as usize];
        *count += 1;
        (*count - 1_usize).is_multiple_of(args.every.max(1))
    });
}

async fn play(corpus: &Corpus, args: &Args) -> anyhow::Result<Vec<Outcome>> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let agent: Value = serde_json::from_str(&args.agent).context("--agent is JSON")?;
    let settings = run::Settings {
        data_dir: &args.data_dir,
        calls: args.calls.unwrap_or(cores).clamp(1, corpus.clips.len()),
        delays: Delays {
            stt: Duration::from_millis(args.stt_delay),
            llm: Duration::from_millis(args.llm_delay),
            tts: Duration::from_millis(args.tts_delay),
        },
        stt: args.stt,
        agent,
    };
    run::run(corpus.clips.clone(), corpus, &settings).await
}

/// Adds what is computed: timers, and smart-turn if it is there. Providers take the same times as in calls.
fn compare(corpus: &Corpus, args: &Args, systems: &mut Vec<System>, curves: &mut Vec<Curve>) -> anyhow::Result<()> {
    let after_ms = i64::try_from(args.stt_delay + args.llm_delay + args.tts_delay)?;
    let timer = |ms: i64| baseline::apply(corpus, &Rule::Timer(ms), after_ms);
    for ms in TABLE_TIMERS_MS {
        systems.push(System { name: format!("a fixed timer of {ms} ms"), outcomes: Some(timer(ms)) });
    }
    let settings = TIMERS_MS.step_by(TIMER_STEP).map(timer).collect();
    curves.push(Curve { name: "fixed timers".to_owned(), settings });
    let name = "smart-turn v3.2, after 200 ms";
    let Some(file) = &args.smart_turn else {
        systems.push(System { name: name.to_owned(), outcomes: None });
        return Ok(());
    };
    let model = SmartTurn::load(file)?;
    let bar = ProgressBar::new(baseline::turns(corpus).count() as u64);
    let probabilities = baseline::probabilities(corpus, &model, || bar.inc(1))?;
    bar.finish_and_clear();
    let judged = |threshold| baseline::apply(corpus, &Rule::SmartTurn(&probabilities, threshold), after_ms);
    systems.push(System { name: name.to_owned(), outcomes: Some(judged(THRESHOLD)) });
    curves.push(Curve { name: "smart-turn v3.2".to_owned(), settings: THRESHOLDS.map(judged).into() });
    Ok(())
}

/// The results of an earlier run.
fn earlier(file: &Path) -> anyhow::Result<System> {
    let results: Value = serde_json::from_slice(&std::fs::read(file).with_context(|| file.display().to_string())?)?;
    let outcomes: Vec<Outcome> = serde_json::from_value(results["outcomes"].clone())?;
    Ok(System { name: results["name"].as_str().unwrap_or("earlier").to_owned(), outcomes: Some(outcomes) })
}
