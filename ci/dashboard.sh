#!/usr/bin/env bash
# Checks the dashboard: its types match docs/openapi.json, its tests pass, the committed build is what its source builds, its licences
# are allowed, and its pages work in a browser.
#
#   ci/dashboard.sh [--without-browser]
#
# It needs node and npm, from Debian for example, and Chromium. vite wants node ≥ 20.19 and npm ≥ 11; where they are older, newer ones
# come from the npm registry into target/dashboard. It builds the debug binary, unless SWITCHHOOK_BINARY names one.
set -euo pipefail
cd "$(dirname "$0")/.."

NODE=22.23.3
NPM=11.19.1
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/dashboard
mkdir -p "$work"

die() {
    echo "ci/dashboard.sh: $*" >&2
    exit 1
}

# from_registry ARGUMENTS…: runs npm. Exits with 77, "could not check", if the registry cannot be reached.
from_registry() {
    npm "$@" --no-fund --no-audit --loglevel=error && return 0
    if npm ping >/dev/null 2>&1; then die "npm $1 failed"; fi
    echo "NOT CHECKED: the npm registry cannot be reached."
    exit 77
}

# at_least VERSION WANTED: whether a version is new enough.
at_least() {
    [ "$(printf '%s\n%s\n' "${1#v}" "$2" | sort -V | head -n 1)" = "$2" ]
}

tools=$work/tools/node_modules
if ! at_least "$(node --version)" 20.19.0; then
    case "$(uname -m)" in x86_64) platform=linux-x64 ;; aarch64) platform=linux-arm64 ;; *) die "no node for $(uname -m)" ;; esac
    [ -x "$tools/node-$platform/bin/node" ] || from_registry install --prefix "$work/tools" "node-$platform@$NODE"
    PATH=$tools/node-$platform/bin:$PATH
fi
if ! at_least "$(npm --version 2>/dev/null)" 11.0.0; then
    [ -x "$tools/.bin/npm" ] || from_registry install --prefix "$work/tools" "npm@$NPM"
    PATH=$tools/.bin:$PATH
fi
export PATH

cd dashboard
echo "node $(node --version), npm $(npm --version 2>/dev/null)"
from_registry ci

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
if [ -z "${SWITCHHOOK_BINARY:-}" ]; then cargo build --quiet --package switchhook --locked; fi
dashboard/tests/run.sh
