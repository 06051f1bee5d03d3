"""Uses the client of openapi-generator for Python."""

from typing import Any
from uuid import UUID

import generated_pydantic as api
from story import KEY, UNKNOWN, URL, Event, Page, Refusal, tell


def client(key: str) -> api.ApiClient:
    # By default, urllib3 waits as long as `Retry-After` says and repeats the request by itself.
    return api.ApiClient(api.Configuration(host=URL, access_token=key, retries=0))


class Pydantic:
    client = client(KEY)

    def connect(self, name: str, provider: str, settings: dict[str, Any]) -> UUID:
        body = api.CreateConnection(name=name, provider=api.ProviderName(provider), settings=settings)
        return api.ConnectionsApi(self.client).create_connection(body).id

    def agent(self, connection: UUID) -> UUID:
        body = api.CreateAgent(
            name="Ava",
            instructions="Book a table.",
            stt=api.SttChoiceInput(connection_id=connection),
            llm=api.LlmChoiceInput(connection_id=connection),
            tts=api.TtsChoiceInput(connection_id=connection),
        )
        return api.AgentsApi(self.client).create_agent(body).id

    def number(self, connection: UUID) -> UUID:
        return api.NumbersApi(self.client).create_number(api.CreateNumber(number="+12025550188", connection_id=connection)).id

    def webhook(self, url: str) -> str:
        return api.WebhooksApi(self.client).create_webhook(api.CreateWebhook(url=url)).secret

    def call(self, agent: UUID, to: str, batch: str, key: str) -> UUID:
        body = api.CreateCall(agent_id=agent, to=to, metadata={"batch": batch})
        made = api.CallsApi(self.client).create_call(body, idempotency_key=key)
        assert isinstance(made, api.CallWithWarnings)
        return made.id

    def calls(self, batch: str, cursor: UUID | None) -> Page:
        # The generated `list_calls` has a wrong type for `metadata`, and cannot write `metadata[batch]`.
        status = ",".join([api.CallStatus.COMPLETED, api.CallStatus.FAILED])
        query = [("status", status), ("metadata[batch]", batch), ("limit", 1), *([("cursor", cursor)] if cursor else [])]
        request = self.client.param_serialize("GET", "/v1/calls", query_params=query, auth_settings=["api_key"])
        page = api.CallList.from_json(self.client.call_api(*request).read())
        assert page
        return Page([call.id for call in page.data], page.next_cursor)

    def greet(self, agent: UUID, text: str) -> None:
        api.AgentsApi(self.client).update_agent(agent, api.UpdateAgent(greeting=api.GreetingInput(text=text)))

    def greeting(self, agent: UUID) -> tuple[str, str]:
        shown = api.AgentsApi(self.client).show_agent(agent)
        return shown.name, shown.greeting.text

    def call_unknown_agent(self) -> Refusal:
        try:
            self.call(UNKNOWN, "+12025550100", "none", "unknown")
        except api.ApiException as refused:
            assert isinstance(refused.data, api.ErrorBody)
            return Refusal(refused.data.status, refused.data.code, path=refused.data.errors[0].path)
        raise AssertionError("an unknown agent called")

    def list_agents(self, key: str) -> Refusal | None:
        try:
            api.AgentsApi(client(key)).list_agents()
        except api.ApiException as refused:
            assert isinstance(refused.data, api.ErrorBody) and refused.headers
            return Refusal(refused.data.status, refused.data.code, retry_after=refused.headers["Retry-After"])
        return None

    def event(self, sent: dict[str, Any]) -> Event:
        event = api.CallEvent.from_dict(sent).actual_instance
        assert event
        return Event(event.event, event.data.call_id, event.sequence)

    def delivered(self, body: dict[str, Any]) -> Event:
        event = api.WebhookEvent.from_dict(body).actual_instance
        assert event and not isinstance(event, api.WebhookTestEvent)
        return Event(event.event, event.data.call_id, event.data.sequence)


tell(Pydantic())
