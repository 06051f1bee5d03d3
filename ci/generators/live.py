"""Starts the service with two tenants, of which one may send few requests, and runs a program against it.

    live.py COMMAND…

The program gets SWITCHHOOK_URL, SWITCHHOOK_API_KEY and SWITCHHOOK_SMALL_KEY, the key of the second tenant.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python" / "tests"))
from service import Service  # noqa: E402


def main(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder))
        try:
            small, _ = service.tenant("small", "--rate-limit", "3")
            environment = os.environ | {
                "SWITCHHOOK_URL": service.url,
                "SWITCHHOOK_API_KEY": service.api_key,
                "SWITCHHOOK_SMALL_KEY": small,
            }
            return subprocess.run(command, env=environment, check=False, timeout=120).returncode
        finally:
            service.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
