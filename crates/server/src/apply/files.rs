//! Finds and reads the files that describe a tenant's things.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::problem::{Place, Problem};
use super::yaml;

/// Largest file, in bytes.
const MAX_FILE: u64 = 8 << 20;
/// Largest file of instructions. What the API takes is less.
const MAX_TEXT: u64 = 1 << 20;
const ENDINGS: [&str; 3] = ["yaml", "yml", "toml"];

/// A file and what it says.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) place: Place,
    /// Where files that it names are.
    pub(super) folder: PathBuf,
    pub(super) content: Value,
}

/// Returns the files that `paths` name: files, and folders with files, each once and those of a folder in order of their names.
///
/// # Errors
/// A sentence if one does not exist or has none.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in paths {
        let unreadable = |error: io::Error| format!("{} cannot be read: {error}", path.display());
        if path.metadata().map_err(unreadable)?.is_dir() {
            let inside = inside(path).map_err(unreadable)?;
            if inside.is_empty() {
                return Err(format!("{} has no .yaml, .yml or .toml files", path.display()));
            }
            found.extend(inside);
        } else if is_document(path) {
            found.push(path.clone());
        } else {
            return Err(format!("{} must be a folder, or end in .yaml, .yml or .toml", path.display()));
        }
    }
    let mut seen = HashSet::new();
    found.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    Ok(found)
}

/// Returns the documents in a folder, in order of their names.
///
/// # Errors
/// If the folder cannot be read.
pub(super) fn inside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && is_document(&path) && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// Reads a document.
///
/// # Errors
/// The problem with the file.
pub(super) fn read(path: &Path) -> Result<Document, Problem> {
    let place = Place::file(path.display().to_string());
    let text = read_text(path, MAX_FILE).map_err(|words| place.problem(words))?;
    let is_toml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    let content = if is_toml { parse_toml(&text) } else { yaml::parse(&text) };
    let content = content.map_err(|words| place.problem(words))?;
    Ok(Document { place, folder: path.parent().unwrap_or(Path::new("")).to_owned(), content })
}

/// Reads the instructions in a file that a document in `folder` names, without the line breaks at their end.
///
/// # Errors
/// A sentence.
pub(super) fn read_instructions(folder: &Path, name: &str) -> Result<String, String> {
    if name.is_empty() || Path::new(name).is_absolute() {
        return Err("must be the path of a file, relative to this one".to_owned());
    }
    let text = read_text(&folder.join(name), MAX_TEXT).map_err(|words| format!("{name:?} {words}"))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn read_text(path: &Path, most: u64) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        return Err(format!("is larger than {} MiB: split it", most >> 20));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

fn parse_toml(text: &str) -> Result<Value, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("is not TOML: {line}{}", error.message().replace('\n', " "))
    })?;
    as_json(toml::Value::Table(table))
}

fn as_json(value: toml::Value) -> Result<Value, String> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => {
            serde_json::Number::from_f64(number).map(Value::Number).ok_or("has a number that is not finite")?
        }
        toml::Value::Boolean(is) => is.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => Value::Array(items.into_iter().map(as_json).collect::<Result<_, _>>()?),
        toml::Value::Table(fields) => {
            let fields = fields.into_iter().map(|(name, value)| Ok((name, as_json(value)?)));
            Value::Object(fields.collect::<Result<_, String>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        folder
    }

    #[test]
    fn a_folder_stands_for_its_documents_in_order_of_their_names() {
        let folder = folder(&[("b.yml", ""), ("a.toml", ""), ("c.YAML", ""), (".d.yaml", ""), ("readme.md", "")]);
        std::fs::create_dir(folder.path().join("e.yaml")).expect("made");
        let names = |paths: &[PathBuf]| -> Vec<String> {
            let found = find(paths).expect("files");
            found.iter().map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
        };
        let path = folder.path().to_owned();
        assert_eq!(names(std::slice::from_ref(&path)), ["a.toml", "b.yml", "c.YAML"]);
        assert_eq!(names(&[path.join("c.YAML"), path.clone()]), ["c.YAML", "a.toml", "b.yml"], "each once");
        for wrong in [path.join("readme.md"), path.join("missing.yaml"), path.join("e.yaml")] {
            assert!(find(std::slice::from_ref(&wrong)).is_err(), "{}", wrong.display());
        }
    }

    #[test]
    fn toml_says_the_same_as_yaml() {
        let toml = "[[agents]]\nname = \"Reception\"\nlimits.max_duration_seconds = 600\n[[agents.tools]]\ntype = \"end_call\"\n\
            description = 2026-01-31\n";
        let yaml = "agents:\n  - name: Reception\n    limits: {max_duration_seconds: 600}\n    tools:\n      - {type: end_call, description: 2026-01-31}\n";
        let folder = folder(&[("a.toml", toml), ("a.yaml", yaml)]);
        let content = |name: &str| read(&folder.path().join(name)).expect("a document").content;
        assert_eq!(content("a.toml"), content("a.yaml"));
        assert_eq!(
            content("a.toml")["agents"][0]["tools"],
            json!([{ "type": "end_call", "description": "2026-01-31" }])
        );
    }

    #[test]
    fn what_is_no_document_is_told_with_its_file() {
        let large = format!("# {}\n", "x".repeat(10 << 20));
        let deep = format!("a = {}", "[".repeat(200_000));
        let folder = folder(&[
            ("bad.toml", "a = 1\nb = [\n"),
            ("inf.toml", "a = inf"),
            ("large.yaml", &large),
            ("deep.toml", &deep),
        ]);
        std::fs::write(folder.path().join("latin.yaml"), b"a: \xe9").expect("written");
        for (name, words) in [
            ("bad.toml", "is not TOML: line 2"),
            ("inf.toml", "not finite"),
            ("large.yaml", "is larger than 8 MiB"),
            ("deep.toml", "is not TOML"),
            ("latin.yaml", "is not UTF-8"),
        ] {
            let problem = read(&folder.path().join(name)).expect_err("wrong").to_string();
            assert!(problem.contains(words), "{problem}");
            assert!(problem.starts_with(&folder.path().display().to_string()), "{problem}");
        }
    }

    #[test]
    fn instructions_are_read_beside_the_document() {
        let folder = folder(&[("reception.md", "You answer the phone.\n\n")]);
        assert_eq!(read_instructions(folder.path(), "reception.md").as_deref(), Ok("You answer the phone."));
        for wrong in ["", "/etc/hostname", "missing.md"] {
            read_instructions(folder.path(), wrong).expect_err("no such file");
        }
    }
}
