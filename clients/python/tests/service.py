"""The real service, on a free loopback port with a new data folder, and what a test needs in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
# No test should meet the limits by accident.
LIMITS = ["--rate-limit", "100000", "--concurrent-calls", "1000"]


def binary() -> str:
    named = os.environ.get("SWITCHHOOK_BINARY")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
    found = Path(named) if named else target / "debug" / "switchhook"
    if not found.exists():
        raise RuntimeError(f"There is no {found}. Build it with `cargo build -p switchhook`, or name another with SWITCHHOOK_BINARY.")
    return str(found.resolve())


class Service:
    def __init__(self, folder: Path) -> None:
        folder.chmod(0o700)
        self.log = folder / "log"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHHOOK_")}
        self.environment = inherited | {
            "SWITCHHOOK_DATA_DIR": str(folder / "data"),
            "SWITCHHOOK_SHUTDOWN_DELAY": "0s",
            # The receivers of webhooks are on this machine.
            "SWITCHHOOK_WEBHOOK_ALLOW": "127.0.0.1/32,http",
        }
        self.run("migrate")
        self.process = self._start("127.0.0.1:0")
        self.url = self._address()
        self.api_key, self.tenant_id = self.tenant("first")

    def _start(self, listen: str) -> subprocess.Popen[str]:
        with self.log.open("a") as errors:
            return subprocess.Popen(
                [binary(), "serve", "--listen", listen], env=self.environment, stdout=subprocess.PIPE, stderr=errors, text=True
            )

    def _address(self) -> str:
        assert self.process.stdout is not None
        found = re.search(r"http://[^\s/]+", self.process.stdout.readline())
        if found is None:
            raise RuntimeError(f"The service did not start: {self.log.read_text()}")
        return found.group()

    def run(self, *arguments: str) -> str:
        done = subprocess.run([binary(), *arguments], env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"switchhook {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def tenant(self, name: str, *limits: str) -> tuple[str, str]:
        """The key and the id of a new tenant."""
        made: dict[str, Any] = json.loads(self.run("tenant", "create", name, *(limits or LIMITS), "--json"))
        return made["api_key"]["key"], made["tenant"]["id"]

    def restart(self) -> None:
        """On the same port, as after an update."""
        self.stop()
        self.process = self._start(self.url.removeprefix("http://"))
        assert self._address() == self.url

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
