# Sourced by what runs npm: puts a new enough node and npm on the PATH.
#
# vite and oidc-provider want node ≥ 20.19 (others more: NODE_LEAST) and npm ≥ 11. Where they are older, as in Debian, newer ones come from the npm registry into
# target/node.
#
# shellcheck shell=bash

. ci/twice.sh
NODE=22.23.3
NPM=11.19.1

die() {
    echo "$0: $*" >&2
    exit 1
}

# from_registry ARGUMENTS…: runs npm. Exits with 77, "could not check", if the registry cannot be reached.
from_registry() {
    twice npm "$@" --no-fund --no-audit --loglevel=error && return 0
    if npm ping >/dev/null 2>&1; then die "npm $1 failed"; fi
    echo "NOT CHECKED: the npm registry cannot be reached."
    exit 77
}

# at_least VERSION WANTED: whether a version is new enough.
at_least() {
    [ "$(printf '%s\n%s\n' "${1#v}" "$2" | sort -V | head -n 1)" = "$2" ]
}

# newer_node FOLDER: puts node and npm of the registry, installed in the folder, before what is too old.
newer_node() {
    local tools=$1/node_modules platform lock
    # Steps of ci/test.sh that run beside each other install into the same folder.
    mkdir -p "$1"
    exec {lock}>"$1/lock"
    flock "$lock"
    if ! at_least "$(node --version)" "${NODE_LEAST:-20.19.0}"; then
        case "$(uname -m)" in x86_64) platform=linux-x64 ;; aarch64) platform=linux-arm64 ;; *) die "no node for $(uname -m)" ;; esac
        # Both at once: Debian's npm runs with Debian's node only.
        [ -x "$tools/node-$platform/bin/node" ] || from_registry install --prefix "$1" "node-$platform@$NODE" "npm@$NPM"
        PATH=$tools/.bin:$tools/node-$platform/bin:$PATH
    fi
    if ! at_least "$(npm --version 2>/dev/null)" 11.0.0; then
        [ -x "$tools/.bin/npm" ] || from_registry install --prefix "$1" "npm@$NPM"
        PATH=$tools/.bin:$PATH
    fi
    exec {lock}>&-
    export PATH
    echo "node $(node --version), npm $(npm --version 2>/dev/null)"
}

newer_node "$(realpath -m "${CARGO_TARGET_DIR:-target}")/node"
