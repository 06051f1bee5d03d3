//! A second service on the SQLite database of a running one.

use crate::harness::private_folder;
use crate::harness::process::{Node, json_of};

fn refusal(node: &Node, options: &[&str]) -> String {
    let mut command = node.command();
    let output = command.args(["serve", "--listen", "127.0.0.1:0"]).args(options).output().expect("the binary starts");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[tokio::test]
async fn a_second_service_is_refused_until_the_first_is_gone_and_commands_work_beside_it() {
    let node = Node::on(None);
    json_of(node.command().args(["tenant", "create", "acme", "--json"]));
    let first = node.serve();
    let holder = format!("another service (process {}) uses the database", first.id());
    let elsewhere = private_folder();
    let (data_dir, database) = (elsewhere.path().display().to_string(), node.database_url());
    for options in [&[][..], &["--data-dir", &data_dir, "--database-url", &database]] {
        let said = refusal(&node, options);
        assert!(said.contains(&holder), "{said}");
    }

    assert_eq!(json_of(node.command().args(["tenant", "list", "--json"])).as_array().map(Vec::len), Some(1));
    let copy = elsewhere.path().join("copy").display().to_string();
    assert_eq!(json_of(node.command().args(["backup", &copy, "--json"]))["database"], "sqlite");

    first.kill();
    node.serve().kill();
}
