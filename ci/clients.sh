#!/usr/bin/env bash
# Checks the clients for Python and TypeScript and tests them against the real service. Generated clients: ci/generators.sh.
#
#   ci/clients.sh [--write]
#
# --write: only write what is generated from docs/openapi.json.
#
# It needs python3 with venv, node and npm, and builds the debug binary, unless SWITCHHOOK_BINARY names one. What it installs is in
# target/clients. Exits with 77, "could not check", if a registry cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
. ci/node.sh

# The tools in the versions of requirements-dev.txt, installed once for each text of it.
wanted=$(sha256sum clients/python/requirements-dev.txt | cut -c 1-12)
venv=$target/clients/venv-$wanted
if [ ! -e "$venv/complete" ]; then
    rm -rf "$target"/clients/venv-*
    python3 -m venv "$venv"
    if ! twice "$venv/bin/pip" install --quiet --disable-pip-version-check -r clients/python/requirements-dev.txt; then
        "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$target/clients/reached" httpx && die "pip install failed"
        echo "NOT CHECKED: the Python registry cannot be reached."
        exit 77
    fi
    touch "$venv/complete"
fi
python=$venv/bin/python
(cd clients/typescript && from_registry ci)

if [ "${1:-}" = --write ]; then
    "$python" clients/python/generate.py
    cd clients/typescript && exec npm run --silent generate
fi
if [ -z "${SWITCHHOOK_BINARY:-}" ]; then
    CARGO_TARGET_DIR=$target cargo build --quiet --package switchhook --locked
    SWITCHHOOK_BINARY=$target/debug/switchhook
fi
SWITCHHOOK_BINARY=$(realpath "$SWITCHHOOK_BINARY")
export SWITCHHOOK_BINARY

for client in python typescript; do
    for licence in LICENSE-APACHE LICENSE-MIT; do
        cmp "$licence" "clients/$client/$licence" || die "each client is published with its own copy of $licence"
    done
done

python_client() {
    echo "Python: what is generated is up to date"
    "$python" generate.py --check
    echo "Python: style and types"
    "$venv/bin/ruff" check --quiet .
    "$venv/bin/ruff" format --quiet --check .
    "$venv/bin/mypy" --no-error-summary --cache-dir "$target/clients/mypy"
    "$venv/bin/pyright" --pythonpath "$python" >"$target/clients/pyright" || {
        cat "$target/clients/pyright"
        return 1
    }
    echo "Python: tests, with the package as it is built"
    rm -rf "$target/clients/wheel"
    "$venv/bin/hatchling" build -t wheel -d "$target/clients/wheel" >/dev/null
    "$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$target"/clients/wheel/*.whl
    PATH=$venv/bin:$PATH "$venv/bin/pyright" --verifytypes switchhook --ignoreexternal >"$target/clients/pyright" || {
        cat "$target/clients/pyright"
        return 1
    }
    PYTHONDONTWRITEBYTECODE=1 "$venv/bin/pytest" -o cache_dir="$target/clients/pytest"
}

typescript_client() {
    echo "TypeScript: what is generated is up to date"
    npm run --silent generate -- --check
    echo "TypeScript: types"
    npm run --silent build
    npm run --silent check
    echo "TypeScript: the package is complete"
    local packed
    packed=$(npm pack --dry-run --json | node -p 'JSON.parse(require("node:fs").readFileSync(0))[0].files.map(({ path }) => path).join("\n")')
    for file in dist/index.js dist/index.d.ts LICENSE-APACHE LICENSE-MIT; do
        grep --quiet --line-regexp --fixed-strings "$file" <<<"$packed" || die "the npm package lacks $file"
    done
    echo "TypeScript: tests"
    npm test --silent
}

(cd clients/python && python_client)
(cd clients/typescript && typescript_client)
