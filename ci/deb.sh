#!/usr/bin/env bash
# Checks the Debian package: its files, and what its scripts do when it is installed, updated, removed and purged.
#
#   ci/deb.sh
#
# It installs into a folder, not into this machine. It needs dpkg, useradd, and to be root; what it cannot check it names as NOT CHECKED.
# The program in the package is a stand-in.
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
    echo "deb: $*" >&2
    exit 1
}

for command in dpkg dpkg-deb useradd; do
    command -v "$command" >/dev/null || { echo "NOT CHECKED: the Debian package, because $command is not installed" && exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#!/bin/sh\necho stand-in\n' >"$work/switchhook"
architecture=$(dpkg --print-architecture)
export SWITCHHOOK_DEB_COMPRESSION="-Zgzip -z1"
package=$(packaging/debian/build_deb.sh "$work/switchhook" "$architecture" "$work/dist")
again=$(packaging/debian/build_deb.sh "$work/switchhook" "$architecture" "$work/again")
cmp "$package" "$again" || die "the same input gives other bytes"

version=$(sed -n '/^\[workspace.package\]/,/^\[workspace.dep/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
[ "$(dpkg-deb --field "$package" Version)" = "$version" ] || die "the version is not $version"
listed=$(dpkg-deb --contents "$package")
for line in '-rwxr-xr-x root/root .* ./usr/bin/switchhook$' '-rw-r--r-- root/root .* ./usr/lib/systemd/system/switchhook.service$' \
    '-rw------- root/root .* ./etc/switchhook/environment$' '-rw-r--r-- root/root .* ./usr/share/doc/switchhook/copyright$'; do
    grep -q -e "$line" <<<"$listed" || die "the package has no line $line in: $listed"
done
if command -v lintian >/dev/null; then
    # Warnings are shown: they differ between versions of lintian. The stand-in is a script; the manual is switchhook --help; the settings hold secrets.
    lintian --allow-root --tag-display-limit 0 --fail-on error --suppress-tags \
        no-manual-page,non-standard-file-perm,initial-upload-closes-no-bugs,script-with-language-extension "$package"
else
    echo "NOT CHECKED: the package by lintian, which is not installed"
fi
if command -v systemd-analyze >/dev/null; then
    dpkg-deb --fsys-tarfile "$package" | tar --extract --to-stdout ./usr/lib/systemd/system/switchhook.service |
        sed 's#^ExecStart=.*#ExecStart=/bin/true#' >"$work/switchhook.service"
    said=$(systemd-analyze verify "$work/switchhook.service" 2>&1) || die "systemd-analyze: $said"
    if grep -q switchhook.service <<<"$said"; then die "systemd-analyze: $said"; fi
    # Exposure, times ten.
    systemd-analyze security --offline=true --threshold=20 "$work/switchhook.service" >"$work/said" || die "$(tail -n 1 "$work/said")"
fi

if [ "$(id -u)" != 0 ]; then
    echo "NOT CHECKED: installing the package, because this is not root"
    exit 0
fi
root=$work/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/etc"
touch "$root/var/lib/dpkg/status" "$root/etc/"{passwd,group,shadow,gshadow}
# in_root ARGUMENTS…: dpkg in the folder, whose scripts run with DPKG_ROOT. Nothing else is installed there.
in_root() {
    dpkg --root="$root" --force-script-chrootless --force-depends --force-confdef --force-confold --log=/dev/null "$@" >"$work/said" 2>&1 || die "dpkg $*: $(cat "$work/said")"
}
data=$root/var/lib/switchhook key=$root/etc/switchhook/master-key settings=$root/etc/switchhook/environment
owner() { stat --format='%u %a' "$1"; }

echo "Install"
in_root --install "$package"
user=$(sed -n 's/^switchhook:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/passwd")
[[ $user =~ ^[1-9][0-9]*$ ]] || die "there is no user switchhook: $(cat "$root/etc/passwd")"
[ "$(owner "$data")" = "$user 700" ] || die "the data directory is $(owner "$data")"
[ "$(owner "$key")" = "0 600" ] || die "the master key is $(owner "$key")"
[ "$(sed -n 's/^SWITCHHOOK_MASTER_KEY=//p' "$key" | base64 --decode | wc -c)" = 32 ] || die "the master key has not 32 bytes"
[ "$(owner "$settings")" = "0 600" ] || die "the settings are $(owner "$settings")"

echo "Install again, and update: nothing of the operator's changes"
echo database >"$data/switchhook.db"
echo SWITCHHOOK_PUBLIC_URL=https://calls.example.com >>"$settings"
cp "$key" "$work/key"
cp "$settings" "$work/settings"
in_root --install "$package"
dpkg-deb --raw-extract "$package" "$work/newer"
sed -i "s/^Version: .*/Version: $version+1/" "$work/newer/DEBIAN/control"
echo "# A newer default." >>"$work/newer/etc/switchhook/environment"
dpkg-deb --root-owner-group -Zgzip -z1 --build "$work/newer" "$work/newer.deb" >/dev/null
in_root --install "$work/newer.deb"
kept() {
    cmp "$key" "$work/key" || die "$1 changed the master key"
    cmp "$settings" "$work/settings" || die "$1 changed the settings"
    [ -s "$data/switchhook.db" ] || die "$1 deleted the data"
}
kept "an update"
[ "$(grep -c '^switchhook:' "$root/etc/passwd")" = 1 ] || die "the user was created twice"

echo "Remove keeps the data, purge deletes it"
in_root --remove switchhook
[ ! -e "$root/usr/bin/switchhook" ] || die "removal left the program"
kept "removal"
in_root --install "$package"
kept "the installation after a removal"
in_root --purge switchhook
for left in "$data" "$root/etc/switchhook"; do [ ! -e "$left" ] || die "purging left $left"; done
in_root --install "$package"
if cmp --silent "$key" "$work/key"; then die "the key of a purged installation came back"; fi
