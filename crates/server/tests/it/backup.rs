//! `switchhook backup` and `switchhook restore`: backs up a running service, and starts it again from the copy.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use switchhook_media::wav;

use crate::cluster::until;
use crate::harness::postgres::Server;
use crate::harness::process::{Node, Process, json_of};
use crate::harness::{Client, TIMEOUT, private_folder, text};

/// A number that hangs up in the middle of a sentence, and one that answers and ends at once.
const TALKS: &str = "+12025550108";
const ENDS: &str = "+12025550111";

/// Creates a node with SQLite, regardless of the database of other tests.
fn node() -> Node {
    switchhook_net::install_tls();
    Node::on(None)
}

fn tenant(node: &Node) -> String {
    let created = json_of(node.command().args(["tenant", "create", "acme", "--rate-limit", "100000", "--json"]));
    json_of(node.command().args([
        "tenant",
        "set",
        &text(&created["tenant"]["id"]),
        "--concurrent-calls",
        "1000",
        "--json",
    ]));
    text(&created["api_key"]["key"])
}

fn client(service: &Process, key: &str) -> Client {
    Client::new(service.base.clone(), key.to_owned())
}

/// Backs everything up.
fn back_up(node: &Node, folder: &Path) -> Value {
    json_of(node.command().arg("backup").arg(folder).args(["--recordings", "--key", "--json"]))
}

/// Restores a backup. Returns the exit code and the output.
fn restore(node: &Node, folder: &Path, options: &[&str]) -> (Option<i32>, String) {
    run(node.command().arg("restore").arg(folder).args(options))
}

fn run(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().expect("the binary starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).expect("text"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort_unstable();
    names
}

/// Returns the recording of a call from the API. A call does not wait for a slow disk, so this waits until the length is in the header, which is
/// written last.
async fn recording(client: &Client, call: &str) -> Vec<u8> {
    let path = format!("/v1/calls/{call}/recording");
    let mut recording = Vec::new();
    until("the recording is whole", TIMEOUT, async || {
        let response = client.request(reqwest::Method::GET, &path).send().await.expect("an answer");
        recording = response.bytes().await.expect("a body").to_vec();
        wav::read(&recording).is_ok_and(|wav| !wav.channels[0].is_empty())
    })
    .await;
    recording
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_on_sqlite_that_is_backed_up_under_load_starts_again_from_the_copy() {
    is_backed_up_under_load(node(), &node(), "sqlite").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_on_postgresql_that_is_backed_up_under_load_starts_again_from_the_copy() {
    let server = tokio::task::block_in_place(Server::start);
    let (first, second) = (server.database().await, server.database().await);
    is_backed_up_under_load(Node::on(Some(first)), &Node::on(Some(second)), "postgres").await;
}

/// Backs up a service that places calls, and starts another one from the copy.
async fn is_backed_up_under_load(node: Node, other: &Node, engine: &'static str) {
    switchhook_net::install_tls();
    let key = tenant(&node);
    let service = node.serve();
    let old = client(&service, &key);
    let agent = old.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let talked = old.place(&agent, TALKS).await;
    let ended = old.wait_for_end(&talked).await;
    assert!(ended["recording_url"].is_string(), "{ended}");
    let heard = recording(&old, &talked).await;
    let secret = json!({ "name": "Hosted", "provider": "openai", "credentials": { "api_key": "sk-0123456789" } });
    let hosted = format!("/v1/connections/{}", text(&old.create("/v1/connections", secret).await["id"]));
    let tomorrow = switchhook_runtime::clock::Clock::system().now() + std::time::Duration::from_secs(86_400);
    let scheduled = json!({ "agent_id": agent.id, "to": ENDS, "schedule_at": tomorrow });
    let scheduled = text(&old.create("/v1/calls", scheduled).await["id"]);

    // Calls arrive all the time; those accepted before the backup began must be in it.
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (loading, agent_id) = (old.clone(), agent.id.clone());
    let load = tokio::spawn(async move {
        let (mut placed, mut stopped) = (Vec::new(), stopped);
        while stopped.try_recv().is_err() {
            let call = text(&loading.create("/v1/calls", json!({ "agent_id": agent_id, "to": ENDS })).await["id"]);
            loading.wait_for_end(&call).await; // Or a slow backup would meet the limit of live calls.
            placed.push(call);
        }
        placed
    });
    let before: Vec<String> = {
        let mut placed = Vec::new();
        for _ in 0..20 {
            placed.push(old.place(&agent, ENDS).await);
        }
        placed
    };
    let folder = private_folder();
    let copy = folder.path().join("copy");
    let (_node, copy) = tokio::task::spawn_blocking(move || {
        let made = back_up(&node, &copy);
        assert_eq!((&made["database"], &made["key_file"]), (&json!(engine), &json!(true)), "{made}");
        assert_eq!(modes(&copy), [0o600], "only the owner reads the copy");
        let again = run(node.command().arg("backup").arg(&copy));
        assert!(again.0 == Some(1) && again.1.contains("is not empty"), "{again:?}");
        (node, copy)
    })
    .await
    .expect("no panic");
    stop.send(()).expect("it runs");
    assert!(!load.await.expect("no panic").is_empty(), "calls were placed meanwhile");
    service.kill();

    let (code, said) = restore(other, &copy, &[]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = restore(other, &copy, &["--force"]);
    assert!(engine == "sqlite" || (code == Some(1) && said.contains("Nothing is overwritten")), "{said}");
    let service = other.serve();
    let new = client(&service, &key);
    assert_eq!(new.wait_for(&talked, |call| call["summary"].is_string()).await, ended, "the call is as it was");
    assert_eq!(recording(&new, &talked).await, heard);
    for call in &before {
        new.wait_for_end(call).await;
    }
    // It may have been dialled since the backup, so it is not dialled again.
    assert_eq!(new.wait_for_end(&scheduled).await["end_reason"], "canceled");
    let (status, renamed) = new.patch(&hosted, json!({ "name": "Still hosted" })).await;
    assert_eq!((status, &renamed["credentials"]["api_key"]), (StatusCode::OK, &json!("••••6789")), "its secret opens");
    service.kill();
}

/// Returns the modes of the files in a folder and its subfolders.
fn modes(folder: &Path) -> Vec<u32> {
    let mut modes = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            modes.extend(self::modes(&path));
        } else {
            modes.push(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777);
        }
    }
    modes.sort_unstable();
    modes.dedup();
    modes
}

/// Creates a backup of a service with a tenant. Returns the folder that contains it.
fn small_backup() -> (Node, tempfile::TempDir, PathBuf) {
    let node = node();
    tenant(&node);
    std::fs::create_dir_all(node.data_dir().join("recordings/a")).expect("a folder");
    std::fs::write(node.data_dir().join("recordings/a/b.wav"), "sound").expect("written");
    let folder = private_folder();
    let copy = folder.path().join("copy");
    back_up(&node, &copy);
    (node, folder, copy)
}

#[tokio::test]
async fn a_damaged_or_incomplete_backup_is_refused_and_leaves_nothing_behind() {
    let (_node, _folder, copy) = small_backup();
    for name in ["switchhook.db", "recordings/a/b.wav"] {
        let (path, other) = (copy.join(name), self::node());
        let whole = std::fs::read(&path).expect("a file");
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        for bytes in [damaged, whole[..middle].to_vec()] {
            std::fs::write(&path, bytes).expect("written");
            let (code, said) = restore(&other, &copy, &[]);
            assert!(code == Some(1) && said.contains("damaged") && said.contains(name), "{said}");
            assert_eq!(names(other.data_dir()), ["service.lock", "switchhook.db.lock"], "nothing was restored");
        }
        std::fs::remove_file(&path).expect("it was there");
        let (code, said) = restore(&other, &copy, &[]);
        assert!(code == Some(1) && said.contains(&format!("{name} is missing")), "{said}");
        std::fs::write(&path, whole).expect("written");
    }
    std::fs::remove_file(copy.join("manifest.json")).expect("it was there");
    let (code, said) = restore(&self::node(), &copy, &[]);
    assert!(code == Some(1) && said.contains("manifest.json"), "{said}");
}

#[tokio::test]
async fn nothing_is_overwritten_unasked_or_under_a_running_service() {
    let (node, _folder, copy) = small_backup();
    let before = json_of(node.command().args(["tenant", "list", "--json"]));
    json_of(node.command().args(["tenant", "create", "later", "--json"]));
    let (code, said) = restore(&node, &copy, &[]);
    assert!(code == Some(1) && said.contains("switchhook.db exists") && said.contains("--force"), "{said}");

    let service = node.serve();
    let (code, said) = restore(&node, &copy, &["--force"]);
    assert!(code == Some(1) && said.contains("a service uses"), "{said}");
    service.kill();

    let (code, said) = restore(&node, &copy, &["--force"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(json_of(node.command().args(["tenant", "list", "--json"])), before);
    let aside: Vec<String> = names(node.data_dir()).into_iter().filter(|name| name.contains(".before-")).collect();
    assert!(aside.iter().any(|name| name.starts_with("switchhook.db.before-")), "it was moved aside: {aside:?}");
    assert_eq!(std::fs::read(node.data_dir().join("recordings/a/b.wav")).expect("a file"), b"sound");
}

#[tokio::test]
async fn recordings_that_are_not_in_the_backup_stay_where_they_are() {
    let (node, folder, _) = small_backup();
    let copy = folder.path().join("database");
    json_of(node.command().arg("backup").arg(&copy).arg("--json"));
    let (code, said) = restore(&node, &copy, &["--force"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(std::fs::read(node.data_dir().join("recordings/a/b.wav")).expect("a file"), b"sound");
    assert_eq!(names(&node.data_dir().join("recordings")), ["a"]);
}

#[tokio::test]
async fn recordings_are_restored_where_a_link_leads() {
    let (node, folder, copy) = small_backup();
    let (link, storage) = (node.data_dir().join("recordings"), folder.path().join("storage"));
    std::fs::rename(&link, &storage).expect("moved");
    std::os::unix::fs::symlink(&storage, &link).expect("a link");
    std::fs::write(storage.join("a/b.wav"), "other").expect("written");
    std::fs::create_dir(storage.join("later")).expect("a folder");
    let (code, said) = restore(&node, &copy, &[]);
    assert!(code == Some(1) && said.contains("--force"), "{said}");
    let (code, said) = restore(&node, &copy, &["--force"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(link.is_symlink(), "the link is still there");
    assert_eq!(std::fs::read(storage.join("a/b.wav")).expect("a file"), b"sound");
    let there = names(&storage);
    assert!(there.len() == 3 && there[1].starts_with("a.before-") && there[2] == "later", "{there:?}");
    assert_eq!(std::fs::read(storage.join(&there[1]).join("b.wav")).expect("a file"), b"other");

    let next = folder.path().join("next");
    std::fs::create_dir(storage.join("lost+found")).expect("a folder");
    back_up(&node, &next);
    assert_eq!(names(&next.join("recordings")), ["a"], "folders that are no tenant's are left out");
}

#[tokio::test]
async fn recordings_and_the_key_are_in_a_backup_on_request_only() {
    let (node, folder, _) = small_backup();
    node.serve().kill(); // The first start makes the key.
    for (name, options, held, warned) in [
        ("a", &[][..], &["manifest.json", "switchhook.db"][..], false),
        ("b", &["--without-key"], &["manifest.json", "switchhook.db"], false),
        ("c", &["--key"], &["manifest.json", "master.key", "switchhook.db"], true),
        ("d", &["--recordings"], &["manifest.json", "recordings", "switchhook.db"], false),
        ("e", &["--without-database", "--recordings"], &["manifest.json", "recordings"], false),
    ] {
        let copy = folder.path().join(name);
        let (code, said) = run(node.command().arg("backup").arg(&copy).args(options));
        assert_eq!((code, names(&copy)), (Some(0), held.iter().map(|name| (*name).to_owned()).collect()), "{said}");
        assert_eq!(said.contains("Warning"), warned, "{said}");
    }
    let (code, said) = run(node.command().arg("backup").arg(folder.path().join("f")).arg("--without-database"));
    assert!(code == Some(2) && said.contains("--recordings"), "{said}");
}

#[tokio::test]
async fn a_backup_that_is_interrupted_or_fails_leaves_nothing_behind() {
    let (node, folder, _) = small_backup();
    let endless = node.data_dir().join("recordings/a/endless.wav");
    std::fs::File::create(&endless).expect("a file").set_len(1 << 40).expect("a sparse file");
    for (name, exists) in [("missing", false), ("empty", true)] {
        let copy = folder.path().join(name);
        if exists {
            std::fs::create_dir(&copy).expect("a folder");
        }
        let mut command = node.command();
        let started = command.arg("backup").arg(&copy).arg("--recordings").stderr(Stdio::null()).spawn();
        let mut backup = started.expect("the binary starts");
        until("it copies a recording", Duration::from_secs(30), async || {
            copy.join("recordings/a/endless.wav").exists()
        })
        .await;
        let sent = Command::new("sh").arg("-c").arg(format!("kill -INT {}", backup.id())).status();
        assert!(sent.expect("a shell").success());
        assert_eq!(backup.wait().expect("it is ours").code(), Some(130));
        assert_eq!((copy.exists(), copy.read_dir().into_iter().flatten().count()), (exists, 0));
    }

    let copy = folder.path().join("short");
    let binary = node.command();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\""])
        .arg(binary.get_program())
        .arg("backup")
        .arg(&copy);
    for (name, value) in binary.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let (code, said) = run(&mut shell);
    assert!(code == Some(1) && said.contains("could not copy the database"), "{said}");
    assert!(!copy.exists(), "{:?}", names(&copy));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_fits_the_engine_and_the_programs_of_postgresql() {
    switchhook_net::install_tls();
    let server = tokio::task::block_in_place(Server::start);
    let node = Node::on(Some(server.database().await));
    tenant(&node);
    let folder = private_folder();
    let copy = folder.path().join("copy");
    back_up(&node, &copy);
    let (code, said) = restore(&self::node(), &copy, &[]);
    assert!(code == Some(1) && said.contains("--database-url postgres://"), "{said}");

    let other = Node::on(Some(server.database().await));
    let dump = std::fs::read(copy.join("switchhook.dump")).expect("a file");
    std::fs::write(copy.join("switchhook.dump"), &dump[..dump.len() / 2]).expect("written");
    let (code, said) = restore(&other, &copy, &[]);
    assert!(code == Some(1) && said.contains("switchhook.dump is not what was backed up"), "{said}");
    std::fs::write(copy.join("switchhook.dump"), dump).expect("written");
    let (code, said) = restore(&other, &copy, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(json_of(other.command().args(["tenant", "list", "--json"])).as_array().map(Vec::len), Some(1));

    let (_node, _folder, sqlite) = small_backup();
    let (code, said) = restore(&other, &sqlite, &["--force"]);
    assert!(code == Some(1) && said.contains("--database-url sqlite://"), "{said}");
}
