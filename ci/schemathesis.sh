#!/usr/bin/env bash
# Tests the API by its own OpenAPI document, with schemathesis and the keys of two tenants.
#
#   ci/schemathesis.sh [MAX_EXAMPLES]    40 random requests for each operation
#
# It needs python3 with venv, and builds the debug binary, unless SWITCHHOOK_BINARY names one. What it installs and writes is in
# target/schemathesis; the requests and answers of the last run are in target/schemathesis/report. The service runs on SQLite, or on
# PostgreSQL within ci/with-postgres.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

. ci/twice.sh
SCHEMATHESIS=4.32.5
target=${CARGO_TARGET_DIR:-target}
venv=$target/schemathesis/venv-$SCHEMATHESIS

if [ ! -e "$venv/complete" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    twice "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$SCHEMATHESIS"
    touch "$venv/complete"
fi
if [ -z "${SWITCHHOOK_BINARY:-}" ]; then cargo build --quiet --package switchhook --locked; fi
exec "$venv/bin/python" ci/schemathesis/run.py "$target" "${1:-40}"
