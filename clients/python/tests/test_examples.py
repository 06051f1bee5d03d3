"""The examples do what they say."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from conftest import SIMULATED, Tenant, folder

from switchhook import Switchhook


def environment(tenant: Tenant, **more: str) -> dict[str, str]:
    return os.environ | {"SWITCHHOOK_API_KEY": tenant.api_key, "SWITCHHOOK_URL": tenant.url} | more


def run(tenant: Tenant, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder("examples") / name), *arguments]
    return subprocess.run(command, env=environment(tenant), capture_output=True, text=True, timeout=60, check=False)


class Running:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.lines: queue.Queue[str] = queue.Queue()
        self._process = process
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.put(line.strip())

    def line(self) -> str:
        return self.lines.get(timeout=30)


@contextmanager
def started(tenant: Tenant, name: str, *arguments: str, **more: str) -> Iterator[Running]:
    command = [sys.executable, str(folder("examples") / name), *arguments]
    process = subprocess.Popen(command, env=environment(tenant, **more), stdout=subprocess.PIPE, text=True)
    try:
        yield Running(process)
    finally:
        process.kill()
        process.wait()


def test_place_call(tenant: Tenant) -> None:
    done = run(tenant, "place_call.py", tenant.agent_id, SIMULATED["hangs up in a sentence"])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:5] == ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]
    assert re.match(r"completed after \d+ s: ", lines[5])
    assert lines[6].strip().startswith("agent: Hello")
    refused = run(tenant, "place_call.py", tenant.agent_id, "nobody")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "The call was not placed: to" in refused.stderr


def test_list_calls(tenant: Tenant, client: Switchhook) -> None:
    client.calls.wait(client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["busy"]).id, timeout=30)
    done = run(tenant, "list_calls.py")
    assert done.returncode == 0, done.stderr
    assert f"{SIMULATED['busy']}  busy" in done.stdout


def test_follow(tenant: Tenant, client: Switchhook) -> None:
    with started(tenant, "follow.py") as follower:
        # The stream starts when the service has the request: calls are placed until one is seen.
        for _ in range(50):
            call = client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["answers and ends at once"])
            client.calls.wait(call.id, timeout=30)
            if not follower.lines.empty():
                break
        assert re.search(r"  (call|carrier)\.\w+$", follower.line())


def test_webhook_receiver(tenant: Tenant, client: Switchhook) -> None:
    # The secret comes with the endpoint, whose address needs the port: a first endpoint is moved to the receiver.
    endpoint = client.webhooks.create(url="http://127.0.0.1:9/", events=["call.completed"], enabled=False)
    rotated = client.webhooks.rotate_secret(endpoint.id)
    assert rotated.secret != endpoint.secret
    with started(tenant, "webhook_receiver.py", "0", WEBHOOK_SECRET=f"{rotated.secret},{endpoint.secret}") as receiver:
        url = receiver.line().removeprefix("listening on ")
        assert client.webhooks.update(endpoint.id, url=url, enabled=True).enabled
        call = client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["answers and ends at once"])
        assert receiver.line() == f"call.completed {call.id} completed"

        # Nobody else's.
        forged = urllib.request.Request(url, b'{"id":"x"}', {"X-Voice-Signature": "t=1,v1=00"})
        try:
            urllib.request.urlopen(forged)
            raise AssertionError("a forged delivery was accepted")
        except urllib.error.HTTPError as error:
            assert error.code == 401
        assert receiver.line().startswith("refused: ")

        test = client.webhooks.test(endpoint.id)
        assert receiver.line().startswith("webhook.test")
        assert client.webhooks.get_delivery(endpoint.id, test.id).event == "webhook.test"
        found = client.webhooks.list_deliveries(endpoint.id, event="call.completed", call_id=call.id)
        first = found.first().data[0]
        client.webhooks.redeliver(endpoint.id, first.id)
        assert [one.webhook_id for one in client.calls.list_deliveries(call.id)][0] == endpoint.id
    assert endpoint.id in [one.id for one in client.webhooks.list()]
    assert client.webhooks.get(endpoint.id).url.rstrip("/") == url
    client.webhooks.delete(endpoint.id)
