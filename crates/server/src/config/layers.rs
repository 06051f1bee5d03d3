//! Sources of settings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::ConfigError;

/// The defaults with their documentation.
pub(super) const DEFAULTS: &str = include_str!("../../config.default.toml");

/// How variables of this service begin.
const PREFIX: &str = "SWITCHHOOK_";

/// Returns whether a name differs from a setting's by a slip of the keyboard or two. Short names differ by chance.
fn is_misspelt(name: &str, setting: &str) -> bool {
    setting.len() >= 6 && strsim::damerau_levenshtein(name, setting) <= 2
}

/// Returns whether there are quotation marks around a value. Files of variables that no shell reads, as for `docker run --env-file`,
/// keep them, and a path in quotation marks would be a new folder.
fn is_quoted(text: &str) -> bool {
    let text = text.trim();
    text.len() > 1 && ['"', '\''].iter().any(|mark| text.starts_with(*mark) && text.ends_with(*mark))
}

/// Checks that the variables of this service can be read. One that is not text would count as not set, and a default take its place: another
/// data directory, for example, with a new key and an empty database.
pub(super) fn check_text(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<(), ConfigError> {
    for (name, value) in variables {
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && value.to_str().is_none() {
            // The value may be a secret.
            return Err(ConfigError(format!("{name} is not UTF-8: write it in UTF-8.")));
        }
    }
    Ok(())
}

/// Settings from the command line.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--listen`.
    pub listen: Option<String>,
    /// `--database-url`.
    pub database_url: Option<String>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
}

/// Every setting's text and its source.
pub struct Layers(BTreeMap<String, Setting>);

struct Setting {
    text: String,
    source: String,
}

impl Layers {
    /// Merges the sources. An empty environment variable counts as not set.
    ///
    /// # Errors
    /// If the file cannot be read, is not TOML, or has an unknown setting, or a variable has quotation marks around its value.
    pub fn read(
        file: Option<&Path>,
        environment: impl Fn(&str) -> Option<String>,
        flags: &Flags,
    ) -> Result<Self, ConfigError> {
        let mut layers = Self(BTreeMap::new());
        for (key, text) in table(DEFAULTS, "the embedded defaults")? {
            let source = format!("the default of {key}");
            layers.0.insert(key, Setting { text, source });
        }
        if let Some(path) = file {
            let named = format!("the configuration file {}", path.display());
            let text = std::fs::read_to_string(path)
                .map_err(|error| ConfigError(format!("{named} is not readable: {error}.")))?;
            for (key, text) in table(&text, &named)? {
                let Some(setting) = layers.0.get_mut(&key) else {
                    return Err(ConfigError(format!("{named} has an unknown setting: {key}.")));
                };
                *setting = Setting { text, source: format!("{key} in {named}") };
            }
        }
        for (key, setting) in &mut layers.0 {
            let variable = format!("{PREFIX}{}", key.to_uppercase());
            if let Some(text) = environment(&variable).filter(|text| !text.trim().is_empty()) {
                if is_quoted(&text) {
                    // The value may be a secret.
                    return Err(ConfigError(format!(
                        "{variable} has quotation marks around its value: leave them out."
                    )));
                }
                *setting = Setting { text, source: variable };
            }
        }
        let data_dir = flags.data_dir.as_ref().map(|path| path.display().to_string());
        for (key, flag) in [("listen", &flags.listen), ("database_url", &flags.database_url), ("data_dir", &data_dir)] {
            if let Some(text) = flag {
                let source = format!("--{}", key.replace('_', "-"));
                layers.0.insert(key.to_owned(), Setting { text: text.clone(), source });
            }
        }
        Ok(layers)
    }

    /// Returns the names of all settings.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the variables that look like a setting and are none, each with what was probably meant.
    pub(super) fn misspelt(&self, variables: impl Iterator<Item = String>) -> Vec<String> {
        let meant = |variable: &String| {
            let key = variable.strip_prefix(PREFIX)?.to_lowercase();
            let near = |known: &&str| key.strip_suffix("_file") == Some(*known) || is_misspelt(&key, known);
            let known = self.names().find(near).filter(|_| !self.0.contains_key(&key))?;
            Some(format!("{variable} (did you mean {PREFIX}{}?)", known.to_uppercase()))
        };
        let mut found: Vec<_> = variables.filter_map(|variable| meant(&variable)).collect();
        found.sort_unstable();
        found
    }

    fn setting(&self, key: &str) -> &Setting {
        self.0.get(key).expect("the embedded file has every setting, as a test checks")
    }

    /// Returns the source of a setting.
    pub(super) fn source(&self, key: &str) -> &str {
        &self.setting(key).source
    }

    /// Returns the source of a setting that is set.
    pub(super) fn source_if_set(&self, key: &str) -> Option<String> {
        let setting = self.setting(key);
        (!setting.text.trim().is_empty()).then(|| setting.source.clone())
    }

    /// Returns a setting that must not be empty.
    pub(super) fn required(&self, key: &str) -> Result<&str, ConfigError> {
        let setting = self.setting(key);
        let text = setting.text.trim();
        if text.is_empty() { Err(ConfigError(format!("{} must not be empty.", setting.source))) } else { Ok(text) }
    }

    /// Returns a setting that can be empty.
    pub(super) fn checked<T>(
        &self,
        key: &str,
        check: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let setting = self.setting(key);
        let text = setting.text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        check(text).map(Some).map_err(|wrong| ConfigError(format!("{} {wrong}.", setting.source)))
    }

    pub(super) fn required_checked<T>(
        &self,
        key: &str,
        check: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        self.required(key)?;
        let empty = || ConfigError(format!("{} must not be empty.", self.setting(key).source));
        self.checked(key, check)?.ok_or_else(empty)
    }

    pub(super) fn parsed<T: std::str::FromStr>(&self, key: &str, expected: &str) -> Result<T, ConfigError> {
        self.required_checked(key, |text| text.parse().map_err(|_| format!("must be {expected}, not {text:?}")))
    }

    pub(super) fn number(&self, key: &str, least: u32, most: u32) -> Result<u32, ConfigError> {
        self.required_checked(key, |text| number(text, least, most))
    }

    pub(super) fn optional_number(&self, key: &str, least: u32, most: u32) -> Result<Option<u32>, ConfigError> {
        self.checked(key, |text| number(text, least, most))
    }
}

fn number(text: &str, least: u32, most: u32) -> Result<u32, String> {
    let wrong = || format!("must be a whole number from {least} to {most}, not {text:?}");
    let number = text.parse().map_err(|_| wrong())?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(wrong()) }
}

/// Parses a flat TOML table, every value as text.
fn table(toml: &str, named: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let table: toml::Table = toml
        .parse()
        .map_err(|error: toml::de::Error| ConfigError(format!("{named} is not valid TOML: {}.", error.message())))?;
    let text = |key: &str, value: toml::Value| match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        _ => Err(ConfigError(format!("{key} in {named} must be a string or a whole number."))),
    };
    table.into_iter().map(|(key, value)| Ok((key.clone(), text(&key, value)?))).collect()
}
