#!/usr/bin/env bash
# Signs in to the dashboard at a certified OpenID provider (oidc-provider from npm), in a headless Chromium: first sign-in, an API key,
# a request with the key, sign-out, and a provider that is down.
#
#   ci/oidc.sh
#
# It needs node and npm (see ci/node.sh), and Chromium (SWITCHHOOK_CHROMIUM names another binary than /usr/bin/chromium). It builds the
# debug binary, unless SWITCHHOOK_BINARY names one. What it installs and writes is in target/oidc.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$target/oidc
mkdir -p "$folder"
. ci/node.sh

if ! cmp -s ci/oidc/package-lock.json "$folder/installed"; then
    cp ci/oidc/package.json ci/oidc/package-lock.json ci/oidc/.npmrc "$folder/"
    from_registry ci --prefix "$folder"
    cp ci/oidc/package-lock.json "$folder/installed"
fi
cp ci/oidc/*.mjs ci/ports.mjs "$folder/" # beside what they import
if [ -z "${SWITCHHOOK_BINARY:-}" ]; then cargo build --quiet --package switchhook --locked; fi
exec node "$folder/run.mjs" "${SWITCHHOOK_BINARY:-$target/debug/switchhook}"
