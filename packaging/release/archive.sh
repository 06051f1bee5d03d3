#!/usr/bin/env bash
# Writes a release's archive of the program, which deploy/install.sh installs. The same input gives the same bytes.
#
#   packaging/release/archive.sh BINARY TARGET OUTPUT_FOLDER
#
# TARGET is Rust's, such as x86_64-unknown-linux-musl. A binary for Linux must be static.
set -euo pipefail

[ $# = 3 ] || { echo "usage: archive.sh BINARY TARGET OUTPUT_FOLDER" >&2 && exit 2; }
binary=$1 target=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$3"
archive=$(cd "$3" && pwd)/switchhook-$target.tar.gz
case "$target" in
    *-linux-*)
        command -v readelf >/dev/null || { echo "archive: readelf is missing: apt install binutils" >&2 && exit 1; }
        if readelf --program-headers --dynamic --wide "$binary" 2>/dev/null | grep -E 'INTERP|NEEDED'; then
            echo "archive: $binary is linked to libraries: build it for a musl target" >&2
            exit 1
        fi
        ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
install -m 755 "$binary" "$folder/switchhook"
for name in LICENSE-APACHE LICENSE-MIT THIRD_PARTY.md; do install -m 644 "$root/$name" "$folder/$name"; done
python3 - "$folder" "$archive" <<'PYTHON'
import gzip, pathlib, sys, tarfile

def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    info.mtime = 315532800
    return info

with open(sys.argv[2], "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as zipped, tarfile.open(fileobj=zipped, mode="w") as archive:
    for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        archive.add(path, path.name, filter=plain)
PYTHON
echo "$archive"
