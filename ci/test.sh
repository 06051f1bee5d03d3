#!/usr/bin/env bash
# Installs the test dependencies and runs all tests. Works on a bare Debian or Ubuntu machine with Rust.
#
# Runs every step even if one fails, and ends with the result and duration of each.
#
#   ci/test.sh [--without-advisories]
#
# --without-advisories: this machine may not reach the server of security advisories, or the npm registry; what needs them then
# reports NOT CHECKED and does not count as failed.
#
# shellcheck disable=SC2317 # the functions are called by step
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# Versions of tools to install if they are missing.
NEXTEST=0.9.143
DENY=0.20.2
exec 2>&1 # one log, in order

# Most service tests wait for real time rather than for a CPU. Each has database connections, of which there are 600, so small
# machines run six times as many tests as they have CPUs, up to twelve.
TEST_THREADS=$(nproc)
[ "$TEST_THREADS" -ge 12 ] || TEST_THREADS=$((TEST_THREADS * 6 > 12 ? 12 : TEST_THREADS * 6))

# What a first run writes: 3 GB of tests, 1 GB of documentation, the dashboard's packages, databases.
FIRST_RUN_MB=4600
# What any run writes: databases, the dashboard's packages, tests that are linked again.
LEAST_MB=1000

# Exit code of a step that could not check anything.
NOT_CHECKED=77
may_be_unchecked=no
case "${1:-}" in
    "") ;;
    --without-advisories) may_be_unchecked=yes ;;
    *)
        echo "usage: ci/test.sh [--without-advisories]"
        exit 2
        ;;
esac

names=()
times=()
results=()
failed=0

# step NAME COMMAND…: runs the command under a heading and records its result.
step() {
    local name=$1 start=$SECONDS status=0
    shift
    printf '\n=== %s\n' "$name"
    "$@" || status=$?
    names+=("$name")
    times+=($((SECONDS - start)))
    if [ "$status" = 0 ]; then
        results+=(ok)
    elif [ "$status" = "$NOT_CHECKED" ] && [ "$may_be_unchecked" = yes ]; then
        results+=("NOT CHECKED")
    else
        results+=("FAILED ($status)")
        failed=$((failed + 1))
    fi
    return "$status"
}

# Steps that run beside others: process groups and folders, by name.
declare -A groups folders

# begin NAME COMMAND…: starts a step that runs beside those that follow. `finish NAME` waits for it and shows what it printed.
begin() {
    local name=$1 folder
    shift
    folder=$(mktemp -d)
    set -m # A process group of its own, which the trap ends as a whole.
    (
        start=$SECONDS
        status=0
        "$@" >"$folder/log" 2>&1 </dev/null || status=$?
        echo $((SECONDS - start)) >"$folder/seconds"
        exit "$status"
    ) &
    groups[$name]=$!
    set +m
    folders[$name]=$folder
    trap 'for group in "${groups[@]}"; do kill -- "-$group" 2>/dev/null; done' EXIT
    printf '\n=== %s (begins; ends below)\n' "$name"
}

finish() {
    local folder=${folders[$1]} status=0
    wait "${groups[$1]}" || status=$?
    unset "groups[$1]"
    shown() {
        cat "$folder/log"
        return "$status"
    }
    step "$1" shown
    times[-1]=$(cat "$folder/seconds" 2>/dev/null || echo 0)
    rm -rf "$folder"
}

summary() {
    printf '\n=== Summary\n'
    for i in "${!names[@]}"; do
        printf '%4d s  %-12s %s\n' "${times[$i]}" "${results[$i]}" "${names[$i]}"
    done
    printf '%4d s  in all\n' "$SECONDS"
    printf 'Steps: %d passed, %d failed\n' "$((${#names[@]} - failed))" "$failed"
}

stop() {
    summary
    printf '\n%s\n' "$*"
    exit 1
}

# A disk that fills up fails any test, half an hour later.
disk_space() {
    local target=${CARGO_TARGET_DIR:-target} free written needed
    mkdir -p "$target"
    written=$(du -sm "$target" | cut -f1)
    free=$(df --output=avail -m "$target" | tail -n 1)
    needed=$((written < FIRST_RUN_MB - LEAST_MB ? FIRST_RUN_MB - written : LEAST_MB))
    echo "$((free)) MB free, $needed MB needed"
    [ "$free" -ge "$needed" ] || {
        echo "Free $((needed - free)) MB more."
        return 1
    }
}

system_packages() {
    local missing=()
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    command -v git >/dev/null || missing+=(git)
    [ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
    # The speech models are Python packages.
    python3 -m pip --version >/dev/null 2>&1 || missing+=(python3 python3-pip)
    # schemathesis runs in a Python virtual environment.
    python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing+=(python3-venv)
    [ -n "$(find /usr/lib/postgresql -name initdb 2>/dev/null)" ] || command -v initdb >/dev/null || missing+=(postgresql)
    # The verifiers of docs/webhooks.md run in their own languages.
    command -v python3 >/dev/null || missing+=(python3)
    command -v node >/dev/null || missing+=(nodejs)
    # The dashboard is built with npm and tested in Chromium.
    command -v npm >/dev/null || missing+=(npm)
    [ -x "${SWITCHHOOK_CHROMIUM:-/usr/bin/chromium}" ] || missing+=(chromium)
    command -v curl >/dev/null || missing+=(curl)
    command -v go >/dev/null || missing+=(golang-go)
    command -v openssl >/dev/null || missing+=(openssl)
    [ ${#missing[@]} -gt 0 ] || return 0
    install "${missing[@]}"
}

# install PACKAGE…: installs system packages.
install() {
    echo "Installing $*"
    command -v apt-get >/dev/null || {
        echo "This is not Debian or Ubuntu: install the packages above by hand."
        return 1
    }
    local as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

rust() {
    if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    fi
    command -v cargo >/dev/null || {
        echo "Rust is missing. Install rustup as https://rustup.rs says; it reads the version from rust-toolchain.toml."
        return 1
    }
    # rustup downloads a missing toolchain of rust-toolchain.toml at the first call.
    rustc --version && cargo clippy --version && cargo fmt --version
}

# tool NAME VERSION: uses an installed tool of any version. Building it with little optimisation saves minutes.
tool() {
    local version
    if version=$(cargo "${1#cargo-}" --version 2>/dev/null); then
        echo "${version%%$'\n'*}"
        return 0
    fi
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        CARGO_PROFILE_RELEASE_DEBUG=false cargo install --locked --version "$2" "$1"
}

TARGETS=(--lib --bins --tests)

# With the benchmarks in bench/, which are examples of the service.
compilation() {
    cargo test --no-run --workspace "${TARGETS[@]}" --locked && cargo build --workspace --examples --locked
}

# Unit tests of the database. With a PostgreSQL server they run on both engines, so they run once, in that step.
STORES='package(switchhook) & kind(lib)
    & test(/^(store|webhooks|calls::(dial_permission|place|runner)|cli::doctor::stored|http::(health|tests|webhooks))::/)'
# Service tests that start a PostgreSQL server themselves, whatever the others run on.
OWN_POSTGRES='test(/^(chaos|cluster|crash::history|faults::(database|lost_answer|refused|small_database))::/)'
# Service tests of what other systems say: the database learns nothing there that the tests of Twilio and of simulated calls do not
# write, too. One whole conversation of each carrier and of the browser runs on both.
OTHER_SYSTEMS='test(/^(carriers::(telnyx|signalwire)|agent_tools|demo|doubles|documentation|init|instructions|listening|mcp_tools|providers|verifiers|web_calls|wideband)::/)
    - test(/^(carriers|web_calls)::.*(a_whole_conversation|booked_over)/)'

on_sqlite() {
    # A test of the database that is not in STORES fails here.
    SWITCHHOOK_TEST_STORES_ELSEWHERE=1 SWITCHHOOK_RANDOM_SECONDS="${SWITCHHOOK_RANDOM_SECONDS:-20}" \
        cargo nextest run --workspace "${TARGETS[@]}" --locked --profile ci --test-threads "$TEST_THREADS" \
        -E "all() - ($STORES)"
}

on_postgres() {
    ci/with-postgres.sh cargo nextest run -p switchhook "${TARGETS[@]}" --profile ci --test-threads "$TEST_THREADS" \
        -E "($STORES) + (binary(it) - ($OWN_POSTGRES) - ($OTHER_SYSTEMS))"
}

openapi() {
    local fresh
    fresh=$("$SWITCHHOOK_BINARY" openapi) || return 1
    if ! diff -u docs/openapi.json - <<<"$fresh"; then
        echo "docs/openapi.json is not what the program prints. Run: just openapi"
        return 1
    fi
}

# The advisory database is a remote git repository. If it cannot be reached, a copy of the last 90 days in CARGO_HOME is used.
# Without one the step fails, unless --without-advisories was given.
advisories() {
    if cargo deny fetch db; then
        cargo deny --offline check advisories
    elif compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/advisory-db-*" >/dev/null; then
        echo "The advisory database cannot be reached: the copy from an earlier run is used."
        cargo deny --offline check advisories
    else
        echo "NOT CHECKED: the advisory database cannot be reached, and there is no copy of it."
        return "$NOT_CHECKED"
    fi
}

step "Disk space" disk_space || stop "There is too little room on this disk."
step "System packages" system_packages || stop "The system packages could not be installed."
step "Rust" rust || stop "There is no Rust to test with."
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
step "cargo-nextest" tool cargo-nextest "$NEXTEST" || stop "cargo-nextest could not be installed."
step "cargo-deny" tool cargo-deny "$DENY" || stop "cargo-deny could not be installed."

step "Format" cargo fmt --all --check
step "No circles of imports" ci/circles.py
step "Plain comments" ci/words.py
# Everything is compiled once, and linted when it is.
export RUSTC_WORKSPACE_WRAPPER=$PWD/ci/rustc-and-clippy.sh
step "Compilation, with lints" compilation
step "Tests, on SQLite" on_sqlite
step "Tests of the database, on PostgreSQL and SQLite" on_postgres
# The tests have built it.
export SWITCHHOOK_BINARY=${SWITCHHOOK_BINARY:-$(realpath -m "${CARGO_TARGET_DIR:-target}")/debug/switchhook}
# Each of these waits for calls, or uses one CPU at a time: the rest of the steps fit beside them.
begin "The dashboard, in a browser" ci/dashboard.sh
# Fewer random examples than by hand.
begin "The API against its own description" ci/schemathesis.sh 15
step "Documentation, and the examples in it" env RUSTDOC="$PWD/ci/rustdoc.sh" cargo test --doc --workspace --locked
step "Licences, bans and sources of dependencies" cargo deny check licenses bans sources
step "Advisories about dependencies" advisories
step "docs/openapi.json is up to date" openapi
step "The clients for Python and TypeScript" ci/clients.sh
# Without openapi-generator, which needs Java.
step "Generated clients, and linters of docs/openapi.json" ci/generators.sh linters webhook-types openapi-python-client datamodel-code-generator \
    openapi-typescript hey-api orval
step "The packages for pip and npm, and a new user's first minutes" ci/packaging.sh
finish "The API against its own description"
finish "The dashboard, in a browser"
step "An update with live calls, and the way back" ci/upgrade.py "$SWITCHHOOK_BINARY"
step "Signing in at an OpenID provider, in a browser" ci/oidc.sh

summary
[ "$failed" = 0 ]
