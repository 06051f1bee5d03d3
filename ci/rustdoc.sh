#!/usr/bin/env bash
# Tests the examples in a library's documentation, and checks its links, with warnings as errors: `cargo doc` checks all dependencies
# again for that. `cargo test --doc` calls it where RUSTDOC names it:
#
#   ci/rustdoc.sh ARGUMENT…
set -euo pipefail

rustdoc "$@"

case " $* " in
    *" --test "*) ;;
    *) exit ;;
esac

nowhere=$(mktemp -d)
trap 'rm -rf "$nowhere"' EXIT
arguments=()
while [ $# -gt 0 ]; do
    case $1 in
        --test) ;;
        --test-run-directory | --test-args) shift ;;
        *) arguments+=("$1") ;;
    esac
    shift
done
# For contributors, so it includes private items and links to them.
rustdoc "${arguments[@]}" --document-private-items --out-dir "$nowhere" -D warnings -A rustdoc::private-intra-doc-links
