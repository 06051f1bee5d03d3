//! `switchhook init`: writes the first files of an agent, for `switchhook apply`.

use std::io::{self, BufRead, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::{CliError, language_model, output};
use crate::apply::starter::{self, Folder, StarterFile, StarterModel};
use crate::http::extract::check_name;
use crate::language_models::names;

/// Arguments of `switchhook init`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name of the agent.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// What it does, as you would explain it to a new colleague; this becomes its instructions.
    #[arg(long, value_name = "TEXT")]
    job: Option<String>,
    /// Template to begin with, in place of a job.
    #[arg(long, value_parser = templates(), conflicts_with = "job")]
    template: Option<String>,
    /// Language model: `openai`, `anthropic`, `gemini`, `groq` or `openrouter`, or on this machine `ollama`, `llama.cpp`, `lm-studio` or
    /// `vllm`; also with a model, as in `openai/gpt-5-mini`. `none` leaves it out.
    #[arg(long, value_name = "NAME[/MODEL]|none")]
    model: Option<String>,
    /// Folder to write to.
    #[arg(short = 'o', long, value_name = "DIR", default_value = "agents")]
    output: PathBuf,
    /// Overwrite files of the same names.
    #[arg(long)]
    force: bool,
}

/// The answers of an operator.
#[derive(Debug, PartialEq, Eq)]
struct Answers {
    agent: Value,
    model: Option<StarterModel>,
}

/// The templates, which the help describes.
fn templates() -> PossibleValuesParser {
    PossibleValuesParser::new(starter::templates().map(|(id, about)| PossibleValue::new(id).help(about)))
}

pub(super) async fn run(args: Args, json: bool) -> Result<ExitCode, CliError> {
    let (folder, force) = (args.output.clone(), args.force);
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let asked = tokio::task::spawn_blocking(move || {
        let input: Box<dyn BufRead> = if terminal { Box::new(io::stdin().lock()) } else { Box::new(io::empty()) };
        Prompt { terminal, input, output: console::Term::stdout() }.answers(args)
    });
    let Answers { agent, model } = asked.await.map_err(anyhow::Error::from)??;
    let existing = Folder::read(&folder).map_err(CliError::Usage)?;
    let files = existing.files_of(agent, model.as_ref()).map_err(CliError::Usage)?;
    write(&folder, &files, force)?;
    let written: Vec<_> = files.iter().map(|file| file.path.display().to_string()).collect();
    let next = next(&folder, model.as_ref().filter(|_| files.len() > 1));
    if json {
        output::json(&json!({ "files": written, "next": next }))?;
        return Ok(ExitCode::SUCCESS);
    }
    written.iter().for_each(|path| output::line(&format!("wrote {path}")));
    if model.is_none() {
        output::line("Without a language model the agent follows a demo script and not its instructions.");
    }
    output::line(&format!("Next: {next}"));
    Ok(ExitCode::SUCCESS)
}

/// Asks for what the options leave open.
struct Prompt<R, W> {
    terminal: bool,
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> Prompt<R, W> {
    fn answers(&mut self, mut given: Args) -> Result<Answers, CliError> {
        let template = given.template.as_deref().and_then(starter::template);
        if let Some(template) = &template {
            let text = |field: &str| template[field].as_str().map(str::to_owned);
            given.name = given.name.or_else(|| text("name"));
            given.job = text("instructions");
        }
        let options = [("--name", &given.name), ("--job", &given.job), ("--model", &given.model)];
        let missing: Vec<_> = options.iter().filter(|(_, given)| given.is_none()).map(|(option, _)| *option).collect();
        if !self.terminal && !missing.is_empty() {
            return Err(CliError::Usage(format!("there is no terminal to ask at: add {}", missing.join(", "))));
        }
        let mut agent = template.unwrap_or_else(|| json!({}));
        agent["name"] = self.answer(given.name, "Name of the agent (such as Reception): ", agent_name)?.into();
        let job = "What does it do? (such as: You answer the phone of a dentist and book appointments.): ";
        agent["instructions"] = self.answer(given.job, job, instructions)?.into();
        Ok(Answers {
            agent,
            model: self.answer(
                given.model,
                &format!("Language model ({}, also with a model, as in openai/gpt-5-mini; none for later): ", names()),
                model_named,
            )?,
        })
    }

    /// Returns the given answer, or asks until there is a valid one.
    fn answer<T>(
        &mut self,
        given: Option<String>,
        question: &str,
        check: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, CliError> {
        if let Some(given) = given {
            return check(given.trim()).map_err(CliError::Usage);
        }
        loop {
            write!(self.output, "{question}")?;
            self.output.flush()?;
            let mut line = String::new();
            if self.input.read_line(&mut line)? == 0 {
                return Err(CliError::Usage("the input ended; no file was written".to_owned()));
            }
            match check(line.trim()) {
                Ok(answer) => return Ok(answer),
                Err(message) => writeln!(self.output, "{message}")?,
            }
        }
    }
}

fn agent_name(text: &str) -> Result<String, String> {
    check_name("name", text).map_or_else(|| Ok(text.to_owned()), |error| Err(format!("the name {}", error.message)))
}

fn instructions(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("the job must not be empty: say what the agent does".to_owned());
    }
    Ok(text.to_owned())
}

fn model_named(text: &str) -> Result<Option<StarterModel>, String> {
    if text == "none" {
        return Ok(None);
    }
    let Some(mut model) = StarterModel::parse(text) else {
        return Err(format!("the model {text:?} is not {}, such as openai/gpt-5-mini, or none", names()));
    };
    if let (None, None, Some(url)) = (&model.model, model.variable, model.base_url) {
        // Such a server has no default model. This thread may wait: it is one for questions.
        let listed = Handle::try_current().ok().and_then(|handle| handle.block_on(language_model::first_model(url)));
        let Some(listed) = listed else {
            return Err(format!(
                "no model responds at {url}: start {text}, or name the model, as in {text}/qwen2.5:7b"
            ));
        };
        model.model = Some(listed);
    }
    Ok(Some(model))
}

/// Writes the files, unless one exists.
fn write(folder: &Path, files: &[StarterFile], force: bool) -> Result<(), CliError> {
    if let Some(taken) = files.iter().find(|file| !force && file.path.exists()) {
        let path = taken.path.display();
        let message = format!("{path} exists: name another folder with --output, or overwrite it with --force");
        return Err(CliError::Usage(message));
    }
    std::fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    for StarterFile { path, text } in files {
        std::fs::write(path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

/// Returns the command that creates the agent. `model` is that of a new connection.
fn next(folder: &Path, model: Option<&StarterModel>) -> String {
    let unset = model.and_then(|model| model.variable).filter(|variable| std::env::var_os(variable).is_none());
    let key = unset.map(|variable| format!("{variable}=YOUR_KEY ")).unwrap_or_default();
    let folder = folder.display().to_string();
    let plain = folder.chars().all(|letter| letter.is_alphanumeric() || "-_./".contains(letter));
    let folder = if plain { folder } else { format!("'{}'", folder.replace('\'', "'\\''")) };
    format!("{key}switchhook apply -f {folder}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers at a terminal, and what it shows.
    fn asked(given: [Option<&str>; 3], typed: &str) -> (Result<Answers, String>, String) {
        let [name, job, model] = given.map(|given| given.map(str::to_owned));
        let args = Args { name, job, model, template: None, output: PathBuf::from("agents"), force: false };
        let mut prompt = Prompt { terminal: true, input: typed.as_bytes(), output: Vec::new() };
        let answers = prompt.answers(args).map_err(|error| match error {
            CliError::Usage(message) => message,
            CliError::Failed(error) => error.to_string(),
        });
        (answers, String::from_utf8(prompt.output).expect("text"))
    }

    #[test]
    fn a_wrong_answer_is_asked_for_again_and_the_others_are_kept() {
        let (answers, shown) = asked([None; 3], "\nAva\n\nTake messages.\nopnai\n\nopenai/gpt-5-mini\n");
        let model = StarterModel::parse("openai/gpt-5-mini");
        let agent = json!({ "name": "Ava", "instructions": "Take messages." });
        assert_eq!(answers, Ok(Answers { agent, model }));
        assert_eq!(shown.matches("Name of the agent").count(), 2, "{shown}");
        assert_eq!(shown.matches("What does it do?").count(), 2, "{shown}");
        assert!(shown.contains("the model \"opnai\" is not openai, anthropic, gemini, groq, openrouter"), "{shown}");
    }

    #[test]
    fn only_what_is_missing_is_asked_for() {
        let (answers, shown) = asked([Some("Ava"), None, Some("none")], "Take messages.\n");
        assert_eq!(answers.map(|answers| answers.agent["instructions"].clone()), Ok(json!("Take messages.")));
        assert!(!shown.contains("Name of the agent") && !shown.contains("Language model"), "{shown}");
        let (answers, shown) = asked([Some("Ava"), Some(" "), None], "none\n");
        assert_eq!(
            (answers, shown.as_str()),
            (Err("the job must not be empty: say what the agent does".to_owned()), "")
        );
    }

    #[test]
    fn the_end_of_the_input_ends_the_questions() {
        let (answers, _) = asked([None; 3], "Ava\n");
        assert_eq!(answers, Err("the input ended; no file was written".to_owned()));
    }
}
