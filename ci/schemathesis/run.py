"""Starts the service with two tenants, has schemathesis test it, and looks into its log afterwards.

    run.py TARGET_DIRECTORY MAX_EXAMPLES
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
SEED = "20250101"
# More than any run needs: the limits are tested elsewhere, and here they would end the test.
LIMITS = ["--rate-limit", "1000000", "--concurrent-calls", "1000000"]


def main(target: Path, max_examples: str) -> int:
    folder = target.resolve() / "schemathesis"
    report = folder / "report"
    # What schemathesis remembers of an earlier run goes too: each run is the same.
    shutil.rmtree(report, ignore_errors=True)
    report.mkdir()
    with tempfile.TemporaryDirectory() as data:
        binary = Path(os.environ.get("SWITCHHOOK_BINARY") or target.resolve() / "debug" / "switchhook")
        service = Service(binary, Path(data), folder / "service.log")
        try:
            return check(service, folder, report, max_examples)
        finally:
            service.stop()


def check(service: "Service", folder: Path, report: Path, max_examples: str) -> int:
    tenants = {"first": service.seeded(), "second": service.tenant("second")}
    for key in tenants.values():
        prepare(service, key)
    things = {kind: service.get(tenants["first"], f"/v1/{kind}")["data"] for kind in ("agents", "connections", "numbers")}
    auth = folder / "auth.json"
    auth.write_text(json.dumps({
        "auth": [
            {"name": name, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {key}"}]}
            for name, key in tenants.items()
        ]
    }))
    environment = os.environ | {
        "SCHEMATHESIS_HOOKS": "hooks",
        "PYTHONPATH": str(HERE),
        "SWITCHHOOK_TEST_KEYS": json.dumps(tenants),
        "SWITCHHOOK_TEST_THINGS": json.dumps({kind: [thing["id"] for thing in found] for kind, found in things.items()}),
        "SWITCHHOOK_TEST_AUTH": str(auth),
    }
    command = [
        str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(HERE / "schemathesis.toml"),
        "run", f"{service.base}/openapi.json", "--checks", "all",
        # Streams do not end; the same handlers are asked for JSON.
        "--exclude-path-regex", "/stream$",
        # hooks.py has the same checks for all but what a schema cannot say.
        "--exclude-checks", "positive_data_acceptance,use_after_free,not_a_server_error", "--seed", SEED, "--max-examples", max_examples,
        "--report", "ndjson", "--report-dir", str(report), "--request-timeout", "40", "--continue-on-failure",
    ]
    status = subprocess.run(command, env=environment, cwd=report, check=False).returncode
    alive = service.process.poll() is None
    service.stop()
    wrong = service.errors()
    for line in wrong[:20]:
        print(f"The service's log: {line}")
    if not alive:
        print("The service ended by itself.")
    return 1 if status or wrong or not alive else 0


def prepare(service: "Service", key: str) -> None:
    """Things that exist when the test begins: an agent that needs no models, a call that was recorded, deliveries."""
    scripted = service.post(key, "/v1/connections", {"name": "no models", "provider": "scripted"})["id"]
    carrier = service.post(key, "/v1/connections", {
        "name": "fast simulator", "provider": "simulator", "settings": {"time_scale": 0.05},
    })["id"]
    part = {"connection_id": scripted}
    agent = service.post(key, "/v1/agents", {
        "name": "Scripted", "instructions": "Book a table.", "stt": part, "llm": part, "tts": part,
        "recording": {"enabled": True}, "limits": {"max_duration_seconds": 10},
    })["id"]
    number = service.post(key, "/v1/numbers", {
        "number": "+12025550188", "connection_id": carrier, "inbound_agent_id": agent,
    })["id"]
    service.post(key, "/v1/webhooks", {"url": "https://receiver.example.com/hooks"})
    call = service.post(key, "/v1/calls", {"agent_id": agent, "number_id": number, "to": "+12025550108"})["id"]
    deadline = time.monotonic() + 60
    while not service.get(key, f"/v1/calls/{call}")["recording_url"]:
        if time.monotonic() > deadline:
            raise SystemExit("The first call was not recorded within a minute.")
        time.sleep(0.2)


def know_no_names() -> str:
    """A name server to which every name is unknown, so that nothing is sent beyond this machine."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            query, client = server.recvfrom(512)
            # The header with "answer" and "no such name" (RFC 1035 section 4.1.1), and the question as it came.
            question = query[12:query.index(b"\0", 12) + 5]
            server.sendto(query[:2] + b"\x81\x83" + b"\0\1\0\0\0\0\0\0" + question, client)

    threading.Thread(target=answer, daemon=True).start()
    return "{}:{}".format(*server.getsockname())


class Service:
    def __init__(self, binary: Path, data: Path, log: Path) -> None:
        self.binary, self.log = binary, log
        postgres = os.environ.get("SWITCHHOOK_TEST_POSTGRES")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHHOOK_")} | {
            "SWITCHHOOK_DATA_DIR": str(data),
            "SWITCHHOOK_DNS": know_no_names(),
            "SWITCHHOOK_LOG_FORMAT": "text",
        }
        if postgres:
            self.environment["SWITCHHOOK_DATABASE_URL"] = postgres
        self.command_line("migrate")
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                [binary, "serve", "--listen", "127.0.0.1:0"],
                env=self.environment, stdout=subprocess.PIPE, stderr=errors, text=True,
            )
        found = re.search(r"http://\S+", self.process.stdout.readline())
        if not found:
            raise SystemExit(f"The service did not start: {log.read_text()}")
        self.base = found.group().rstrip("/")

    def command_line(self, *arguments: str) -> str:
        done = subprocess.run([self.binary, *arguments], env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"switchhook {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def seeded(self) -> str:
        seeded = json.loads(self.command_line("seed", "--json"))
        self.command_line("tenant", "set", seeded["tenant"]["id"], *LIMITS)
        return seeded["api_key"]["key"]

    def tenant(self, name: str) -> str:
        return json.loads(self.command_line("tenant", "create", name, *LIMITS, "--json"))["api_key"]["key"]

    def post(self, key: str, path: str, body: dict) -> dict:
        return self.request(key, path, json.dumps(body).encode())

    def get(self, key: str, path: str) -> dict:
        return self.request(key, path, None)

    def request(self, key: str, path: str, body: bytes | None) -> dict:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.base + path, body, headers)) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{path}: {error.read().decode()}") from error

    def errors(self) -> list[str]:
        """What should not be in the log."""
        lines = re.sub(r"\x1b\[[0-9;]*m", "", self.log.read_text()).splitlines()
        return [line for line in lines if re.search(r"\bERROR\b|panicked at|overflowed its stack", line)]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # The service must not stay behind.
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
