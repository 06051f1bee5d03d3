#!/usr/bin/env bash
# Builds the image of a release for both platforms from its static binaries, and pushes it.
#
#   packaging/release/image.sh AMD64_BINARY ARM64_BINARY IMAGE:VERSION
#
# It needs docker with buildx, signed in at the registry. With SWITCHHOOK_DRY_RUN=1 it prints the commands and runs none. The last line is
# the image's digest, by which it is signed.
set -euo pipefail

[ $# = 3 ] || { echo "usage: image.sh AMD64_BINARY ARM64_BINARY IMAGE:VERSION" >&2 && exit 2; }
image=$3
[[ $image == *:* && $image != *: ]] || { echo "image: $image has no version" >&2 && exit 2; }
binaries=([0]="$(realpath "$1")" [1]="$(realpath "$2")")
cd "$(dirname "$0")/../.."
run() {
    if [ -n "${SWITCHHOOK_DRY_RUN:-}" ]; then echo "$*"; else "$@"; fi
}
contexts=$(mktemp -d)
trap 'rm -rf "$contexts"' EXIT
images=()
for at in 0 1; do
    platform=$([ "$at" = 0 ] && echo amd64 || echo arm64)
    # In place of the stage that compiles.
    install -D -m 755 "${binaries[at]}" "$contexts/$platform/out/switchhook"
    run docker buildx build --file deploy/Dockerfile --platform "linux/$platform" --build-context "build=$contexts/$platform" \
        --provenance=false --tag "$image-$platform" --push .
    images+=("$image-$platform")
done
run docker buildx imagetools create --tag "$image" "${images[@]}"
run docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}'
