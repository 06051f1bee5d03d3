# Everyday commands for https://just.systems. Each recipe is one line that also works without just.

# List the recipes.
default:
    @just --list

# Hold a spoken phone call on this machine.
demo *args:
    cargo run --release -- demo {{ args }}

# Run the service on 127.0.0.1:8080, with a tenant, an agent and a number.
dev *args:
    cargo run -- dev {{ args }}

# Run the tests on SQLite. `just test -p switchhook-core` runs those of one crate; ci/test.sh runs everything.
test *args:
    cargo nextest run {{ if args == "" { "--workspace" } else { args } }}

# Check a branch in minutes: format, lints, unit tests, and the service tests of what changed since `base`.
quick base="main":
    ci/quick.sh {{ base }}

# Run the tests `times` times beside busy loops.
stress times="3" *args:
    ci/stress.sh {{ times }} {{ args }}

# Run the service tests on a temporary PostgreSQL.
test-postgres *args:
    ci/with-postgres.sh cargo nextest run -p switchhook -E 'binary(it) - test(/^(chaos|cluster|crash::history)::/) | kind(lib) & test(/^(store|http|webhooks|calls)::/)' {{ args }}

# Kill the service under load and check its history. On PostgreSQL: ci/with-postgres.sh just crash
crash cycles="200":
    SWITCHHOOK_CRASH_CYCLES={{ cycles }} cargo nextest run -p switchhook --test it --profile long --no-capture -E 'test(/^crash::cycles::/)'

# Throw faults of databases and machines at random under load, for about 14 s a round, and check the history and `/readyz`.
chaos rounds="250":
    SWITCHHOOK_CHAOS_ROUNDS={{ rounds }} cargo nextest run -p switchhook --test it --profile long --no-capture -E 'test(/^chaos::/)'

# Run the cluster tests on one PostgreSQL; one node is suspended for `stop` seconds.
cluster stop="60":
    SWITCHHOOK_STOP_SECONDS={{ stop }} cargo nextest run -p switchhook --test it --profile long --no-capture -E 'test(/^cluster::/)'

# Try random conversations for `minutes`, then fuzz the parsers of untrusted input for as long.
fuzz minutes="60":
    SWITCHHOOK_RANDOM_SECONDS=$(( {{ minutes }} * 60 )) cargo nextest run -p switchhook-core --profile long -E 'test(/^conversation::tests::(interleaving|response_deadline)::/)'
    SWITCHHOOK_FUZZ_SECONDS=$(( {{ minutes }} * 60 )) cargo nextest run --workspace --lib --profile long --no-capture -E 'test(/^fuzz::whatever/)'

# Hold conversations with servers that follow their protocols loosely, `seeds` of each kind.
wild seeds="500":
    WILD_SEEDS={{ seeds }} cargo nextest run -p switchhook --test it --profile long -E 'test(/wild/) | test(/^mcp_tools::results_reach/)'
    WILD_SEEDS={{ seeds }} cargo nextest run -p switchhook-carriers --lib --profile long -E 'test(/wild/)'

lint:
    cargo clippy --workspace --all-targets -- -D warnings
    cargo deny check

fmt:
    cargo fmt --all

# Build the code documentation, including private items.
doc:
    cargo doc --no-deps --workspace --document-private-items --open

# Measure the cost of a call with `calls` concurrent calls.
bench calls="100":
    cargo run --release -p switchhook --example bench-calls -- --calls {{ calls }}

# Measure a node with `calls` ended calls. On PostgreSQL: ci/with-postgres.sh --durable just history
history calls="1000000" *args:
    cargo build --release -p switchhook && cargo run --release -p switchhook --example bench-history -- --calls {{ calls }} {{ args }}

# Measure memory and CPU time over `minutes` of calls.
soak minutes="480" *args:
    cargo build --release -p switchhook && cargo run --release -p switchhook --example bench-soak -- --minutes {{ minutes }} {{ args }}

# Measure memory and CPU time under attack. On PostgreSQL: ci/with-postgres.sh --durable just attacks
attacks *args:
    cargo build --release -p switchhook && cargo run --release -p switchhook --example bench-attacks -- {{ args }}

# Build the binary of a release, and its wheel and npm packages for Linux machines like this one, into target/packages.
packages:
    cargo build --profile dist --locked --package switchhook
    python3 packaging/python/build_wheel.py target/dist/switchhook linux_$(uname -m) target/packages
    node packaging/npm/build_packages.mjs platform linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/') target/dist/switchhook target/packages
    node packaging/npm/build_packages.mjs main target/packages

# Regenerate the API description after an API change.
openapi:
    cargo run --quiet -- openapi > docs/openapi.json

# Keep today's API as that of a release: later changes that would break its clients fail the tests.
released:
    SWITCHHOOK_WRITE_RELEASED=1 cargo nextest run -p switchhook --lib -E 'test(nothing_breaks_a_client)'

# Record the examples of the API description from a call on the simulator.
examples:
    SWITCHHOOK_WRITE_EXAMPLES=1 cargo nextest run -p switchhook --test it -E 'test(/^http::examples::/)'
