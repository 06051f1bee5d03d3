#!/usr/bin/env bash
# Writes the Debian package of the program: the binary, the systemd unit, a system user, a data directory and a file of settings.
#
#   packaging/debian/build_deb.sh BINARY ARCHITECTURE OUTPUT_FOLDER
#
# ARCHITECTURE is Debian's: amd64 or arm64. A static binary needs no other package; of one that is linked to glibc, the package requires the
# version that it uses. Needs dpkg-deb and readelf. The same input gives the same bytes.
set -euo pipefail

die() {
    echo "build_deb: $*" >&2
    exit 1
}

[ $# = 3 ] || die "usage: build_deb.sh BINARY ARCHITECTURE OUTPUT_FOLDER"
binary=$1 architecture=$2 output=$3
case "$architecture" in amd64 | arm64) ;; *) die "there is no package for $architecture, only for amd64 and arm64" ;; esac
[ -f "$binary" ] || die "$binary is not a file. Build it first: cargo build --profile dist --package switchhook"
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
version=$(sed -n '/^\[workspace.package\]/,/^\[workspace.dep/s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
description=$(sed -n '/^\[workspace.package\]/,/^\[workspace.dep/s/^description = "\(.*\)"$/\1/p' "$root/Cargo.toml")
homepage=$(sed -n '/^\[workspace.package\]/,/^\[workspace.dep/s/^repository = "\(.*\)"$/\1/p' "$root/Cargo.toml")
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-315532800}
changed=$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
maintainer="The Switchhook developers <maintainers@switchhook.invalid>"

depends="ca-certificates, passwd"
# Without readelf, a package of a binary that needs glibc would not require it.
command -v readelf >/dev/null || die "readelf is missing: apt install binutils"
# Empty for a static binary; readelf reads nothing from the stand-in of ci/deb.sh, which is a script.
glibc=$({ readelf --version-info --wide "$binary" 2>/dev/null || true; } | grep -o 'GLIBC_2\.[0-9]*' | sort --version-sort | tail -n 1 || true)
[ -z "$glibc" ] || depends="libc6 (>= ${glibc#GLIBC_}), libgcc-s1, $depends"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
umask 022
chmod 755 "$folder"

install -D -m 755 "$binary" "$folder/usr/bin/switchhook"
# A fixed user, so that commands of the operator are `sudo -u switchhook switchhook …`, and a key that the installation creates.
unit=$folder/usr/lib/systemd/system/switchhook.service
install -D -m 644 /dev/null "$unit"
sed -e '/^# Install as /d' \
    -e 's#^ExecStart=/usr/local/bin/#ExecStart=/usr/bin/#' \
    -e 's#^DynamicUser=yes$#User=switchhook\nGroup=switchhook#' \
    -e 's#^EnvironmentFile=.*#EnvironmentFile=/etc/switchhook/master-key\n&#' "$root/deploy/systemd/switchhook.service" >"$unit"
[ "$(grep -cE '^(ExecStart=/usr/bin/switchhook serve|User=switchhook|EnvironmentFile=/etc/switchhook/master-key)$' "$unit")" = 3 ] ||
    die "deploy/systemd/switchhook.service has other lines than this script changes"
install -D -m 600 "$here/environment" "$folder/etc/switchhook/environment"

documents=$folder/usr/share/doc/switchhook
install -D -m 644 "$root/THIRD_PARTY.md" "$documents/THIRD_PARTY.md"
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n'
    printf 'Upstream-Name: switchhook\n\nFiles: *\nCopyright: The Switchhook developers\nLicense: Apache-2.0 or MIT\n\n'
    printf 'License: Apache-2.0\n The text is in /usr/share/common-licenses/Apache-2.0.\n\nLicense: MIT\n'
    sed -e 's/^$/./' -e 's/^/ /' "$root/LICENSE-MIT"
} >"$documents/copyright"
printf 'switchhook (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- %s  %s\n' "$version" "$maintainer" "$changed" |
    gzip --best --no-name >"$documents/changelog.gz"

install -d "$folder/DEBIAN"
for script in postinst prerm postrm; do install -m 755 "$here/$script" "$folder/DEBIAN/$script"; done
echo /etc/switchhook/environment >"$folder/DEBIAN/conffiles"
{
    printf 'Package: switchhook\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$version" "$architecture" "$maintainer"
    printf 'Installed-Size: %s\nDepends: %s\n' "$(du --summarize --block-size=1K --exclude=DEBIAN "$folder" | cut -f 1)" "$depends"
    printf 'Recommends: python3-pip\nSuggests: postgresql, caddy\nSection: comm\nPriority: optional\n'
    [ -z "$homepage" ] || printf 'Homepage: %s\n' "$homepage"
    printf 'Description: self-hosted voice calling service\n'
    printf '%s. The speech models are no part of the package: "switchhook models pull" downloads them with pip or uv.\n' "${description%.}" |
        fold --spaces --width=76 | sed -e 's/^/ /' -e 's/ *$//'
} >"$folder/DEBIAN/control"
(cd "$folder" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort --zero-terminated | xargs --null md5sum) >"$folder/DEBIAN/md5sums"

mkdir -p "$output"
package=$output/switchhook_${version}_$architecture.deb
# xz, which every supported dpkg reads. The tests choose a faster one.
# shellcheck disable=SC2086 # options
dpkg-deb --root-owner-group ${SWITCHHOOK_DEB_COMPRESSION:--Zxz} --build "$folder" "$package" >/dev/null
echo "$package"
