"""Uses the client of openapi-python-client."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from generated.attrs_client import AuthenticatedClient, models
from generated.attrs_client.api.agents import create_agent, list_agents, show_agent, update_agent
from generated.attrs_client.api.calls import create_call, list_calls
from generated.attrs_client.api.connections import create_connection
from generated.attrs_client.api.numbers import create_number
from generated.attrs_client.api.webhooks import create_webhook
from generated.attrs_client.types import UNSET
from story import KEY, UNKNOWN, URL, Event, Page, Refusal, tell

AnyEvent = (
    models.CallCompletedEvent
    | models.CallDialingEvent
    | models.CallFailedEvent
    | models.CallInProgressEvent
    | models.CallQueuedEvent
    | models.CallReceivedEvent
    | models.CarrierHangupEvent
)
AnyCallEvent = (
    models.CallCompleted
    | models.CallDialing
    | models.CallFailed
    | models.CallInProgress
    | models.CallQueued
    | models.CallReceived
    | models.CarrierHangup
)
# The generator makes no types of the unions `CallEvent` and `WebhookEvent`.
CALL_EVENTS: dict[str, Callable[[dict[str, Any]], AnyCallEvent]] = {
    "call.completed": models.CallCompleted.from_dict,
    "call.dialing": models.CallDialing.from_dict,
    "call.failed": models.CallFailed.from_dict,
    "call.in_progress": models.CallInProgress.from_dict,
    "call.queued": models.CallQueued.from_dict,
    "call.received": models.CallReceived.from_dict,
    "carrier.hangup": models.CarrierHangup.from_dict,
}
EVENTS: dict[str, Callable[[dict[str, Any]], AnyEvent]] = {
    "call.completed": models.CallCompletedEvent.from_dict,
    "call.dialing": models.CallDialingEvent.from_dict,
    "call.failed": models.CallFailedEvent.from_dict,
    "call.in_progress": models.CallInProgressEvent.from_dict,
    "call.queued": models.CallQueuedEvent.from_dict,
    "call.received": models.CallReceivedEvent.from_dict,
    "carrier.hangup": models.CarrierHangupEvent.from_dict,
}


class Attrs:
    client = AuthenticatedClient(base_url=URL, token=KEY)

    def connect(self, name: str, provider: str, settings: dict[str, Any]) -> UUID:
        free = models.CreateConnectionSettingsType0.from_dict(settings)
        body = models.CreateConnection(name=name, provider=models.ProviderName(provider), settings=free)
        made = create_connection.sync(client=self.client, body=body)
        assert isinstance(made, models.ConnectionWithWarnings)
        return made.id

    def agent(self, connection: UUID) -> UUID:
        body = models.CreateAgent(
            name="Ava",
            instructions="Book a table.",
            stt=models.SttChoiceInput(connection_id=connection),
            llm=models.LlmChoiceInput(connection_id=connection),
            tts=models.TtsChoiceInput(connection_id=connection),
            tools=[models.HttpToolInput(type_="http", name="tables", url="https://example.com/tables")],
        )
        made = create_agent.sync(client=self.client, body=body)
        assert isinstance(made, models.AgentWithWarnings)
        return made.id

    def number(self, connection: UUID) -> UUID:
        made = create_number.sync(client=self.client, body=models.CreateNumber(number="+12025550188", connection_id=connection))
        assert isinstance(made, models.PhoneNumberWithWarnings)
        return made.id

    def webhook(self, url: str) -> str:
        made = create_webhook.sync(client=self.client, body=models.CreateWebhook(url=url))
        assert isinstance(made, models.WebhookWithSecretWithWarnings)
        return made.secret

    def call(self, agent: UUID, to: str, batch: str, key: str) -> UUID:
        body = models.CreateCall(agent_id=agent, to=to, metadata=models.Metadata.from_dict({"batch": batch}))
        made = create_call.sync(client=self.client, body=body, idempotency_key=key)
        assert isinstance(made, models.CallWithWarnings)
        return made.id

    def calls(self, batch: str, cursor: UUID | None) -> Page:
        # The generator puts the fields of `metadata` into the query as they are.
        metadata = models.ListCallsMetadata.from_dict({"metadata[batch]": batch})
        status = [models.CallStatus.COMPLETED, models.CallStatus.FAILED]
        page = list_calls.sync(client=self.client, status=status, metadata=metadata, limit=1, cursor=cursor or UNSET)
        assert isinstance(page, models.CallList)
        return Page([call.id for call in page.data], page.next_cursor)

    def greet(self, agent: UUID, text: str) -> None:
        body = models.UpdateAgent(greeting=models.GreetingInput(text=text))
        assert isinstance(update_agent.sync(agent, client=self.client, body=body), models.AgentWithWarnings)

    def greeting(self, agent: UUID) -> tuple[str, str]:
        shown = show_agent.sync(agent, client=self.client)
        assert isinstance(shown, models.Agent)
        return shown.name, shown.greeting.text

    def call_unknown_agent(self) -> Refusal:
        answer = create_call.sync_detailed(client=self.client, body=models.CreateCall(agent_id=UNKNOWN, to="+12025550100"))
        assert isinstance(answer.parsed, models.ErrorBody)
        return Refusal(answer.status_code, answer.parsed.code, path=answer.parsed.errors[0].path)

    def list_agents(self, key: str) -> Refusal | None:
        answer = list_agents.sync_detailed(client=AuthenticatedClient(base_url=URL, token=key))
        if isinstance(answer.parsed, models.AgentList):
            return None
        assert isinstance(answer.parsed, models.ErrorBody)
        return Refusal(answer.status_code, answer.parsed.code, retry_after=answer.headers["Retry-After"])

    def event(self, sent: dict[str, Any]) -> Event:
        event = CALL_EVENTS[sent["event"]](sent)
        return Event(event.event, event.data.call_id, event.sequence)

    def delivered(self, body: dict[str, Any]) -> Event:
        event = EVENTS[body["event"]](body)
        return Event(event.event, event.data.call_id, event.data.sequence)


tell(Attrs())
