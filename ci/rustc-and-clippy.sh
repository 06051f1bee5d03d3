#!/usr/bin/env bash
# Compiles a crate of the workspace and lints it against the same dependencies, with warnings as errors: `cargo clippy` checks all
# dependencies again, which takes longer than the lints. Cargo calls it where RUSTC_WORKSPACE_WRAPPER names it:
#
#   ci/rustc-and-clippy.sh RUSTC ARGUMENT…
set -euo pipefail

"$@"

# Cargo also asks for the compiler's version and settings.
case " $* " in
    *" --crate-name ___ "* | *" -vV "*) exit ;;
esac

nowhere=$(mktemp -d)
trap 'rm -rf "$nowhere"' EXIT
arguments=()
while [ $# -gt 0 ]; do
    case $1 in
        --emit=*) arguments+=(--emit=metadata) ;;
        # Cargo waits for the files that the compiler announces, not for those in the temporary folder.
        --json=*) arguments+=(--json=diagnostic-rendered-ansi) ;;
        --out-dir)
            arguments+=(--out-dir "$nowhere")
            shift
            ;;
        *) arguments+=("$1") ;;
    esac
    shift
done
clippy-driver "${arguments[@]}" -D warnings
