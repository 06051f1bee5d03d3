#!/usr/bin/env bash
# Holds calls through LiteLLM's proxy, which speaks the dialects of OpenAI, Azure, Anthropic and Gemini in front of one model.
#
#   ci/gateway.sh
#
# It needs python3 with venv. It builds the debug binary, unless SWITCHHOOK_BINARY names one. What it installs is in target/gateway.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target/gateway
if ! cmp -s ci/gateway/requirements.txt "$venv/installed"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r ci/gateway/requirements.txt
    cp ci/gateway/requirements.txt "$venv/installed"
fi
if [ -z "${SWITCHHOOK_BINARY:-}" ]; then cargo build --quiet --package switchhook --locked; fi
exec "$venv/bin/python" ci/gateway/run.py "${SWITCHHOOK_BINARY:-$target/debug/switchhook}"
