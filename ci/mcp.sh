#!/usr/bin/env bash
# Runs the conformance suite for MCP clients, and real servers of both SDKs (server-everything from npm; mcp and fastmcp from PyPI), against
# the service: in each case a simulated call uses the tools.
#
#   ci/mcp.sh
#
# It needs node and npm (see ci/node.sh), and python3 with venv. It builds the debug binary, unless SWITCHHOOK_BINARY names one. What it
# installs and writes is in target/mcp.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$target/mcp
mkdir -p "$folder"
NODE_LEAST=22.0.0 # the suite uses what older ones do not have
. ci/node.sh

if ! cmp -s ci/mcp/package-lock.json "$folder/installed"; then
    cp ci/mcp/package.json ci/mcp/package-lock.json ci/mcp/.npmrc "$folder/"
    from_registry ci --prefix "$folder"
    cp ci/mcp/package-lock.json "$folder/installed"
fi
venv=$folder/venv
if ! cmp -s ci/mcp/requirements.txt "$venv/installed"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r ci/mcp/requirements.txt
    cp ci/mcp/requirements.txt "$venv/installed"
fi
cp ci/mcp/*.mjs ci/mcp/*.py ci/ports.mjs "$folder/" # beside what they import
if [ -z "${SWITCHHOOK_BINARY:-}" ]; then cargo build --quiet --package switchhook --locked; fi
exec node "$folder/run.mjs" "${SWITCHHOOK_BINARY:-$target/debug/switchhook}" "$venv/bin/python"
