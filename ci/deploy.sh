#!/usr/bin/env bash
# Checks the files that run Switchhook: the install script, the Debian package, Compose, Caddy, systemd and Helm.
#
#   ci/deploy.sh
#
# It needs curl and python3. What it has no program for, it names as NOT CHECKED; on Debian these are lintian, minisign, shellcheck and systemd, and helm,
# which is not in Debian. It unpacks Debian's caddy into target/deploy, and installs podman-compose there, where they are missing; no
# container is started.
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
    echo "deploy: $*" >&2
    exit 1
}
have() {
    command -v "$1" >/dev/null && return 0
    echo "NOT CHECKED: $2, because $1 is not installed"
    return 1
}

work=$(mktemp -d)
server=
# shellcheck disable=SC2317 # it is a trap
stop() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap stop EXIT

echo "A release, and its install script"
if have shellcheck "the style of deploy/install.sh"; then shellcheck deploy/install.sh; fi
case "$(uname -m)" in
    x86_64) target=x86_64-unknown-linux-musl ;;
    aarch64) target=aarch64-unknown-linux-musl ;;
    *) die "there is no release for $(uname -m)" ;;
esac
release=$work/releases/latest/download
mkdir -p "$release" "$work/program"
printf '#!/bin/sh\necho switchhook 0.0.0-test\n' >"$work/program/switchhook"
chmod 755 "$work/program/switchhook"
archive=$(packaging/release/archive.sh "$work/program/switchhook" "$target" "$release")
cmp "$archive" "$(packaging/release/archive.sh "$work/program/switchhook" "$target" "$work/again")" || die "the same program gives another archive"
if have minisign "the signature of a release"; then
    minisign -G -W -f -p "$work/key.pub" -s "$work/key" >/dev/null
    SWITCHHOOK_MINISIGN_KEY=$(cat "$work/key")
    export SWITCHHOOK_MINISIGN_KEY
fi
packaging/release/finish.sh "$release" switchhook/switchhook
if [ -n "${SWITCHHOOK_MINISIGN_KEY:-}" ]; then
    minisign -V -q -p "$work/key.pub" -m "$release/SHA256SUMS" || die "the signature of the checksums is not valid"
    (cd "$release" && sha256sum --check --quiet SHA256SUMS) || die "the checksums are wrong"
    unset SWITCHHOOK_MINISIGN_KEY
fi
for line in 'buildx build .*--platform linux/arm64 .*--tag example.com/switchhook:0.0.0-arm64 --push' 'imagetools create --tag example.com/switchhook:0.0.0 '; do
    SWITCHHOOK_DRY_RUN=1 packaging/release/image.sh "$work/program/switchhook" "$work/program/switchhook" example.com/switchhook:0.0.0 >"$work/said"
    grep -q -e "$line" "$work/said" || die "the image is not built by $line: $(cat "$work/said")"
done
python3 - "$work/releases" >"$work/port" <<'PYTHON' &
import functools, http.server, sys
handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=sys.argv[1]))
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
server=$!
until [ -s "$work/port" ]; do kill -0 "$server" || die "the test's web server did not start"; done
install() { # BIN_DIR
    SWITCHHOOK_RELEASES="http://127.0.0.1:$(cat "$work/port")" SWITCHHOOK_BIN_DIR=$1 sh "$release/install.sh" >"$work/said" 2>&1
}
install "$work/bin" || die "it did not install: $(cat "$work/said")"
[ "$("$work/bin/switchhook")" = "switchhook 0.0.0-test" ] || die "it installed another program"
printf x >>"$release/switchhook-$target.tar.gz"
if install "$work/damaged"; then die "it installed a damaged download"; fi
grep -q 'Nothing was installed' "$work/said" || die "it says of a damaged download: $(cat "$work/said")"
[ ! -e "$work/damaged/switchhook" ] || die "it left a damaged program behind"

echo "The Debian package"
ci/deb.sh

echo "Whatever stops the service waits for its drain"
# seconds FILE EXPRESSION: the one number that the expression finds.
seconds() {
    local found
    found=$(sed -n "s/$2/\1/p" "$1" | sort -u)
    [[ $found =~ ^[0-9]+$ ]] || die "$1 has no such line, or several that differ: $2"
    echo "$found"
}
drain=$(seconds crates/server/config.default.toml '^drain_timeout = "\([0-9]*\)s"$')
# Twice LAST_WORK in app.rs: the end of calls, and of other work.
least=$((drain + 2 * $(seconds crates/server/src/app.rs '^const LAST_WORK.*from_secs(\([0-9]*\)).*$')))
waits=$(seconds deploy/systemd/switchhook.service '^TimeoutStopSec=\([0-9]*\)s$')
[ "$waits" -gt "$least" ] || die "systemd waits $waits s, stopping takes up to $least s"
for file in deploy/compose.yaml deploy/compose.postgres.yaml; do
    [ "$(seconds "$file" '^ *SWITCHHOOK_DRAIN_TIMEOUT: \([0-9]*\)s$')" = "$drain" ] || die "$file has another drain timeout than $drain s"
    waits=$(seconds "$file" '^ *stop_grace_period: \([0-9]*\)s$')
    [ "$waits" -gt "$least" ] || die "$file waits $waits s, stopping takes up to $least s"
done
[ "$(seconds deploy/helm/switchhook/values.yaml '^drainSeconds: \([0-9]*\)$')" = "$drain" ] || die "the chart has another drain timeout than $drain s"

export SWITCHHOOK_DOMAIN=calls.example.com SWITCHHOOK_NODES="node1:8080 node2:8080" SWITCHHOOK_MASTER_KEY=key POSTGRES_PASSWORD=password
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/deploy
mkdir -p "$tools"
echo "Compose"
compose=()
if docker compose version >/dev/null 2>&1; then
    compose=(docker compose)
else
    if [ ! -x "$tools/venv/bin/podman-compose" ] && python3 -m venv "$tools/venv"; then
        "$tools/venv/bin/pip" install --quiet --disable-pip-version-check podman-compose==1.6.0 || true
    fi
    # It asks podman for its version, and reads the files itself.
    printf '#!/bin/sh\necho podman version 5.0.0\n' >"$work/podman"
    chmod 755 "$work/podman"
    if PATH=$work:$PATH "$tools/venv/bin/podman-compose" version >/dev/null 2>&1; then
        compose=(env "PATH=$work:$PATH" "$tools/venv/bin/podman-compose")
    else
        echo "NOT CHECKED: deploy/compose*.yaml, because there is neither docker compose nor podman-compose 1.6"
    fi
fi
# composed FILE: the file as Compose understands it.
composed() {
    "${compose[@]}" -f "$1" config >"$work/said" 2>"$work/errors" || die "$1 is not valid: $(cat "$work/errors")"
}
# public ADDRESS: the address of the service in what `composed` said.
public() {
    grep -q "SWITCHHOOK_PUBLIC_URL: [\"']\?$1[\"']\?$" "$work/said" || die "the service's address is not $1 but $(grep PUBLIC_URL "$work/said")"
}
if [ ${#compose[@]} != 0 ]; then
    for file in deploy/compose.yaml deploy/compose.postgres.yaml; do
        composed "$file"
        public https://calls.example.com
        grep -q 'SWITCHHOOK_DOMAIN: [\"]\?calls.example.com' "$work/said" || die "$file gives Caddy another domain"
        [ "$(grep -c 'read_only: true' "$work/said")" -ge 2 ] || die "$file has a node or Caddy with a writable root"
    done
    SWITCHHOOK_DOMAIN='' SWITCHHOOK_PORT=9000 composed deploy/compose.yaml
    public http://127.0.0.1:9000
    SWITCHHOOK_PUBLIC_URL=https://proxy.example.com composed deploy/compose.yaml
    public https://proxy.example.com
    if (SWITCHHOOK_DOMAIN='' composed deploy/compose.postgres.yaml) 2>/dev/null; then die "compose.postgres.yaml starts without a domain"; fi
fi
if ! command -v caddy >/dev/null && command -v apt-get >/dev/null; then
    # The package would start a service on port 80.
    if [ ! -x "$tools/caddy/usr/bin/caddy" ] && (cd "$tools" && apt-get download -qq caddy >/dev/null 2>&1); then
        dpkg-deb --extract "$tools"/caddy_*.deb "$tools/caddy"
    fi
    PATH=$PATH:$tools/caddy/usr/bin
fi
if have caddy "deploy/Caddyfile"; then
    caddy validate --config deploy/Caddyfile --adapter caddyfile >"$work/said" 2>&1 || die "$(cat "$work/said")"
fi

echo "A database that starts late"
grep -qx 'StartLimitIntervalSec=0' deploy/systemd/switchhook.service || die "systemd gives up after five starts without a database"
grep -q 'pg_isready.*--host=' deploy/compose.postgres.yaml || die "the health check passes while the database is being initialised"

echo "systemd"
if have systemd-analyze "deploy/systemd/switchhook.service"; then
    sed 's#^ExecStart=.*#ExecStart=/bin/true#' deploy/systemd/switchhook.service >"$work/switchhook.service"
    said=$(systemd-analyze verify "$work/switchhook.service" 2>&1) || die "systemd-analyze: $said"
    if grep -q switchhook.service <<<"$said"; then die "systemd-analyze: $said"; fi
    # Exposure, times ten.
    systemd-analyze security --offline=true --threshold=20 "$work/switchhook.service" >"$work/said" || die "$(tail -n 1 "$work/said")"
fi

echo "Helm"
version=$(sed -n '/^\[workspace.package\]/,/^\[workspace.dep/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
grep -qx "appVersion: \"$version\"" deploy/helm/switchhook/Chart.yaml || die "the chart's appVersion is not $version"
grep -q "docker push .*/switchhook:$version$" docs/deployment.md || die "docs/deployment.md pushes another image than switchhook:$version"
if have helm "deploy/helm/switchhook"; then
    values=(--set existingSecret=secret --set publicUrl=https://calls.example.com)
    helm lint --strict deploy/helm/switchhook "${values[@]}" >"$work/said" || die "$(cat "$work/said")"
    helm template deploy/helm/switchhook "${values[@]}" >/dev/null
    helm template deploy/helm/switchhook "${values[@]}" --set database=postgres --set ingress.enabled=true \
        --set ingress.host=calls.example.com --set serviceMonitor.enabled=true >/dev/null
    if helm template deploy/helm/switchhook >/dev/null 2>&1; then die "the chart renders without a Secret"; fi
    for wrong in settings.SWITCHHOOK_MONTHLY_CALLS=2000000 settings.SWITCHHOOK_ENV=dev image.tag=20261127; do
        if helm template deploy/helm/switchhook "${values[@]}" --set "$wrong" >/dev/null 2>&1; then die "the chart takes $wrong"; fi
    done
    own=SWITCHHOOK_MAX_CONNECTIONS_PER_ADDRESS
    helm template deploy/helm/switchhook "${values[@]}" --set-string "settings.$own=5000" >"$work/said"
    [ "$(grep -c "name: $own" "$work/said")" = 1 ] || die "the chart sets $own twice"
fi
