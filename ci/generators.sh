#!/usr/bin/env bash
# Generates clients from docs/openapi.json as users do, checks their types, and runs a program with each against the real service; and
# lints the document. docs/api.md has the results.
#
#   ci/generators.sh [NAME…]
#
# NAME: linters, webhook-types (of docs/webhooks.md), or one of the generators below; all if absent.
#
# It needs python3 with venv, node and npm, and java for openapi-generator. It builds the debug binary, unless SWITCHHOOK_BINARY names one.
# What it installs and generates is in target/generators. Exits with 77, "could not check", if a registry cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$target/generators
DOCUMENT=$(realpath docs/openapi.json)
export DOCUMENT REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
. ci/node.sh
known=(linters webhook-types openapi-python-client datamodel-code-generator openapi-generator openapi-typescript hey-api orval)
wanted=("$@")
[ $# -gt 0 ] || wanted=("${known[@]}")
for name in "${wanted[@]}"; do
    [[ " ${known[*]} " = *" $name "* ]] || die "unknown: $name. Choose among: ${known[*]}"
done

install_python() {
    local wanted
    wanted=$(sha256sum ci/generators/requirements.txt | cut -c 1-12)
    venv=$folder/venv-$wanted
    [ ! -e "$venv/complete" ] || return 0
    rm -rf "$folder"/venv-*
    python3 -m venv "$venv"
    if ! twice "$venv/bin/pip" install --quiet --disable-pip-version-check -r ci/generators/requirements.txt; then
        "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$folder/reached" httpx && die "pip install failed"
        echo "NOT CHECKED: the Python registry cannot be reached."
        exit 77
    fi
    touch "$venv/complete"
}

install_node() {
    cmp -s ci/generators/package-lock.json "$folder/typescript/installed" && return 0
    cp ci/generators/{package.json,package-lock.json,.npmrc} "$folder/typescript/"
    from_registry ci --prefix "$folder/typescript"
    cp ci/generators/package-lock.json "$folder/typescript/installed"
}

# quietly COMMAND…: runs it, and shows what it printed if it fails.
quietly() {
    "$@" >"$folder/log" 2>&1 || {
        cat "$folder/log"
        return 1
    }
}

linters() {
    "$bin/redocly" lint --config ci/generators/redocly.yaml "$DOCUMENT"
    "$bin/spectral" lint --ruleset ci/generators/spectral.yaml --fail-severity hint "$DOCUMENT"
}

# first_block LANGUAGE: the first code block in this language that docs/webhooks.md has; for these, its types of bodies.
first_block() {
    awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```$/ { if (inside) exit } inside' docs/webhooks.md
}

# Checks the types of webhook bodies that receivers copy, and that `event` says which `data` there is.
webhook_types() {
    {
        first_block ts
        echo 'export const outcome = (event: WebhookEvent): unknown => (event.event === "call.completed" ? event.data.outcome : null);'
    } >"$folder/typescript/webhook-types.ts"
    {
        first_block python
        echo 'def outcome(event: WebhookEvent) -> Any:'
        echo '    return event["data"]["outcome"] if event["event"] == "call.completed" else None'
    } >"$folder/python/webhook_types.py"
    (
        cd "$folder/typescript"
        echo '{"extends": "./tsconfig.json", "include": ["webhook-types.ts"]}' >tsconfig.webhook-types.json
        "$bin/tsc" --project tsconfig.webhook-types.json
    )
    (
        cd "$folder/python"
        quietly "$venv/bin/mypy" --python-executable "$venv/bin/python" --cache-dir "$folder/mypy" webhook_types.py
        quietly "$venv/bin/pyright" --pythonpath "$venv/bin/python" webhook_types.py
    )
}

# Checks a Python program and the generated code that it uses, and runs it.
python_program() {
    (
        cd "$folder/python"
        quietly "$venv/bin/mypy" --python-executable "$venv/bin/python" --cache-dir "$folder/mypy" "$1.py" "$2"
        quietly "$venv/bin/ruff" check --isolated --select E9,F63,F7,F82 "$1.py" "$2"
        quietly "$venv/bin/pyright" --pythonpath "$venv/bin/python" "$1.py"
    )
    "$venv/bin/python" ci/generators/live.py "$venv/bin/python" "$folder/python/$1.py"
}

openapi_python_client() {
    rm -rf "$folder/python/generated/attrs_client"
    PATH=$venv/bin:$PATH quietly "$venv/bin/openapi-python-client" generate --path "$DOCUMENT" --meta none \
        --output-path "$folder/python/generated/attrs_client"
    python_program openapi_python_client generated/attrs_client
}

datamodel_code_generator() {
    quietly "$venv/bin/datamodel-codegen" --input "$DOCUMENT" --input-file-type openapi --output "$folder/python/generated/models.py" \
        --output-model-type pydantic_v2.BaseModel --target-python-version 3.11 --use-annotated --use-union-operator --disable-timestamp
    python_program datamodel_code_generator generated/models.py
}

openapi_generator() {
    command -v java >/dev/null || die "openapi-generator needs java"
    rm -rf "$folder/python/generated_pydantic" "$folder/openapi-generator"
    # It writes invalid Python for the webhooks of 3.1.
    "$SWITCHHOOK_BINARY" openapi --version 3.0 >"$folder/openapi-3.0.json"
    quietly "$venv/bin/openapi-generator-cli" generate -i "$folder/openapi-3.0.json" -g python -o "$folder/openapi-generator" \
        --additional-properties=packageName=generated_pydantic
    cp -r "$folder/openapi-generator/generated_pydantic" "$folder/python/"
    python_program openapi_generator generated_pydantic
}

# Checks a TypeScript program and the generated code that it uses, and runs it.
typescript_program() {
    local made=$folder/typescript/made/$1.mjs
    (
        cd "$folder/typescript"
        echo "{\"extends\": \"./tsconfig.json\", \"include\": [\"$1.ts\", \"generated/$1*\"]}" >"tsconfig.$1.json"
        "$bin/tsc" --project "tsconfig.$1.json"
        "$bin/esbuild" "$1.ts" --bundle --platform=node --format=esm --target=node20 --outfile="$made" --log-level=warning
    )
    "$venv/bin/python" ci/generators/live.py node "$made"
}

openapi_typescript() {
    quietly "$bin/openapi-typescript" "$DOCUMENT" --output "$folder/typescript/generated/openapi-typescript.ts"
    typescript_program openapi-typescript
}

hey_api() {
    quietly "$bin/openapi-ts" --input "$DOCUMENT" --output "$folder/typescript/generated/hey-api" --client @hey-api/client-fetch
    typescript_program hey-api
}

orval() {
    (cd "$folder/typescript" && quietly "$bin/orval" --config orval.config.cjs)
    typescript_program orval
}

mkdir -p "$folder"/{python,typescript}/generated
install_python
install_node
bin=$folder/typescript/node_modules/.bin
cp ci/generators/python/* "$folder/python/"
cp ci/generators/typescript/*.ts ci/generators/{tsconfig.json,orval.config.cjs} "$folder/typescript/"
touch "$folder/python/generated/__init__.py"

if [ -z "${SWITCHHOOK_BINARY:-}" ]; then
    CARGO_TARGET_DIR=$target cargo build --quiet --package switchhook --locked
    SWITCHHOOK_BINARY=$target/debug/switchhook
fi
SWITCHHOOK_BINARY=$(realpath "$SWITCHHOOK_BINARY")
export SWITCHHOOK_BINARY

failed=()
for name in "${wanted[@]}"; do
    start=$SECONDS
    # In the background, because `set -e` has no effect in what is part of a condition.
    ("${name//-/_}") &
    if wait $!; then echo "ok: $name, $((SECONDS - start)) s"; else failed+=("$name"); fi
done
[ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
