#!/usr/bin/env bash
# Checks a branch in minutes: format, circles of imports, words of comments, lints, unit tests, and the service tests of what changed since `main`, on SQLite.
# The dashboard and the clients have checks of their own (ci/dashboard.sh, ci/clients.sh), and a merge needs ci/test.sh.
#
#   ci/quick.sh [BASE]    compares with BASE instead of main; changes that are not committed count too
#
# As a hook before each push: ln -s ../../ci/quick.sh .git/hooks/pre-push
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"
# Git runs a hook with the name and address of the remote as arguments.
base=${1:-main}
case "$0" in *hooks/pre-push) base=main ;; esac
since=$(git merge-base "$base" HEAD) || {
    echo "There is no commit $base to compare with. Name another: ci/quick.sh origin/main"
    exit 2
}

# filters PATH: prints the modules of the service tests that PATH concerns, separated by |.
filters() {
    local name
    case "$1" in
        crates/server/tests/it/doubles/* | crates/server/tests/it/harness/* | crates/server/tests/it/main.rs) echo 'calls|carriers|doubles' ;;
        crates/server/tests/it/*)
            name=${1#crates/server/tests/it/}
            name=${name%%/*}
            echo "${name%.rs}"
            ;;
        crates/carriers/src/twilio/*) echo 'carriers::twilio|carriers::signalwire' ;;
        crates/carriers/src/telnyx/*) echo 'carriers::telnyx' ;;
        crates/carriers/src/web/* | crates/webrtc/*) echo 'web_calls|listening' ;;
        crates/carriers/src/simulator/* | crates/caller-audio/*) echo 'calls' ;;
        crates/carriers/*) echo 'carriers|calls' ;;
        crates/providers/src/stt/*) echo 'providers::stt' ;;
        crates/providers/src/tts/*) echo 'providers::tts' ;;
        crates/providers/src/llm/*) echo 'providers::llm' ;;
        crates/providers/src/realtime/*) echo 'providers::realtime' ;;
        crates/providers/*) echo 'providers' ;;
        crates/fft/* | crates/media/* | crates/speech/*) echo 'calls|wideband|providers::own_machines' ;;
        crates/net/* | crates/core/src/webhook/*) echo 'delivery|security|tools' ;;
        crates/vault/*) echo 'security|tool_secrets' ;;
        crates/core/src/privacy/* | crates/core/src/privacy.rs) echo 'privacy' ;;
        crates/core/src/replay/*) echo 'replay' ;;
        crates/core/*) echo 'calls|control|tools' ;;
        crates/server/src/backup/* | crates/server/src/cli/backup.rs) echo 'backup' ;;
        crates/server/src/cli/*) echo 'command_line|demo|replay' ;;
        crates/server/src/sign_in/*) echo 'sign_in' ;;
        crates/server/src/webhooks/*) echo 'delivery|verifiers' ;;
        crates/server/src/http/* | crates/server/src/listener/*) echo 'http|security|validation' ;;
        crates/server/src/store/* | crates/server/migrations/*) echo 'http|delivery|crash|cluster' ;;
        crates/server/src/calls/*) echo 'calls|control|crash|cluster' ;;
        crates/server/src/talk/*) echo 'calls|control|tools|agent_tools|listening' ;;
        crates/* | Cargo.toml | Cargo.lock) echo 'calls|http' ;;
    esac
}

changed() {
    git diff --name-only "$since"
    git ls-files --others --exclude-standard
}

# Service tests concern what they name, and nothing else: the path of a test begins with the module.
concerned=$(changed | while read -r path; do filters "$path"; done | tr '|' '\n' | sort -u | paste -sd '|')
service="binary(it) & test(/^(${concerned:-none})::/)"

run() {
    local start=$SECONDS
    printf '\n=== %s\n' "$*"
    "$@"
    printf '%d s\n' "$((SECONDS - start))"
}

run cargo fmt --all --check
run ci/circles.py
run ci/words.py
run cargo clippy --workspace --all-targets --locked -- -D warnings
run cargo nextest run --workspace --lib --bins --tests --locked --test-threads "$(($(nproc) * 6))" -E "(all() - binary(it)) | ($service)"
printf '\n%d s in all. Before a merge: ci/test.sh\n' "$SECONDS"
