//! The statements in the source of the store.

use super::one_line;
use super::plans::GROWING;
use crate::store::columns;

/// The statements in the store's source that read or change tables that grow, up to their first part that is put in later.
pub(super) fn statements() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut files = vec![folder];
    let mut found = Vec::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            if !path.ends_with("tests") {
                files.extend(std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()));
            }
        } else if !path.ends_with("tests.rs") && !path.ends_with("testing.rs") {
            let text = std::fs::read_to_string(path).expect("text");
            let text = text.split("#[cfg(test)]").next().expect("there is a first part").replace("\\\n", " ");
            let code: String =
                text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
            let code = with_columns(&one_line(&code));
            found.extend(
                code.split('"').skip(1).step_by(2).map(|literal| one_line(literal.split('{').next().unwrap_or(""))),
            );
        }
    }
    found.retain(|sql| {
        let verb = sql.split(' ').next().unwrap_or_default();
        ["SELECT", "UPDATE", "DELETE", "WITH"].contains(&verb)
            && sql.split([' ', '(', ')']).any(|word| GROWING.contains(&word))
    });
    found
}

/// Code with the names of the columns where `columns!` puts them into a statement.
fn with_columns(code: &str) -> String {
    let tables = [
        ("calls", columns!(calls)),
        ("connections", columns!(connections)),
        ("deliveries", columns!(deliveries)),
        ("numbers", columns!(numbers)),
        ("people", columns!(people)),
        ("tenants", columns!(tenants)),
        ("webhooks", columns!(webhooks)),
    ];
    tables
        .iter()
        .fold(code.to_owned(), |code, (table, names)| code.replace(&format!("\", columns!({table}), \""), names))
}
