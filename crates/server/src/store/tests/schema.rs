//! The two engines have the same tables.

use std::collections::BTreeMap;

/// Table to columns, read from the text of the migrations.
fn tables(sql: &str) -> BTreeMap<String, Vec<String>> {
    let mut tables = BTreeMap::new();
    let mut current: Option<(String, Vec<String>)> = None;
    for line in sql.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        if let Some(rest) = line.strip_prefix("CREATE TABLE ") {
            current = Some((rest.trim_end_matches(" (").to_owned(), Vec::new()));
        } else if line.starts_with(')') {
            tables.extend(current.take());
        } else if let Some((_, columns)) = &mut current {
            let constraint = ["UNIQUE", "PRIMARY", "CHECK", "FOREIGN"].iter().any(|word| first.starts_with(word));
            if !first.is_empty() && !first.starts_with("--") && !constraint {
                let nullable = if line.contains("NOT NULL") || line.contains("PRIMARY KEY") { "" } else { "?" };
                columns.push(format!("{first}{nullable}"));
            }
        }
    }
    // SQLite cannot drop a constraint: the table is created again and renamed.
    tables.retain(|name, _| !name.starts_with("new_"));
    tables
}

#[test]
fn both_engines_have_the_same_migrations_tables_and_columns() {
    let files = |engine: &str| {
        let folder = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
        let entries = std::fs::read_dir(folder).expect("the migrations");
        let files = entries.map(|entry| entry.expect("a file").path());
        let read = |path: std::path::PathBuf| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, tables(&std::fs::read_to_string(path).expect("text")))
        };
        files.map(read).collect::<BTreeMap<_, _>>()
    };
    let sqlite = files("sqlite");
    assert!(sqlite.values().flatten().count() > 10, "the tables were found");
    assert_eq!(sqlite, files("postgres"));
}
