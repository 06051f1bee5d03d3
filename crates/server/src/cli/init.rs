//! `switchhook init`: writes the first files of an agent, for `switchhook apply`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;

use super::{CliError, output};
use crate::apply::starter::{self, HostedModel};
use crate::http::extract::check_name;

/// Arguments of `switchhook init`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name of the agent.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// What it does, as you would tell a new colleague; these are its instructions.
    #[arg(long, value_name = "TEXT")]
    job: Option<String>,
    /// Language model: `openai`, `anthropic` or `gemini`, also with a model, as in `openai/gpt-5-mini`. `none` leaves it out.
    #[arg(long, value_name = "PROVIDER[/MODEL]|none")]
    model: Option<String>,
    /// Folder to write to.
    #[arg(short = 'o', long, value_name = "DIR", default_value = "agents")]
    output: PathBuf,
    /// Overwrite files of the same names.
    #[arg(long)]
    force: bool,
}

/// What is asked for, with the option that answers it.
const QUESTIONS: [(&str, &str); 3] = [
    ("--name", "Name of the agent (such as Reception): "),
    ("--job", "What does it do? (such as: You answer the phone of a dentist and book appointments.): "),
    ("--model", "Language model (openai, anthropic, gemini, or openai/MODEL; none for later): "),
];

pub(super) async fn run(args: Args, json: bool) -> Result<ExitCode, CliError> {
    let Args { name, job, model, output: folder, force } = args;
    let [name, job, model] =
        tokio::task::spawn_blocking(move || answers([name, job, model])).await.map_err(anyhow::Error::from)??;
    if let Some(error) = check_name("name", &name) {
        return Err(CliError::Usage(format!("the name {}", error.message)));
    }
    if job.is_empty() {
        return Err(CliError::Usage("the job must not be empty: say what the agent does".to_owned()));
    }
    let model = match model.as_str() {
        "none" => None,
        text => Some(HostedModel::parse(text).ok_or_else(|| {
            CliError::Usage(format!(
                "the model {text:?} is not openai, anthropic or gemini, such as openai/gpt-5-mini, or none"
            ))
        })?),
    };
    let written = write(&folder, &name, &job, model.as_ref(), force)?;
    let next = next(&folder, model.as_ref());
    if json {
        output::json(&json!({ "files": written, "next": next }))?;
        return Ok(ExitCode::SUCCESS);
    }
    written.iter().for_each(|path| output::line(&format!("wrote {}", path.display())));
    if model.is_none() {
        output::line("Without a language model the agent follows a demo script and not its instructions.");
    }
    output::line(&format!("Next: {next}"));
    Ok(ExitCode::SUCCESS)
}

/// The answers that were given as options, and those to the other questions.
fn answers(given: [Option<String>; 3]) -> Result<[String; 3], CliError> {
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let missing: Vec<_> = QUESTIONS.iter().zip(&given).filter(|(_, given)| given.is_none()).collect();
    if !terminal && !missing.is_empty() {
        let options: Vec<_> = missing.iter().map(|((option, _), _)| *option).collect();
        return Err(CliError::Usage(format!("there is no terminal to ask at: add {}", options.join(", "))));
    }
    let mut answers = given.map(Option::unwrap_or_default);
    for ((_, question), answer) in QUESTIONS.iter().zip(&mut answers).filter(|(_, answer)| answer.is_empty()) {
        if terminal {
            console::Term::stdout().write_str(question)?;
            std::io::stdin().read_line(answer)?;
        }
    }
    Ok(answers.map(|answer| answer.trim().to_owned()))
}

/// Writes the files; returns their paths. A connection that the folder already describes stays as it is.
fn write(
    folder: &Path,
    name: &str,
    job: &str,
    model: Option<&HostedModel>,
    force: bool,
) -> Result<Vec<PathBuf>, CliError> {
    let (file, text) = starter::agent(name, job, model);
    let mut files = vec![(folder.join(file), text)];
    if let Some(model) = model.filter(|model| !model.is_described(folder)) {
        let (file, text) = model.connection();
        files.push((folder.join(file), text));
    }
    // Before anything is written.
    if let Some((taken, _)) = files.iter().find(|(path, _)| !force && path.exists()) {
        let words =
            format!("{} exists: name another folder with --output, or overwrite it with --force", taken.display());
        return Err(CliError::Usage(words));
    }
    std::fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    for (path, text) in &files {
        std::fs::write(path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// The command that makes the agent of the files.
fn next(folder: &Path, model: Option<&HostedModel>) -> String {
    let unset = model.filter(|model| std::env::var_os(model.variable).is_none());
    let key = unset.map(|model| format!("{}=YOUR_KEY ", model.variable)).unwrap_or_default();
    let folder = folder.display().to_string();
    let plain = folder.chars().all(|letter| letter.is_alphanumeric() || "-_./".contains(letter));
    let folder = if plain { folder } else { format!("'{}'", folder.replace('\'', "'\\''")) };
    format!("{key}switchhook apply -f {folder}")
}
