#!/usr/bin/env bash
# Makes the pictures of README and documentation (docs/pictures) from a real service with real calls, which it also copies to other
# times of two days (screenshots/day.py), and one of every page at three widths in both schemes (dashboard/tests/out/pictures). Look at all of
# them.
#
#   dashboard/screenshots.sh
#
# It needs what dashboard/tests/run.sh needs, and python3.
exec "$(dirname "$0")/tests/run.sh" --config screenshots.config.ts
