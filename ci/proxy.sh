#!/usr/bin/env bash
# Runs the service behind a real nginx that takes a path away and leaves the port out of `Host`: readiness, `/docs`, the dashboard's files, a
# `Location`, the start of a sign-in, and the websocket of a web call.
#
#   ci/proxy.sh
#
# It needs python3. Without nginx it unpacks Debian's into target/proxy. It builds the debug binary, unless SWITCHHOOK_BINARY names one.
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
    echo "proxy: $*" >&2
    exit 1
}

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$target/proxy

# unpack PACKAGE: unpacks a Debian package, which would start a service on port 80 if it were installed.
unpack() {
    command -v apt-get >/dev/null || die "this is not Debian or Ubuntu: install $1 by hand"
    local as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    rm -rf "$folder"
    mkdir -p "$folder"
    echo "Unpacking $1"
    (
        cd "$folder"
        apt-get download -qq "$1" 2>/dev/null || {
            "${as_root[@]}" apt-get update -qq
            apt-get download -qq "$1"
        }
    ) || die "$1 could not be downloaded"
    dpkg-deb --extract "$folder/$1"_*.deb "$folder/unpacked"
}

nginx=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v nginx || true)
if [ -z "$nginx" ]; then
    nginx=$folder/unpacked/usr/sbin/nginx
    [ -x "$nginx" ] || unpack nginx
fi
"$nginx" -v || die "$nginx does not run: install nginx by hand"
if [ -z "${SWITCHHOOK_BINARY:-}" ]; then cargo build --quiet --package switchhook --locked; fi
exec python3 ci/proxy/run.py "$nginx" "${SWITCHHOOK_BINARY:-$target/debug/switchhook}"
