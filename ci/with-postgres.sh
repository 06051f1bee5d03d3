#!/usr/bin/env bash
# Runs a command with a PostgreSQL server of its own:
#
#   ci/with-postgres.sh cargo nextest run -p switchhook
#
# The server lives in a temporary folder and listens on a Unix socket there, so that neither a port nor another server can be
# in its way. Its address is in SWITCHHOOK_TEST_POSTGRES. It does not wait for the disk and keeps little of its log, unless --durable
# is the first argument: then it is set up as it comes, for measuring. It is stopped and deleted when the command ends. The exit
# code is the command's.
set -euo pipefail

die() {
    echo "with-postgres: $*" >&2
    exit 1
}

careless="-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c min_wal_size=32MB -c max_wal_size=128MB"
if [ "${1:-}" = --durable ]; then
    careless=
    shift
fi
[ $# -gt 0 ] || die "usage: ci/with-postgres.sh [--durable] COMMAND [ARGUMENT…]"

# The newest installation in Debian's place, else whatever is on the PATH.
bin=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1) || true
[ -x "$bin/initdb" ] || bin=$(dirname "$(command -v initdb || true)")
if [ ! -x "$bin/initdb" ] || [ ! -x "$bin/pg_ctl" ]; then
    die "PostgreSQL is not installed; on Debian and Ubuntu: apt install postgresql"
fi

# PostgreSQL refuses to run as root. The name of a socket may have 107 bytes, so TMPDIR is not used.
folder=$(mktemp -d /tmp/switchhook-postgres.XXXXXX)
as_owner=()
if [ "$(id -u)" = 0 ]; then
    owner=postgres
    id "$owner" >/dev/null 2>&1 || owner=nobody
    chown "$owner" "$folder"
    as_owner=(runuser -u "$owner" --)
fi

child=
# shellcheck disable=SC2317 # it is a trap
stop() {
    trap - EXIT INT TERM HUP
    if [ -n "$child" ] && kill -0 "$child" 2>/dev/null; then
        kill -TERM "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    fi
    # pg_ctl sends the signal to the process id in the folder. There is nothing to save, so the server need not tidy up.
    if [ -f "$folder/data/postmaster.pid" ]; then
        (cd / && "${as_owner[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null) || true
    fi
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

quietly() {
    (cd / && "${as_owner[@]}" "$@") >>"$folder/start.log" 2>&1 || {
        cat "$folder/start.log" "$folder/server.log" >&2 2>/dev/null || true
        die "PostgreSQL could not be started"
    }
}
quietly "$bin/initdb" -D "$folder/data" -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync
quietly "$bin/pg_ctl" -D "$folder/data" -l "$folder/server.log" -w -t 60 \
    -o "-k $folder -c listen_addresses= -c max_connections=600 $careless" \
    start

export SWITCHHOOK_TEST_POSTGRES="postgres://postgres@localhost/postgres?host=$folder"

# In the background, because a signal is only acted upon once no command runs in the foreground.
"$@" <&0 &
child=$!
status=0
wait "$child" || status=$?
child=
# shellcheck disable=SC2317 # it is a trap
exit "$status"
