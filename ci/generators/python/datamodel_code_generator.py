"""Uses the models of datamodel-code-generator with httpx."""

from typing import Any, TypeVar
from uuid import UUID

import httpx
from generated import models
from pydantic import AnyUrl, BaseModel
from story import KEY, UNKNOWN, URL, Event, Page, Refusal, tell

Model = TypeVar("Model", bound=BaseModel)


class Refused(Exception):
    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.retry_after = response.headers.get("Retry-After")
        self.error = models.ErrorBody.model_validate_json(response.content)


class Models:
    def __init__(self) -> None:
        self.http = httpx.Client(base_url=URL, headers={"Authorization": f"Bearer {KEY}"})

    def send(self, method: str, path: str, model: type[Model], body: BaseModel | None = None, **more: Any) -> Model:
        json = body and body.model_dump(mode="json", by_alias=True, exclude_unset=True)
        response = self.http.request(method, path, json=json, **more)
        if response.is_error:
            raise Refused(response)
        return model.model_validate_json(response.content)

    def connect(self, name: str, provider: str, settings: dict[str, Any]) -> UUID:
        body = models.CreateConnection(name=name, provider=models.ProviderName(provider), settings=settings)
        return self.send("POST", "/v1/connections", models.ConnectionWithWarnings, body).id

    def agent(self, connection: UUID) -> UUID:
        body = models.CreateAgent(
            name="Ava",
            instructions="Book a table.",
            stt=models.SttChoiceInput(connection_id=connection),
            llm=models.LlmChoiceInput(connection_id=connection),
            tts=models.TtsChoiceInput(connection_id=connection),
        )
        return self.send("POST", "/v1/agents", models.AgentWithWarnings, body).id

    def number(self, connection: UUID) -> UUID:
        body = models.CreateNumber(number="+12025550188", connection_id=connection)
        return self.send("POST", "/v1/numbers", models.PhoneNumberWithWarnings, body).id

    def webhook(self, url: str) -> str:
        return self.send("POST", "/v1/webhooks", models.WebhookWithSecretWithWarnings, models.CreateWebhook(url=AnyUrl(url))).secret

    def call(self, agent: UUID, to: str, batch: str, key: str) -> UUID:
        body = models.CreateCall(agent_id=agent, to=to, metadata=models.Metadata({"batch": batch}))
        return self.send("POST", "/v1/calls", models.CallWithWarnings, body, headers={"Idempotency-Key": key}).id

    def calls(self, batch: str, cursor: UUID | None) -> Page:
        status = [models.CallStatus.completed.value, models.CallStatus.failed.value]
        query = {"status": status, "metadata[batch]": batch, "limit": 1} | ({"cursor": str(cursor)} if cursor else {})
        page = self.send("GET", "/v1/calls", models.CallList, params=query)
        return Page([call.id for call in page.data], page.next_cursor)

    def greet(self, agent: UUID, text: str) -> None:
        body = models.UpdateAgent(greeting=models.GreetingInput(text=text))
        self.send("PATCH", f"/v1/agents/{agent}", models.AgentWithWarnings, body)

    def greeting(self, agent: UUID) -> tuple[str, str]:
        shown = self.send("GET", f"/v1/agents/{agent}", models.Agent)
        return shown.name, shown.greeting.text

    def call_unknown_agent(self) -> Refusal:
        try:
            self.call(UNKNOWN, "+12025550100", "none", "unknown")
        except Refused as refused:
            return Refusal(refused.status, refused.error.code.root, path=refused.error.errors[0].path)
        raise AssertionError("an unknown agent called")

    def list_agents(self, key: str) -> Refusal | None:
        try:
            self.send("GET", "/v1/agents", models.AgentList, headers={"Authorization": f"Bearer {key}"})
        except Refused as refused:
            return Refusal(refused.status, refused.error.code.root, retry_after=refused.retry_after)
        return None

    def event(self, sent: dict[str, Any]) -> Event:
        event = models.CallEvent.model_validate(sent).root
        return Event(event.event, event.data.call_id, event.sequence)

    def delivered(self, body: dict[str, Any]) -> Event:
        event = models.WebhookEvent.model_validate(body).root
        assert not isinstance(event, models.WebhookTestEvent)
        return Event(event.event, event.data.call_id, event.data.sequence)


tell(Models())
