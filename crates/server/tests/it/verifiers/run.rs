//! Runs verifiers in the languages they are written in. A missing language is a failure: `ci/test.sh` installs all.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::cases::{Case, cases};
use crate::harness::process::Node;

/// Reads cases as JSON, sets the clock to the time of each, and prints the verdicts as JSON.
const PYTHON: &str = r#"
import json, sys
verdicts = []
for case in json.load(sys.stdin):
    time.time = lambda: case["now"]
    verdicts.append(verify(case["secret"], case["header"], bytes.fromhex(case["body"])))
assert verify(case["secret"], None, b"") is False
print(json.dumps(verdicts))
"#;

const NODE: &str = r#"
const verdicts = JSON.parse(require("node:fs").readFileSync(0)).map((given) => {
  Date.now = () => given.now * 1000;
  return verify(given.secret, given.header, Buffer.from(given.body, "hex"));
});
require("node:assert").strictEqual(verify("whsec_", undefined, Buffer.from("")), false);
console.log(JSON.stringify(verdicts));
"#;

const GO: &str = r#"
package main

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"time"

	"receiver/webhooks"
)

func main() {
	var cases []struct {
		Secret, Header, Body string
		Now                  int64
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	var verdicts []bool
	for _, given := range cases {
		body, err := hex.DecodeString(given.Body)
		if err != nil {
			panic(err)
		}
		verdicts = append(verdicts, webhooks.Verify(given.Secret, given.Header, body, time.Unix(given.Now, 0)))
	}
	json.NewEncoder(os.Stdout).Encode(verdicts)
}
"#;

/// Reads bodies as JSON, and prints the names of the types that each of them fits.
const PYTHON_TYPES: &str = r#"
import json, sys
from typing import get_args, get_origin, get_type_hints

def fits(value, hint):
    if hint is Any:
        return True
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is Union:
        return any(fits(value, one) for one in get_args(hint))
    if hasattr(hint, "__total__"):
        fields = get_type_hints(hint)
        return set(value) == set(fields) and all(fits(value[name], one) for name, one in fields.items())
    return isinstance(value, get_origin(hint) or hint)

bodies = json.load(sys.stdin)
print(json.dumps([[kind.__name__ for kind in get_args(WebhookEvent) if fits(body, kind)] for body in bodies]))
"#;

pub(super) fn python(snippet: &str) -> Vec<bool> {
    verdicts(Command::new("python3").arg("-c").arg(format!("{snippet}{PYTHON}")))
}

pub(super) fn node(snippet: &str) -> Vec<bool> {
    verdicts(Command::new("node").arg("-e").arg(format!("{snippet}{NODE}")))
}

pub(super) fn go(snippet: &str) -> Vec<bool> {
    let module = tempfile::tempdir().expect("a temporary folder");
    let write = |path: &str, text: &str| std::fs::write(module.path().join(path), text).expect("written");
    std::fs::create_dir(module.path().join("webhooks")).expect("a folder");
    write("go.mod", "module receiver\n\ngo 1.18\n");
    write("main.go", GO);
    write("webhooks/verify.go", snippet);
    // Go's compiled standard library is cached between runs; nothing is fetched.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
    let mut command = Command::new("go");
    command.args(["run", "."]).current_dir(module.path()).env("GOCACHE", cache);
    verdicts(command.env("GOFLAGS", "-mod=mod").env("GOPROXY", "off").env("GOTOOLCHAIN", "local"))
}

/// Returns the names of the Python types that each of these bodies fits.
pub(super) fn fitting(snippet: &str, bodies: &Value) -> Vec<Vec<String>> {
    let mut command = Command::new("python3");
    let output = fed(command.arg("-c").arg(format!("{snippet}{PYTHON_TYPES}")), bodies.to_string().as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("names of types")
}

/// Passes the cases to a program and reads its verdicts.
fn verdicts(command: &mut Command) -> Vec<bool> {
    let shown = |case: &Case| {
        let body = case.body.iter().fold(String::new(), |mut text, byte| {
            let _never_fails = write!(text, "{byte:02x}");
            text
        });
        json!({ "secret": case.secret, "header": case.header, "body": body, "now": case.now })
    };
    let cases: Vec<_> = cases().iter().map(shown).collect();
    let output = fed(command, json!(cases).to_string().as_bytes());
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("verdicts")
}

fn fed(command: &mut Command, input: &[u8]) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap_or_else(|error| {
        let program = piped.get_program().to_string_lossy().into_owned();
        panic!("{program} cannot be started ({error}); ci/test.sh installs it")
    });
    // A program that refuses its arguments does not read its input.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("it ends")
}

/// Returns whether the guide's shell lines accept a delivery as genuine.
pub(super) fn shell(lines: &str, case: &Case) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("body.json"), &case.body).expect("written");
    let mut command = Command::new("sh");
    command.args(["-euc", lines]).current_dir(folder.path());
    let output = fed(command.env("SIGNATURE", &case.header).env("SECRET", case.secret), b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    match output.stdout.trim_ascii() {
        b"genuine" => true,
        b"not genuine" => false,
        other => panic!("{}", String::from_utf8_lossy(other)),
    }
}

/// Returns whether `switchhook webhook verify` accepts a delivery as genuine.
pub(super) fn command(node: &Node, case: &Case, tolerance: Option<&str>) -> bool {
    let mut command = node.command();
    // Joined with `=`, so that a header of any form is one argument.
    command.args(["webhook", "verify", "--secret", case.secret, &format!("--signature={}", case.header)]);
    command.args(tolerance.map(|tolerance| format!("--tolerance={tolerance}")));
    let output = fed(&mut command, &case.body);
    match output.status.code() {
        Some(0) => true,
        Some(1) => false,
        _ => panic!("{}: {}", case.name, String::from_utf8_lossy(&output.stderr)),
    }
}
