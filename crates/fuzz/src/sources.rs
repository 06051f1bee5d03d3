//! Finds the files that parse untrusted input, so that each has a target.

use std::path::{Path, PathBuf};

use crate::Target;

/// Code that parses input from others.
const PARSES: [&str; 11] = [
    "lenient_json::from_slice",
    "lenient_json::from_str",
    "serde_json::from_slice",
    "serde_json::from_str",
    ".json::<",
    "form_urlencoded::parse",
    "impl LlmResponse for",
    "impl RealtimeProtocol for",
    "impl SttProtocol for",
    "impl TtsProtocol for",
    "impl StreamProtocol for",
];

/// Files of tests.
const TESTS: [&str; 2] = ["fuzz.rs", "tests.rs"];

/// Source files of a crate.
pub struct Sources {
    /// The `src` folder of the crate.
    pub root: PathBuf,
    /// The folders in it that parse input from others; `""` for all.
    pub folders: &'static [&'static str],
    /// Files that parse without a target of their own, each with the reason.
    pub elsewhere: &'static [(&'static str, &'static str)],
}

impl Sources {
    /// Asserts that every file that parses has a target or is listed in `elsewhere`.
    ///
    /// # Panics
    /// If one has not, or if `elsewhere` names a file that does not parse.
    pub fn assert_all_driven(&self, targets: &[&Target]) {
        let mut files = Vec::new();
        for folder in self.folders {
            collect(&self.root.join(folder), &mut files);
        }
        let parse: Vec<String> = files.iter().filter(|file| parses(file)).map(|file| self.name(file)).collect();
        let driven = |name: &String| targets.iter().any(|target| target.file.ends_with(&format!("src/{name}")));
        let elsewhere = |name: &String| self.elsewhere.iter().any(|(file, _)| file == name);
        let missing: Vec<_> = parse.iter().filter(|name| !driven(name) && !elsewhere(name)).collect();
        assert!(!parse.is_empty(), "no file was found");
        assert!(missing.is_empty(), "each needs a target, or a reason why not: {missing:#?}");
        let stale: Vec<_> = self.elsewhere.iter().filter(|(file, _)| !parse.iter().any(|name| name == file)).collect();
        assert!(stale.is_empty(), "these parse nothing: {stale:#?}");
    }

    fn name(&self, file: &Path) -> String {
        file.strip_prefix(&self.root).expect("inside").to_str().expect("text").to_owned()
    }
}

fn parses(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).expect("text");
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    PARSES.iter().any(|mark| code.contains(mark))
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !TESTS.iter().any(|file| path.ends_with(file))
        {
            found.push(path);
        }
    }
}
