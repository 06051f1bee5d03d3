# The everyday commands: https://just.systems. Each recipe is one line that can be typed without just as well.

# Lists the recipes.
default:
    @just --list

# A spoken phone call on this machine.
demo *args:
    cargo run --release -- demo {{ args }}

# The service on 127.0.0.1:8080, with a tenant, an agent and a number.
dev *args:
    cargo run -- dev {{ args }}

# The tests on SQLite. `just test -p switchhook-core` runs those of one crate; ci/test.sh runs everything there is.
test *args:
    cargo nextest run {{ if args == "" { "--workspace" } else { args } }}

# The tests of the service on a PostgreSQL of their own.
test-postgres *args:
    ci/with-postgres.sh cargo nextest run -p switchhook -E 'binary(it) - test(/^(cluster|crash::history)::/) | test(/^(store|http|webhooks)::/)' {{ args }}

# The service under load, killed so many times, and the check of its history. On PostgreSQL: ci/with-postgres.sh just crash
crash cycles="200":
    SWITCHHOOK_CRASH_CYCLES={{ cycles }} cargo nextest run -p switchhook --test it --profile long --no-capture -E 'test(/^crash::cycles::/)'

# The tests of several nodes on one PostgreSQL; one of them is stopped for so many seconds.
cluster stop="60":
    SWITCHHOOK_STOP_SECONDS={{ stop }} cargo nextest run -p switchhook --test it --profile long --no-capture -E 'test(/^cluster::/)'

lint:
    cargo clippy --workspace --all-targets -- -D warnings
    cargo deny check

fmt:
    cargo fmt --all

# The documentation of the code, private items too.
doc:
    cargo doc --no-deps --workspace --document-private-items --open

# What a call costs, with this many at once.
bench calls="100":
    cargo run --release -p switchhook --example bench-calls -- --calls {{ calls }}

# What a node costs that has so many calls behind it. On PostgreSQL: ci/with-postgres.sh --durable just history
history calls="1000000" *args:
    cargo build --release -p switchhook && cargo run --release -p switchhook --example bench-history -- --calls {{ calls }} {{ args }}

# What so many minutes of calls do to a node's memory and processor time.
soak minutes="480" *args:
    cargo build --release -p switchhook && cargo run --release -p switchhook --example bench-soak -- --minutes {{ minutes }} {{ args }}

# What a node's memory and processor do under attack. On PostgreSQL: ci/with-postgres.sh --durable just attacks
attacks *args:
    cargo build --release -p switchhook && cargo run --release -p switchhook --example bench-attacks -- {{ args }}

# Writes the API's description anew, after a change of the API.
openapi:
    cargo run --quiet -- openapi > docs/openapi.json
