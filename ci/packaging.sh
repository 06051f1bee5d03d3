#!/usr/bin/env bash
# Builds the wheel and the npm packages of the program, installs each in an empty folder and runs the program through it, also with uvx
# and npx. Then a new user in Chromium starts `uvx switchhook dev` with one key, types instructions and talks with the agent.
#
#   ci/packaging.sh [--demo | --without-browser]
#
# --demo: also hold the spoken phone call of `switchhook demo` through each, which takes a minute each.
#
# It needs python3 with venv, node and npm, and Chromium for the new user. uv comes from the Python registry; without it, pip's program is
# the new user's, and what was not checked is named. SWITCHHOOK_BINARY names the binary to package; without it, cargo builds the debug
# binary. What it writes is in target/packaging, and uv in target/uv.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$target/packaging
. ci/node.sh
demo=no browser=yes
case "${1:-}" in
    "") ;;
    --demo) demo=yes ;;
    --without-browser) browser=no ;;
    *) die "usage: ci/packaging.sh [--demo | --without-browser]" ;;
esac
UV=0.13.9

if [ -z "${SWITCHHOOK_BINARY:-}" ]; then
    SWITCHHOOK_BINARY=$target/debug/switchhook
    [ -x "$SWITCHHOOK_BINARY" ] || CARGO_TARGET_DIR=$target cargo build --quiet --package switchhook --locked
fi
[ -f "$SWITCHHOOK_BINARY" ] || die "$SWITCHHOOK_BINARY is not a file. Build it: cargo build --package switchhook"
rm -rf "$folder"
mkdir -p "$folder/dist"
strip -o "$folder/switchhook" "$SWITCHHOOK_BINARY"

case "$(uname -m)" in
    x86_64) npm_platform=linux-x64 ;;
    aarch64) npm_platform=linux-arm64 ;;
    *) die "there are no packages for $(uname -m)" ;;
esac
# The platform tag of a wheel that is installed on this machine only.
wheel_platform=linux_$(uname -m)
version=$(sed -n '/^\[workspace.package\]/,/^\[dep/s/^version = "\(.*\)"$/\1/p' Cargo.toml)

# run NAME COMMAND…: runs the program through a package.
run() {
    local name=$1 said
    shift
    said=$("$@" --version) || die "$name: --version failed"
    [ "$said" = "switchhook $version" ] || die "$name: --version says '$said', not 'switchhook $version'"
    "$@" openapi | cmp - "$folder/openapi.json" || die "$name: openapi differs from what the program prints"
    local status=0
    "$@" no-such-command 2>/dev/null || status=$?
    [ "$status" = 2 ] || die "$name: the exit code for bad usage is $status, not 2"
    echo "$name: $said; openapi and exit codes are the program's"
    [ "$demo" = no ] || (cd "$folder" && "$@" demo)
}

# The rows of RECORD, which pip does not compare with the files.
check_record() {
    python3 - "$1" <<'PYTHON'
import base64, csv, hashlib, io, sys, zipfile

wheel = zipfile.ZipFile(sys.argv[1])
record = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(wheel.read(record).decode()))}
if set(rows) != set(wheel.namelist()):
    sys.exit(f"RECORD and the wheel do not name the same files: {set(rows) ^ set(wheel.namelist())}")
for name, (digest, size) in rows.items():
    content = wheel.read(name)
    wanted = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    if name != record and (digest, size) != (wanted, str(len(content))):
        sys.exit(f"RECORD has a wrong hash or size of {name}")
PYTHON
}

"$folder/switchhook" openapi >"$folder/openapi.json"

echo "Python: build the wheel"
wheel=$(python3 packaging/python/build_wheel.py "$folder/switchhook" "$wheel_platform" "$folder/dist")
check_record "$wheel"
mode=$(python3 -c 'import sys, zipfile
print(*[oct(i.external_attr >> 16 & 0o777) for i in zipfile.ZipFile(sys.argv[1]).infolist() if "/scripts/" in i.filename])' "$wheel")
[ "$mode" = 0o755 ] || die "the program in the wheel has mode $mode, not 0o755"
echo "Python: install it in a new environment"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
run "Python" "$folder/venv/bin/switchhook"

echo "uv: run it without an installation"
uv=$target/uv
if ! "$uv/bin/uvx" --version >/dev/null 2>&1; then
    python3 -m venv "$uv"
    twice "$uv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "uv==$UV" || rm -rf "$uv"
fi
# The new user's command, below.
program=("$folder/venv/bin/switchhook")
if [ -x "$uv/bin/uvx" ]; then
    # Offline, and with a cache of its own: a published package or an earlier wheel must not be taken for this one.
    program=("$uv/bin/uvx" --offline --no-config --cache-dir "$folder/uv-cache" --from "$(realpath "$wheel")" switchhook)
    mkdir "$folder/empty"
    (cd "$folder/empty" && run "uvx" "${program[@]}")
else
    echo "NOT CHECKED: uvx, because uv $UV could not be installed"
fi

echo "npm: build the packages"
main=$(node packaging/npm/build_packages.mjs main "$folder/dist")
platform=$(node packaging/npm/build_packages.mjs platform "$npm_platform" "$folder/switchhook" "$folder/dist")
mode=$(tar --list --verbose --file "$platform" package/bin/switchhook | cut -c 1-10)
[ "$mode" = -rwxr-xr-x ] || die "the program in the npm package has mode $mode"
echo "npm: install them in an empty folder"
mkdir "$folder/npm"
# Offline: the packages of other platforms are not needed, and a published one of this name must not be taken for this one.
(cd "$folder/npm" && npm install --offline --no-audit --no-fund --loglevel=error --prefix . "$platform" "$main")
run "npm" "$folder/npm/node_modules/.bin/switchhook"

echo "npx: run them without an installation"
mkdir "$folder/npx"
(cd "$folder/npx" && run "npx" npx --offline --yes --cache "$folder/npm-cache" --package "$(realpath "$platform")" \
    --package "$(realpath "$main")" -- switchhook)

echo "npm: without the platform's package it says what to do"
mv "$folder/npm/node_modules/@switchhook" "$folder/npm/elsewhere"
said=$("$folder/npm/node_modules/.bin/switchhook" --version 2>&1) && die "the program runs without its package"
case "$said" in *"@switchhook/$npm_platform is not installed"*) ;; *) die "it says: $said" ;; esac
mv "$folder/npm/elsewhere" "$folder/npm/node_modules/@switchhook"

if [ "$browser" = yes ]; then
    echo "A new user: ${program[0]##*/}, a key, instructions, a conversation in Chromium"
    [ -x "${SWITCHHOOK_CHROMIUM:-/usr/bin/chromium}" ] || die "there is no Chromium; on Debian: apt install chromium"
    [ -e dashboard/node_modules/.package-lock.json ] || (cd dashboard && from_registry ci)
    models=$target/test-models/models
    SWITCHHOOK_FIRST_RUN=$(node -p 'JSON.stringify(process.argv.slice(1))' -- "${program[@]}")
    export SWITCHHOOK_FIRST_RUN SWITCHHOOK_FIRST_RUN_MODELS=$models
    (cd dashboard && npx playwright test --config first-run.config.ts)
fi

rm -rf "$folder/venv" "$folder/npm" "$folder/npx" "$folder/empty" "$folder/uv-cache" "$folder/npm-cache"
ls -sh1 "$folder/dist"
