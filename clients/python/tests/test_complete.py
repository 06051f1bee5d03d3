"""No operation of the API is forgotten, and what is generated is up to date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from switchhook import AsyncSwitchhook, Switchhook

ROOT = Path(__file__).resolve().parents[3]


def operations() -> list[str]:
    document: dict[str, Any] = json.loads((ROOT / "docs/openapi.json").read_text())
    return [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]


@pytest.mark.parametrize("kind", [Switchhook, AsyncSwitchhook])
def test_every_operation_has_a_method(kind: type[Switchhook] | type[AsyncSwitchhook]) -> None:
    names: dict[str, Any] = json.loads((ROOT / "clients/operations.json").read_text())
    client = kind("vk_dev_any", "http://127.0.0.1:1")
    assert len(operations()) > 50
    for operation in operations():
        method = names[operation].get("method") or names[operation]["stream"]
        resource, name = method.split(".")
        assert callable(getattr(getattr(client, resource), name, None)), f"{operation}: client.{method} is missing"
