#!/usr/bin/env bash
# Runs the tests beside as many busy loops as there are CPUs, several times. None may fail: a test that does is at fault itself, or shows
# a fault of the product.
#
#   ci/stress.sh [TIMES] [NEXTEST ARGUMENT…]    3 times, all tests on SQLite
#
# One test, often:               ci/stress.sh 20 calls::each_number_ends_as_it_says
# The same on PostgreSQL:        ci/with-postgres.sh ci/stress.sh 20 calls::each_number_ends_as_it_says
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
times=${1:-3}
[[ $times =~ ^[1-9][0-9]*$ ]] || {
    echo "usage: ci/stress.sh [TIMES] [NEXTEST ARGUMENT…]"
    exit 2
}
shift $(($# > 0 ? 1 : 0))

cargo nextest list --workspace --lib --bins --tests --locked --profile ci >/dev/null || exit 1
loops=()
trap 'kill "${loops[@]}" 2>/dev/null' EXIT
for ((i = 0; i < $(nproc); i++)); do
    while :; do :; done &
    loops+=($!)
done

failed=0
for ((i = 1; i <= times; i++)); do
    printf '\n=== %d of %d\n' "$i" "$times"
    cargo nextest run --workspace --lib --bins --tests --locked --profile ci --test-threads "$(($(nproc) * 6 > 12 ? 12 : $(nproc) * 6))" "$@" || failed=$((failed + 1))
done
printf '\nRuns: %d, failed: %d\n' "$times" "$failed"
[ "$failed" = 0 ]
