#!/usr/bin/env bash
# Makes the pictures of the README and the documentation (docs/images) from a real service with real calls.
#
#   dashboard/screenshots.sh
#
# It needs what dashboard/tests/run.sh needs.
exec "$(dirname "$0")/tests/run.sh" --config screenshots.config.ts
