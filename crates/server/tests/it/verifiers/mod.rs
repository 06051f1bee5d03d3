//! The verifiers in the receiver's guide, each run in its language.

mod cases;
#[expect(unreachable_pub, reason = "it is a module of somebody else's program")]
mod receiver;
mod run;
mod types;

use self::cases::{BODY, Case, NOW, SECRET, SIGNATURE, cases};

/// The guide for receivers of webhooks.
const GUIDE: &str = include_str!("../../../../../docs/webhooks.md");

/// Returns the only code block in `language` that contains `words`.
fn snippet(language: &str, words: &str) -> &'static str {
    let fence = format!("```{language}\n");
    let blocks = GUIDE.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let found: Vec<_> = blocks.filter(|block| block.contains(words)).collect();
    let [found] = found[..] else { panic!("{} blocks of {language} with {words:?}", found.len()) };
    found
}

/// Compares a verifier's verdicts with the expected ones.
fn check(verifier: &str, said: &[bool]) {
    let cases = cases();
    assert_eq!(said.len(), cases.len(), "{verifier} judged every case");
    for (case, said) in cases.iter().zip(said) {
        assert_eq!(*said, case.genuine, "{verifier}: {}", case.name);
    }
}

#[test]
fn the_guide_and_the_contract_have_the_same_vector() {
    for part in [SECRET, SIGNATURE, &NOW.to_string(), std::str::from_utf8(BODY).expect("text")] {
        assert!(GUIDE.contains(part), "{part}");
    }
    assert!(cases().iter().any(|case| case.genuine) && cases().iter().any(|case| !case.genuine));
}

#[test]
fn the_python_verifier_is_right() {
    check("Python", &run::python(snippet("python", "def verify")));
}

#[test]
fn the_javascript_verifier_is_right() {
    check("Node.js", &run::node(snippet("js", "function verify")));
}

#[test]
fn the_go_verifier_is_right() {
    check("Go", &run::go(snippet("go", "func Verify")));
}

#[test]
fn the_rust_verifier_is_right_and_stands_in_the_guide_as_it_is_compiled() {
    assert_eq!(snippet("rust", "fn verify"), include_str!("receiver.rs"));
    let judge = |case: &Case| {
        let now = u64::try_from(case.now).expect("after 1970");
        receiver::verify(case.secret, &case.header, &case.body, now)
    };
    check("Rust", &cases().iter().map(judge).collect::<Vec<_>>());
}

#[test]
fn the_lines_for_the_shell_tell_a_genuine_delivery_from_others() {
    let lines = snippet("sh", "openssl dgst");
    let table = ["genuine", "another secret", "another body", "the new secret first", "no signature of ours"];
    for name in table {
        let case = cases().into_iter().find(|case| case.name == name).expect("a case of that name");
        assert_eq!(run::shell(lines, &case), case.genuine, "{name}");
    }
}

/// Uses the machine's clock, so the cases about time are created relative to it.
#[tokio::test]
async fn the_command_is_right() {
    let node = crate::harness::process::Node::new().await;
    let timeless = cases().into_iter().filter(|case| case.now == NOW);
    let said: Vec<_> = timeless.map(|case| (run::command(&node, &case, Some("1000000h")), case)).collect();
    for (said, case) in said {
        assert_eq!(said, case.genuine, "{}", case.name);
    }
    for (name, offset, genuine) in [
        ("now", 0, true),
        ("4 minutes old", -240, true),
        ("6 minutes old", -360, false),
        ("4 minutes ahead", 240, true),
        ("6 minutes ahead", 360, false),
    ] {
        let now = switchhook_runtime::clock::Clock::system().now().as_seconds();
        let case = Case::signed(name, now + offset, genuine);
        assert_eq!(run::command(&node, &case, None), genuine, "{name}");
    }
}
