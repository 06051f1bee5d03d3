#!/usr/bin/env bash
# Compares signatures with the vendors' SDKs (twilio and telnyx from PyPI and npm, @signalwire/compatibility-api from npm): what they sign or
# accept is accepted at the addresses for carriers, and forgeries are refused.
#
#   ci/signatures.sh
#
# It needs node and npm (see ci/node.sh), and python3 with venv. It builds the debug binary, unless SWITCHHOOK_BINARY names one. What it
# installs is in target/signatures.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$target/signatures
mkdir -p "$folder"
. ci/node.sh

if ! cmp -s ci/signatures/package-lock.json "$folder/installed"; then
    cp ci/signatures/package.json ci/signatures/package-lock.json ci/signatures/.npmrc "$folder/"
    from_registry ci --prefix "$folder"
    cp ci/signatures/package-lock.json "$folder/installed"
fi
venv=$folder/venv
if ! cmp -s ci/signatures/requirements.txt "$venv/installed"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r ci/signatures/requirements.txt
    cp ci/signatures/requirements.txt "$venv/installed"
fi
cp ci/signatures/*.mjs "$folder/" # beside what they import
if [ -z "${SWITCHHOOK_BINARY:-}" ]; then cargo build --quiet --package switchhook --locked; fi
exec "$venv/bin/python" ci/signatures/run.py "${SWITCHHOOK_BINARY:-$target/debug/switchhook}" "$folder/sdks.mjs"
