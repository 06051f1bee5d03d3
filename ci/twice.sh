# Sourced by what downloads.
#
# shellcheck shell=bash

# twice COMMAND…: runs a command that downloads, and once more if it fails: registries and mirrors refuse a request now and then.
twice() {
    "$@" || {
        echo "Trying again: $1" >&2
        "$@"
    }
}
