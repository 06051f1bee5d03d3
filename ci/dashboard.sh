#!/usr/bin/env bash
# Checks the dashboard: its source is formatted, its types match docs/openapi.json, its tests pass, the committed build is what its source
# builds, its licences are allowed, and its pages work in a browser.
#
#   ci/dashboard.sh [--without-browser]
#
# It needs node and npm, for the browser also curl and Chromium, all as Debian has them (see ci/node.sh). It builds the debug binary,
# unless SWITCHHOOK_BINARY names one.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/dashboard
mkdir -p "$work"
. ci/node.sh

cd dashboard
from_registry ci

echo "Format"
npm run --silent format:check || die "dashboard/ is not formatted: npm run format"

echo "Types of the API"
cp src/api/schema.d.ts "$work/schema.d.ts"
npm run --silent schema >/dev/null
cmp "$work/schema.d.ts" src/api/schema.d.ts || die "src/api/schema.d.ts is stale: npm run schema"

echo "Licences"
npm run --silent licences

echo "Unit tests"
npm test --silent

echo "The committed build is what the source builds"
node compress.mjs --check
rm -rf "$work/dist"
cp -r dist "$work/dist"
npm run --silent build >/dev/null
# Compressed copies were compared by their contents: each version of node compresses to other bytes.
diff -rq --exclude='*.br' --exclude='*.gz' "$work/dist" dist || {
    rm -rf dist && cp -r "$work/dist" dist
    die "dist is not what src builds: npm run build"
}
rm -rf dist && cp -r "$work/dist" dist

if [ "${1:-}" = --without-browser ]; then exit 0; fi
echo "In the browser"
cd ..
export CARGO_TARGET_DIR=$target
if [ -z "${SWITCHHOOK_BINARY:-}" ]; then cargo build --quiet --package switchhook --locked; fi
dashboard/tests/run.sh
