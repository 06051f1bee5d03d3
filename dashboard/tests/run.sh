#!/usr/bin/env bash
# Tests the dashboard in a headless Chromium against the real service, as `switchhook dev` starts it.
#
#   dashboard/tests/run.sh [ARGUMENTS OF playwright test…]
#
# It needs curl, node with what `npm ci` installed, and Chromium (SWITCHHOOK_CHROMIUM names another binary than /usr/bin/chromium).
# SWITCHHOOK_BINARY names another service than target/debug/switchhook. Data and log are in target/dashboard; speech models that the
# tests of the service have downloaded are used.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-../target}")
binary=${SWITCHHOOK_BINARY:-$target/debug/switchhook}
folder=$target/dashboard
data=$folder/data

die() {
    echo "dashboard/tests/run.sh: $*" >&2
    [ ! -e "$folder/log" ] || tail -n 20 "$folder/log" >&2
    exit 1
}

command -v curl >/dev/null || die "curl is missing; on Debian: apt install curl"
[ -x "${SWITCHHOOK_CHROMIUM:-/usr/bin/chromium}" ] || die "there is no Chromium; on Debian: apt install chromium"
[ -x "$binary" ] || die "there is no $binary; build it with \`cargo build -p switchhook\`"
mkdir -p "$data"
# A new database every time; the models stay.
find "$data" -mindepth 1 -maxdepth 1 ! -name models -exec rm -rf {} +
chmod 700 "$data"
if [ ! -e "$data/models" ] && [ -d "$target/test-models/models" ]; then
    cp -r "$target/test-models/models" "$data/models"
fi

# Nothing of the caller's settings, and no language model, which `dev` would connect by its key; a free port.
for name in $(compgen -e SWITCHHOOK_ | grep -v -x -e SWITCHHOOK_CHROMIUM || true); do unset "$name"; done
unset OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY GROQ_API_KEY OPENROUTER_API_KEY
port=$(node -e 's=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
export SWITCHHOOK_URL=http://127.0.0.1:$port
export SWITCHHOOK_BINARY=$binary
# Two browsers at full speed change more in a minute than people do.
export SWITCHHOOK_RATE_LIMIT_PER_MINUTE=6000
# The pictures have a receiver of webhooks on this machine.
export SWITCHHOOK_WEBHOOK_ALLOW=127.0.0.1/32,http
"$binary" dev --listen "127.0.0.1:$port" --data-dir "$data" >"$folder/log" 2>&1 &
service=$!
trap 'kill "$service" 2>/dev/null; wait "$service" 2>/dev/null || true' EXIT

# The first start may download the models.
for _ in $(seq 600); do
    kill -0 "$service" 2>/dev/null || die "the service did not start"
    ! curl -fs -o /dev/null "$SWITCHHOOK_URL/readyz" || break
    sleep 0.5
done
curl -fs -o /dev/null "$SWITCHHOOK_URL/readyz" || die "the service is not ready"

# Another tenant, which invites the person of the tests.
SWITCHHOOK_OTHER_KEY=$("$binary" tenant create Harbor --json --data-dir "$data" |
    node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).api_key.key')
export SWITCHHOOK_OTHER_KEY
# The terminal, where the link is that signs in.
export SWITCHHOOK_DEV_LOG=$folder/log
# For the pictures, which need calls of other times.
export SWITCHHOOK_DEV_DATABASE=$data/switchhook.db

npx playwright test "$@"
