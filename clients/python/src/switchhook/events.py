"""What streams and webhooks bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from ._model import Model
from ._sse import ServerEvent
from .models import CallEvent, ToolCall, TranscriptLine


class EventData(Model):
    """The `data` of an event. What only some events have is `None` in the others."""

    call_id: str
    agent_id: str
    status: Literal["queued", "dialing", "in_progress", "completed", "failed"] | str
    direction: Literal["inbound", "outbound", "web"] | str
    from_: str = Field(..., alias="from")
    to: str
    metadata: dict[str, Any]
    sequence: int
    summary: str | None = None
    outcome: Any = None
    end_reason: str | None = None
    error_code: str | None = None
    error: str | None = None
    duration_seconds: int | None = None
    turns: int | None = None
    cause: str | None = None
    sip_code: int | None = None
    carrier_code: str | None = None
    hung_up_by: str | None = None


class WebhookEvent(Model):
    """A verified delivery. `id` is the same in every attempt: ignore one that you have handled."""

    id: str
    event: (
        Literal[
            "call.queued",
            "call.received",
            "call.dialing",
            "call.in_progress",
            "carrier.hangup",
            "call.completed",
            "call.failed",
            "webhook.test",
        ]
        | str
    )
    #: Unix seconds.
    created: int
    data: EventData


@dataclass(frozen=True)
class TranscriptEvent:
    """One of `line`, `tool_call` and `status`, which is the call's at its end."""

    event: Literal["line", "tool_call", "end"] | str
    line: TranscriptLine | None = None
    tool_call: ToolCall | None = None
    status: str | None = None


def call_event(event: ServerEvent) -> CallEvent:
    return CallEvent.model_validate(event.json())


def transcript_event(event: ServerEvent) -> TranscriptEvent:
    if event.event == "line":
        return TranscriptEvent("line", line=TranscriptLine.model_validate(event.json()))
    if event.event == "tool_call":
        return TranscriptEvent("tool_call", tool_call=ToolCall.model_validate(event.json()))
    data = event.json()
    return TranscriptEvent(event.event, status=data.get("status") if isinstance(data, dict) else None)
