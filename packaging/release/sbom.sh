#!/usr/bin/env bash
# Writes the bill of materials of the program, switchhook.cdx.json (CycloneDX), with cargo-cyclonedx, which it installs if it is missing.
#
#   packaging/release/sbom.sh OUTPUT_FOLDER
set -euo pipefail

CYCLONEDX=0.5.9
[ $# = 1 ] || { echo "usage: sbom.sh OUTPUT_FOLDER" >&2 && exit 2; }
mkdir -p "$1"
output=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
cargo cyclonedx --version >/dev/null 2>&1 || cargo install --quiet --locked --version "$CYCLONEDX" cargo-cyclonedx
cargo cyclonedx --quiet --manifest-path crates/server/Cargo.toml --format json --override-filename switchhook.cdx
mv crates/server/switchhook.cdx.json "$output/"
# It writes one for each crate of the workspace.
find crates bench -name switchhook.cdx.json -delete
echo "$output/switchhook.cdx.json"
