//! Checks that files and folders named in the documentation exist, and that what it shows of them is theirs.

use std::path::{Path, PathBuf};

const OPERATIONS: &str = include_str!("../../../../docs/operations.md");
const UNIT: &str = include_str!("../../../../deploy/systemd/switchhook.service");
const MAP: &str = include_str!("../../../../ARCHITECTURE.md");
/// Folders in the documentation of changes that were not made yet.
const TO_COME: [&str; 2] = ["carriers/plivo/", "carriers/sip_trunk/"];

/// Returns the files and folders in backticks; `{a,b}` stands for several.
fn named() -> Vec<String> {
    let quoted = MAP.split('`').skip(1).step_by(2);
    let paths = quoted.filter(|text| {
        text.contains('/')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "/_-.{},".contains(c))
            && !text.starts_with('/')
    });
    paths.flat_map(alternatives).filter(|path| !TO_COME.contains(&path.as_str())).collect()
}

fn alternatives(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let (inside, after) = rest.split_once('}').expect("a closing brace");
    inside.split(',').map(|one| format!("{before}{one}{after}")).collect()
}

/// Returns where a path may begin: at the root, in a crate, or in the server.
fn places(path: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let server = root.join("crates/server/src");
    let mut places = vec![root.join(path), root.join("crates").join(path), server.join(path)];
    places.extend(["http", "calls"].map(|room| server.join(room).join(path)));
    if let Some((name, rest)) = path.split_once('/') {
        places.push(root.join("crates").join(name).join("src").join(rest));
    }
    places
}

#[test]
fn every_path_in_the_architecture_exists() {
    let named = named();
    assert!(named.len() > 50, "{named:?}");
    let gone: Vec<_> = named.iter().filter(|path| !places(path).iter().any(|place| place.exists())).collect();
    assert!(gone.is_empty(), "ARCHITECTURE.md names {gone:?}");
}

#[test]
fn the_unit_in_the_documentation_is_the_one_that_is_installed() {
    let (_, rest) = OPERATIONS.split_once("```ini\n").expect("the unit is shown");
    let (shown, _) = rest.split_once("```").expect("it ends");
    assert_eq!(shown, UNIT);
}
