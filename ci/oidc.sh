#!/usr/bin/env bash
# Signs in to the dashboard at a certified OpenID provider (oidc-provider from npm), in a headless Chromium: first sign-in, an API key,
# a request with the key, sign-out, and a provider that is down.
#
#   ci/oidc.sh
#
# It needs node, npm and Chromium (SWITCHHOOK_CHROMIUM names another binary than /usr/bin/chromium). What it installs and writes is in
# target/oidc.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$target/oidc
mkdir -p "$folder"
if ! cmp -s ci/oidc/package-lock.json "$folder/installed"; then
    cp ci/oidc/package.json ci/oidc/package-lock.json ci/oidc/.npmrc "$folder/"
    npm ci --prefix "$folder" --no-fund --no-audit --loglevel=error
    cp ci/oidc/package-lock.json "$folder/installed"
fi
cp ci/oidc/*.mjs "$folder/" # beside what they import
cargo build --quiet --package switchhook --locked
exec node "$folder/run.mjs" "$target/debug/switchhook"
