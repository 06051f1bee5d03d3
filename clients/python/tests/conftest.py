from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from service import Service

from switchhook import Switchhook

SIMULATED = {
    "answers and ends at once": "+12025550111",
    "busy": "+12025550101",
    "holds": "+12025550109",
    "hangs up in a sentence": "+12025550108",
}


@dataclass(frozen=True)
class Tenant:
    """A tenant with an agent that needs no models and a number on a fast simulator."""

    url: str
    api_key: str
    agent_id: str
    connection_id: str
    number: str


def furnish(service: Service, api_key: str) -> Tenant:
    with Switchhook(api_key, service.url) as client:
        scripted = client.connections.create(name="no models", provider="scripted")
        carrier = client.connections.create(name="simulator", provider="simulator", settings={"time_scale": 0.05})
        agent = client.agents.create(
            name="Ava",
            instructions="Book a table.",
            stt={"connection_id": scripted.id},
            llm={"connection_id": scripted.id},
            tts={"connection_id": scripted.id},
            recording={"enabled": True},
        )
        number = client.numbers.create(number="+12025550188", connection_id=carrier.id, inbound_agent_id=agent.id)
        return Tenant(service.url, api_key, agent.id, carrier.id, number.number)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("service"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def tenant(service: Service) -> Tenant:
    return furnish(service, service.api_key)


@pytest.fixture
def client(tenant: Tenant) -> Iterator[Switchhook]:
    with Switchhook(tenant.api_key, tenant.url) as made:
        yield made


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SWITCHHOOK_API_KEY", "SWITCHHOOK_URL"):
        monkeypatch.delenv(name, raising=False)


def folder(name: str) -> Path:
    return Path(__file__).resolve().parents[1] / name
