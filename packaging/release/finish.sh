#!/usr/bin/env bash
# Adds to a folder with a release's files the install script and the checksums, and signs the checksums.
#
#   packaging/release/finish.sh FOLDER REPOSITORY
#
# REPOSITORY is where the release is downloaded from, as OWNER/NAME. SWITCHHOOK_MINISIGN_KEY is the content of a minisign secret key without
# a password (minisign -G -W); without it nothing is signed, and the script says so. People verify with
# `minisign -Vm SHA256SUMS -P PUBLIC_KEY`, then `sha256sum --check --ignore-missing SHA256SUMS`.
set -euo pipefail

[ $# = 2 ] || { echo "usage: finish.sh FOLDER REPOSITORY" >&2 && exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$1"
repository=$2
[[ $repository =~ ^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$ ]] || { echo "finish: $repository is not OWNER/NAME" >&2 && exit 2; }
rm -f SHA256SUMS SHA256SUMS.minisig
sed "s|^REPOSITORY='@REPOSITORY@'$|REPOSITORY='$repository'|" "$root/deploy/install.sh" >install.sh
grep -q "^REPOSITORY='$repository'$" install.sh || { echo "finish: deploy/install.sh has no line for the repository" >&2 && exit 1; }
sums=$(sha256sum -- *)
printf '%s\n' "$sums" >SHA256SUMS
if [ -z "${SWITCHHOOK_MINISIGN_KEY:-}" ]; then
    echo "NOT SIGNED: SWITCHHOOK_MINISIGN_KEY is not set"
    exit 0
fi
key=$(mktemp)
trap 'rm -f "$key"' EXIT
printf '%s\n' "$SWITCHHOOK_MINISIGN_KEY" >"$key"
version=$(sed -n '/^\[workspace.package\]/,/^\[workspace.dep/s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
minisign -S -s "$key" -m SHA256SUMS -t "switchhook $version" >/dev/null
echo "Signed SHA256SUMS"
