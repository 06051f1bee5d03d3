//! A database file that a stranger made or damaged, under the operator's commands.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::harness::process::{Node, json_of};
use crate::harness::{TIMEOUT, text};

/// What SQLite would run, and how the refusal names it. The first one writes, the second one never ends.
const PROGRAMS: [(&str, &str); 2] = [
    (
        "CREATE TABLE spied (x); \
         CREATE TRIGGER \"spy\u{1b}]0;x\u{7}\" AFTER INSERT ON api_keys BEGIN INSERT INTO spied VALUES (NEW.hash); END",
        "trigger spy",
    ),
    (
        "ALTER TABLE _sqlx_migrations RENAME TO kept; \
         CREATE VIEW _sqlx_migrations AS WITH RECURSIVE n (version) AS (SELECT 1 UNION ALL SELECT version + 1 FROM n) \
         SELECT version FROM n",
        "view _sqlx_migrations",
    ),
];
/// `{text}` in a statement: a megabyte that would write to the clipboard, begin a line of its own and clear the screen.
const TEXT: &str = "'a' || char(27) || ']52;c;eA==' || char(7, 13, 10, 155) || '2J' || hex(zeroblob(500000))";
/// What may be in the columns of a file.
const DAMAGE: [&str; 12] = [
    "UPDATE tenants SET name = {text}; UPDATE api_keys SET name = {text}, prefix = {text}; UPDATE numbers SET label = {text}; \
     UPDATE connections SET name = {text} || hex(id), provider = {text}; UPDATE agents SET name = {text} || hex(id)",
    "UPDATE tenants SET created_at = 'soon', rate_per_minute = 'many', active = 'perhaps'",
    "UPDATE tenants SET created_at = 9223372036854775807, rate_per_minute = 9223372036854775807, \
     concurrent_calls = -9223372036854775808, stored_limits = '{\"agents\": -9223372036854775808}'; \
     UPDATE api_keys SET created_at = -9223372036854775808, last_used_at = 9223372036854775807, expires_at = 0",
    "UPDATE tenants SET name = CAST(x'ff1b5d' AS TEXT)",
    "UPDATE tenants SET name = x'ff1b5d'",
    "UPDATE tenants SET id = 'no id'",
    "UPDATE api_keys SET id = x'01', hash = 7, created_at = x''",
    "UPDATE connections SET settings = '[]', hints = {text}; UPDATE agent_versions SET config = '{'",
    "UPDATE connections SET settings = '{\"a\":' || replace(hex(zeroblob(100000)), '00', '[')",
    "ALTER TABLE tenants RENAME TO kept; CREATE TABLE tenants AS SELECT * FROM kept; UPDATE tenants SET name = NULL, active = NULL",
    "INSERT INTO call_inputs (tenant_id, call_id, kept_at, log) SELECT id, randomblob(16), 1, randomblob(1000) FROM tenants; \
     INSERT INTO call_inputs (tenant_id, call_id, kept_at, log) SELECT 'x', 'no id', 'soon', {text} FROM tenants",
    "UPDATE _sqlx_migrations SET version = 'soon', checksum = 7 WHERE version = 1",
];

/// Runs statements on a file, without its foreign keys.
async fn write(file: &Path, statements: &str) {
    let options = SqliteConnectOptions::new().filename(file).foreign_keys(false);
    let mut stranger = options.connect().await.expect("the same file");
    let statements = AssertSqlSafe(statements.replace("{text}", TEXT));
    sqlx::raw_sql(statements).execute(&mut stranger).await.expect("written");
    stranger.close().await.expect("closed");
}

/// Creates a node with a tenant, an agent and a number; returns it with the tenant's id.
fn seeded() -> (Node, String) {
    let node = Node::on(None);
    let seeded = json_of(node.command().args(["seed", "--json"]));
    let tenant = text(&seeded["tenant"]["id"]);
    (node, tenant)
}

/// Runs a command, which must end by itself and leave the terminal alone. Returns its exit code and what it said.
async fn run(node: &Node, arguments: &[&str]) -> (i32, String) {
    let mut command = tokio::process::Command::from(node.command());
    command.args(arguments).env("SWITCHHOOK_LISTEN", "127.0.0.1:0").stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(TIMEOUT, command.output()).await.expect("it ends in time");
    let output = output.expect("the binary starts");
    let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
    let shown: String = said.chars().take(2_000).collect();
    assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{arguments:?}: {shown:?}");
    assert!(!said.contains("panicked at"), "{arguments:?}: {shown}");
    let code = output.status.code().expect("no signal ended it");
    assert!((0..=2).contains(&code), "{arguments:?}: {code}: {shown}");
    (code, said)
}

/// Runs the commands that read a database, and then those that write or copy it.
async fn run_all(node: &Node, tenant: &str) {
    let copy = node.data_dir().join("copy");
    let commands: [&[&str]; 9] = [
        &["tenant", "list"],
        &["tenant", "show", tenant],
        &["key", "list", tenant],
        &["key", "list", tenant, "--json"],
        &["export"],
        &["replay", "--last", "5"],
        &["doctor", "--json"],
        &["migrate"],
        &["backup", copy.to_str().expect("text")],
    ];
    for arguments in commands {
        run(node, arguments).await;
    }
}

#[tokio::test]
async fn a_file_with_statements_of_others_is_refused_by_every_command() {
    for (statements, expected) in PROGRAMS {
        let (node, tenant) = seeded();
        let file = node.data_dir().join("switchhook.db");
        write(&file, statements).await;
        let copy = node.data_dir().join("copy");
        let commands: [&[&str]; 13] = [
            &["tenant", "list"],
            &["tenant", "create", "another"],
            &["key", "list", &tenant],
            &["key", "create", &tenant],
            &["export"],
            &["replay", "--last", "5"],
            &["seed"],
            &["rotate-master-key"],
            &["migrate"],
            &["migrate", "--compact"],
            &["backup", copy.to_str().expect("text")],
            &["doctor"],
            &["serve", "--listen", "127.0.0.1:0"],
        ];
        for arguments in commands {
            let (code, said) = run(&node, arguments).await;
            assert!(code == 1 && said.contains(expected), "{arguments:?}: {code}: {said}");
            assert!(said.contains("Use a file that the service wrote"), "{arguments:?}: {said}");
        }
        if expected.contains("trigger") {
            let mut database = SqliteConnectOptions::new().filename(&file).connect().await.expect("the same file");
            let spied: i64 =
                sqlx::query_scalar("SELECT COUNT(*) FROM spied").fetch_one(&mut database).await.expect("a number");
            assert_eq!(spied, 0);
        }
    }
}

#[tokio::test]
async fn a_backup_with_statements_of_others_is_not_restored() {
    for (statements, expected) in PROGRAMS {
        let (node, _) = seeded();
        let backup = node.data_dir().join("backup");
        json_of(node.command().arg("backup").arg(&backup).arg("--json"));
        let copy = backup.join("switchhook.db");
        write(&copy, statements).await;
        // As the stranger leaves it: the manifest fits.
        let bytes = std::fs::read(&copy).expect("the copy");
        let sha256 = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("memory");
            text
        });
        let manifest = backup.join("manifest.json");
        let mut written: Value = serde_json::from_slice(&std::fs::read(&manifest).expect("a manifest")).expect("JSON");
        written["files"][0]["bytes"] = bytes.len().into();
        written["files"][0]["sha256"] = sha256.into();
        std::fs::write(&manifest, written.to_string()).expect("written");

        let fresh = Node::on(None);
        let (code, said) = run(&fresh, &["restore", backup.to_str().expect("text")]).await;
        assert!(code == 1 && said.contains(expected), "{code}: {said}");
        assert!(!fresh.data_dir().join("switchhook.db").exists());
    }
}

#[tokio::test]
async fn damaged_rows_neither_stop_a_command_nor_reach_the_terminal() {
    for statements in DAMAGE {
        let (node, tenant) = seeded();
        write(&node.data_dir().join("switchhook.db"), statements).await;
        run_all(&node, &tenant).await;
    }
}

#[tokio::test]
async fn notes_on_an_export_do_not_control_the_terminal() {
    const TWICE: &str = "INSERT INTO webhooks (id, tenant_id, url, events, enabled, disabled_reason, secret, created_at, updated_at) \
        SELECT randomblob(16), id, 'https://example.com/' || char(27) || '[2J' || char(155, 10), '[]', FALSE, char(27), x'00', 1, 1 \
        FROM tenants, (SELECT 1 UNION ALL SELECT 2)";
    let (node, _) = seeded();
    write(&node.data_dir().join("switchhook.db"), TWICE).await;
    let (code, said) = run(&node, &["export"]).await;
    assert!(code == 0 && said.contains("Another webhook with the URL https://example.com/ [2J"), "{code}: {said}");
    let (_, said) = run(&node, &["doctor"]).await;
    assert!(said.contains("receives no deliveries"), "{said}");
}

#[tokio::test]
async fn damaged_pages_end_no_command_by_a_crash() {
    let (node, tenant) = seeded();
    let file = node.data_dir().join("switchhook.db");
    let mut bytes = std::fs::read(&file).expect("the database");
    for byte in bytes.iter_mut().skip(4096).step_by(7) {
        *byte ^= 0xff;
    }
    std::fs::write(&file, bytes).expect("written");
    run_all(&node, &tenant).await;
}
