#!/bin/sh
# Installs the switchhook program of a release. Each release has a copy that knows where it comes from:
#
#   sh install.sh
#
# It finds the machine's kind, downloads that binary, compares it with the release's list of SHA-256 checksums, and copies one file. It
# changes nothing else: no service, no shell profile.
#
#   SWITCHHOOK_VERSION  a version such as 0.1.0; the newest without it
#   SWITCHHOOK_BIN_DIR  where to put the program; ~/.local/bin without it
#   SWITCHHOOK_RELEASES address of the releases, for a mirror
set -eu

# The release workflow fills in the repository.
REPOSITORY='@REPOSITORY@'

fail() {
    echo "switchhook install: $*" >&2
    exit 1
}

fetch() { # ADDRESS FILE
    if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --retry 3 --output "$2" "$1" || fail "could not download $1"
    elif command -v wget >/dev/null 2>&1; then
        wget --quiet --output-document="$2" "$1" || fail "could not download $1"
    else
        fail "neither curl nor wget was found: install one of them"
    fi
}

sha256() { # FILE
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "neither sha256sum nor shasum was found, so the download cannot be checked: install one of them"
    fi
}

target() {
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64) echo x86_64-unknown-linux-musl ;;
        Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-musl ;;
        Darwin-arm64) echo aarch64-apple-darwin ;;
        *) fail "there is no binary for $(uname -s) on $(uname -m): build it from source with cargo" ;;
    esac
}

# All of it is a function, so that half a download of this script does nothing.
main() {
    releases=${SWITCHHOOK_RELEASES:-https://github.com/$REPOSITORY/releases}
    case "$releases" in
        *@REPOSITORY@*) fail "this script is not from a release: take install.sh of a release, or set SWITCHHOOK_RELEASES" ;;
    esac
    if [ -n "${SWITCHHOOK_VERSION:-}" ]; then
        from=$releases/download/v${SWITCHHOOK_VERSION#v}
    else
        from=$releases/latest/download
    fi
    target=$(target)
    archive=switchhook-$target.tar.gz
    folder=${SWITCHHOOK_BIN_DIR:-${HOME:?set HOME or SWITCHHOOK_BIN_DIR}/.local/bin}

    temporary=$(mktemp -d)
    trap 'rm -rf "$temporary"' EXIT
    trap 'exit 130' INT TERM

    echo "Downloading $from/$archive"
    fetch "$from/SHA256SUMS" "$temporary/SHA256SUMS"
    fetch "$from/$archive" "$temporary/$archive"
    wanted=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$archive\$/\1/p" "$temporary/SHA256SUMS")
    [ -n "$wanted" ] || fail "the release's SHA256SUMS does not name $archive"
    got=$(sha256 "$temporary/$archive")
    [ "$got" = "$wanted" ] || fail "$archive has the SHA-256 $got, not $wanted: it was damaged or replaced. Nothing was installed."
    echo "Its SHA-256 is that of the release: $got"

    tar -xzf "$temporary/$archive" -C "$temporary" switchhook
    "$temporary/switchhook" --version >/dev/null || fail "the program does not run on this machine. Nothing was installed."
    mkdir -p "$folder"
    # Renamed into place, so that a running service keeps its file and no half-written one is ever there.
    cp "$temporary/switchhook" "$folder/.switchhook.new"
    chmod 755 "$folder/.switchhook.new"
    mv "$folder/.switchhook.new" "$folder/switchhook"
    echo "Installed $("$folder/switchhook" --version) as $folder/switchhook"

    case ":$PATH:" in
        *":$folder:"*) ;;
        *) echo "$folder is not on your PATH. Add this to your shell profile: export PATH=\"$folder:\$PATH\"" ;;
    esac
    echo "Try it: switchhook demo"
}

main
