#!/usr/bin/env python3
"""Rehearses an update and the way back, with calls that are live and calls that are queued, on SQLite and the simulated phone network.

    ci/upgrade.py OLD_BINARY [NEW_BINARY]

NEW_BINARY is the same program if it is left out; a schema of a later version is then simulated. Steps are those of docs/operations.md: back up
while calls are live, stop the old version, which lets live calls go on until they are hung up, start the new one, which migrates and dials
what was queued, and go back: with the same schema at once, else by the backup. Nobody is called twice.
"""

import hashlib
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

LIVE, QUEUED = 4, 3
# Numbers of the simulator.
TALKS, STAYS_SILENT = "+12025550100", "+12025550109"
# Longer than any step takes on a busy machine.
LIMIT = 120


def check(holds: bool, words: str) -> None:
    if not holds:
        sys.exit(f"upgrade: {words}")


class Rehearsal:
    def __init__(self, folder: pathlib.Path) -> None:
        self.data, self.log, self.dials = folder / "data", folder / "log", folder / "dials"
        self.data.mkdir(mode=0o700)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHHOOK_")}
        self.environment = inherited | {
            "SWITCHHOOK_DATA_DIR": str(self.data),
            "SWITCHHOOK_SHUTDOWN_DELAY": "0s",
            "SWITCHHOOK_RATE_LIMIT_PER_MINUTE": "6000",
            "SWITCHHOOK_SIMULATOR_DIAL_LOG": str(self.dials),
        }
        self.key, self.service = "", None

    def run(self, binary: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([binary, *arguments], env=self.environment, capture_output=True, text=True, timeout=LIMIT)

    def json(self, binary: str, *arguments: str) -> dict:
        done = self.run(binary, *arguments, "--json")
        check(done.returncode == 0, f"{' '.join(arguments)} failed: {done.stderr}")
        return json.loads(done.stdout)

    def start(self, binary: str) -> None:
        with self.log.open("a") as log:
            self.service = subprocess.Popen([binary, "serve", "--listen", self.address], env=self.environment, stdout=log, stderr=log)
        self.wait("the service to be ready", self.is_ready)

    def is_ready(self) -> bool:
        check(self.service.poll() is None, f"the service ended: {self.log.read_text()[-2000:]}")
        try:
            return urllib.request.urlopen(f"http://{self.address}/readyz", timeout=5).status == 200
        except OSError:
            return False

    def signal_to_stop(self) -> None:
        self.service.send_signal(signal.SIGTERM)

    def is_stopping(self) -> bool:
        check(self.service.poll() is None, f"the service ended while calls were live: {self.log.read_text()[-2000:]}")
        try:
            urllib.request.urlopen(f"http://{self.address}/readyz", timeout=30)
        except urllib.error.HTTPError as answer:
            return json.load(answer)["code"] == "draining"
        return False

    def stopped(self) -> None:
        check(self.service.wait(LIMIT) == 0, f"the service stopped with {self.service.returncode}")

    def wait(self, what: str, holds) -> None:
        end = time.monotonic() + LIMIT
        while not holds():
            check(time.monotonic() < end, f"waited {LIMIT} s for {what}")
            time.sleep(0.2)

    def api(self, method: str, path: str, body: object = None) -> dict:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.address}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def calls(self, ids: list[str]) -> list[dict]:
        return [self.api("GET", f"/v1/calls/{id}") for id in ids]

    def prepare(self) -> None:
        """Makes an agent that needs no models and is patient with a silent caller, and a line that is answered soon."""
        script = self.api("POST", "/v1/connections", {"name": "Script", "provider": "scripted"})
        phone = self.api("POST", "/v1/connections", {"name": "Line", "provider": "simulator", "settings": {"time_scale": 0.2}})
        by = {"connection_id": script["id"]}
        agent = {"name": "Rehearsal", "instructions": "Book a table.", "stt": by, "llm": by, "tts": by}
        agent["limits"] = {"max_duration_seconds": 10}
        agent["silence"] = {"reprompt_after_seconds": 600, "hangup_after_seconds": 600}
        self.agent = self.api("POST", "/v1/agents", agent)["id"]
        self.number = "+12025550177"
        self.api("POST", "/v1/numbers", {"number": self.number, "connection_id": phone["id"], "agent_id": self.agent})

    def place(self, count: int, to: str = TALKS, **more: object) -> list[str]:
        body = {"agent_id": self.agent, "from": self.number, "to": to} | more
        return [self.api("POST", "/v1/calls", body)["id"] for _ in range(count)]

    def place_lasting(self, count: int) -> list[str]:
        """Places calls that last until they are hung up."""
        return self.place(count, STAYS_SILENT, overrides={"limits": {"max_duration_seconds": 600}})

    def hang_up(self, ids: list[str]) -> None:
        for id in ids:
            self.api("POST", f"/v1/calls/{id}/hangup", {})

    def all_ended(self, ids: list[str], status: str | None = None) -> None:
        self.wait("calls to end", lambda: all(call["ended_at"] for call in self.calls(ids)))
        found = [(call["status"], call["end_reason"]) for call in self.calls(ids)]
        check(status is None or all(one == status for one, _ in found), f"the calls ended as {found}, not {status}")

    def dialled(self) -> int:
        return len(self.dials.read_text().splitlines()) if self.dials.exists() else 0


def rehearse(one: Rehearsal, old: str, new: str, backup: pathlib.Path) -> None:
    one.key = one.json(old, "seed")["api_key"]["key"]
    one.start(old)
    one.prepare()
    live = one.place_lasting(LIVE)
    one.wait("calls to be live", lambda: all(call["status"] == "in_progress" for call in one.calls(live)))
    one.json(old, "backup", str(backup))
    print(f"Backed up with {LIVE} live calls")

    one.signal_to_stop()
    # Until it has seen the signal, it dials what is placed.
    one.wait("the service to stop taking up calls", one.is_stopping)
    queued = one.place(QUEUED)
    one.hang_up(live)
    one.stopped()
    check(one.dialled() == LIVE, f"{one.dialled()} calls were dialled by a version that was stopping, not {LIVE}")
    one.start(new)
    one.all_ended(live + queued, "completed")
    reasons = {call["end_reason"] for call in one.calls(live)}
    check(reasons == {"api_hangup"}, f"live calls ended by {reasons} when their version was stopping")
    check(one.dialled() == LIVE + QUEUED, f"{one.dialled()} dials for {LIVE + QUEUED} calls")
    print(f"Updated: {LIVE} live calls went on until they were hung up, {QUEUED} queued ones were dialled by the new version, each once")

    one.signal_to_stop()
    one.stopped()
    database = one.data / "switchhook.db"
    if old == new:
        with sqlite3.connect(database) as schema:
            schema.execute("INSERT INTO _sqlx_migrations SELECT 9999, 'later', installed_on, 1, checksum, 0 FROM _sqlx_migrations LIMIT 1")
        schema.close()
    before = hashlib.sha256(database.read_bytes()).digest()
    refused = one.run(old, "migrate")
    if refused.returncode == 0:
        one.start(old)
        one.all_ended(one.place(1), "completed")
        print("Rolled back: the schema is the same, and the old version continues with it")
        one.signal_to_stop()
        one.stopped()
        return
    check("migration" in refused.stderr, f"the old version says: {refused.stderr}")
    check(hashlib.sha256(database.read_bytes()).digest() == before, "the old version changed a newer database")
    restored = one.run(old, "restore", str(backup), "--force")
    check(restored.returncode == 0, f"restore failed: {restored.stderr}")
    dials = one.dialled()
    one.start(old)
    one.all_ended(live)
    check(one.dialled() == dials, "a call of the backup was dialled again")
    one.all_ended(one.place(1), "completed")
    print("Rolled back: the schema is newer, the old version refused it and restored the backup; no call was dialled again")
    one.signal_to_stop()
    one.stopped()


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    old, new = str(pathlib.Path(sys.argv[1]).resolve()), str(pathlib.Path(sys.argv[-1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        one = Rehearsal(pathlib.Path(folder))
        try:
            rehearse(one, old, new, pathlib.Path(folder) / "backup")
        finally:
            if one.service and one.service.poll() is None:
                one.service.kill()


main()
