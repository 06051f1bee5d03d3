"""What schemathesis does not check by itself, or cannot know."""

import json
import os
import re
import uuid

import requests
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import positive_data_acceptance, use_after_free

KEYS = json.loads(os.environ["SWITCHHOOK_TEST_KEYS"])

# Why the service may refuse with 422 what fits the schema: each depends on what exists, on the time, or on two fields at once,
# which a schema cannot say.
BEYOND_A_SCHEMA = [
    r"no such ",  # what a field refers to does not exist
    r"names a connection (to .*, which|that) is not ",
    r"is not one of your numbers",
    r"is one of your own numbers",
    r"is refused by this tenant's dial policy",
    r"cannot be registered: endpoint limit reached",
    r"cannot be created: limit of API keys reached",
    r"must all be sent again",
    r"is not the number of number_id",
    r"is in several connections",
    r"is required: you have (several numbers|no number to call from)",
    r"has no inbound_agent_id",
    r"its inbound agent no longer exists",
    r"is required by the agent",
    r"cannot be changed: create another connection",
    r"must be at most 90 days from now",  # the time
    r"must be earlier than `before`",  # two fields
    r"must be at most \d+ days earlier than `before`",
    r"must not be less than min_silence_ms",  # two fields
    r"must be absent where `to` is `web`",
    # Which versions an agent has, and the sum of several numbers.
    r"there is no version \d+ of this agent",
    r"a new agent has only version 1",
    r"repeats version ",
    r"must add up to 100 percent",
    r"is required if on_machine is leave_message",
    r"is a duplicate",  # two entries
    r"must contain words",  # which letters are, Unicode says
    r"must not contain control characters",  # of the label of an API key; the pattern of names would cost more bytes than it helps
    # What is wrong with the host, port or user of a URL.
    r"must be an absolute URL",
    r"must have a public host name",
    r"cannot be reached: ",
    r"must use port 443",
    r"must not contain a user name or password",
    r"must have neither \? nor #",
    r"must be an http or https address",
    r"must start with https://; the operator can allow",  # what the operator allows
    r"must be from -9223372036854775808 to 18446744073709551615",  # somewhere in an object of any form
]
# Which fields a tool of an agent has, and must have, depends on its type.
OF_TOOLS = re.compile(
    r"^(applies only to tools of type |must be 1 to 64 letters|must be an http or https address|must have 1 to 20 entries"
    r"|must be an HTTP header |is not allowed: the server describes its tools|must not have a variable in its host"
    r"|does not begin with settings.base_url|must not contain blanks, line breaks, control characters or backslashes)"
)
# Which ones there must be depends on the provider, and so does whether they are headers.
CREDENTIALS = re.compile(
    r"^(is required$|is masked: send the real secret$|is no name of an HTTP header|is a header that requests have"
    r"|must be visible |must be the key alone|must not be empty$|is there already)"
)


# Not every connection speaks, and what a provider accepts, it alone knows.
OF_PROVIDERS = ["no_voices", "provider_refused"]


def excused(error: dict) -> bool:
    if error["path"] == "realtime.connection_id" and error["message"] == "is required":
        return True  # A change of this model, of an agent that has none yet.
    if error["path"].startswith("credentials."):
        return bool(CREDENTIALS.match(error["message"]))
    if error["path"].startswith("analysis.schema"):
        return True  # It is a schema itself.
    if error["path"].startswith("tools."):
        schema = ".parameters" in error["path"]  # It is one itself.
        return schema or bool(OF_TOOLS.match(error["message"])) or beyond_a_schema(error)
    return beyond_a_schema(error)


def beyond_a_schema(error: dict) -> bool:
    return any(re.match(reason, error["message"]) for reason in BEYOND_A_SCHEMA)


THINGS = json.loads(os.environ["SWITCHHOOK_TEST_THINGS"])
REFERENCES = {
    "agent_id": "agents", "inbound_agent_id": "agents", "number_id": "numbers", "connection_id": "connections",
}


@schemathesis.hook
def map_body(ctx, body):
    """Half of the made-up ids that a body refers to become ids of things that exist, or hardly any would be accepted."""
    if isinstance(body, dict):
        for field, kind in REFERENCES.items():
            try:
                number = uuid.UUID(body.get(field)).int
            except (TypeError, ValueError, AttributeError):
                continue  # What does not fit the schema stays as it is.
            if number % 2:
                body = body | {field: THINGS[kind][number % len(THINGS[kind])]}
    return body


@schemathesis.check
def accepts_what_fits_the_schema(ctx, response, case):
    """The check positive_data_acceptance, which run.py turns off, but for what a schema cannot say."""
    body = response.json() if response.status_code == 422 else {}
    errors = body.get("errors", [])
    if errors and all(map(excused, errors)) or body.get("code") in OF_PROVIDERS:
        return None
    return positive_data_acceptance(ctx, response, case)


@schemathesis.check
def nothing_fails_but_providers(ctx, response, case):
    """The check not_a_server_error, which run.py turns off, but for providers, to which no name leads here, and schemas that a busy machine does not
    compile in time."""
    if response.status_code == 503 and response.json()["code"] in ("busy", "provider_unavailable"):
        return None
    return not_a_server_error(ctx, response, case)


@schemathesis.check
def what_was_deleted_is_gone(ctx, response, case):
    """The check use_after_free, which run.py turns off, but for keys: one that is revoked is shown, and says since when."""
    if case.operation.path.startswith("/v1/api-keys"):
        return None
    return use_after_free(ctx, response, case)


@schemathesis.check
def another_tenant_cannot_tell_it_from_nothing(ctx, response, case):
    """Whatever the other tenant does with an id that exists, it gets what it gets for one that does not."""
    path = case.operation.path
    owner = (response.request.headers.get("Authorization") or "").removeprefix("Bearer ")
    if case.method != "GET" or response.status_code != 200 or "{" not in path or owner not in KEYS.values():
        return
    stranger = next(key for key in KEYS.values() if key != owner)
    base = response.request.url.split("/v1/")[0]
    ids = case.path_parameters
    nothing = {name: str(uuid.uuid4()) if is_uuid(value) else value for name, value in ids.items()}
    for target, methods in case.operation.schema.raw_schema["paths"].items():
        if not (target == path or target.startswith(path + "/")) or re.findall(r"{(\w+)}", target) != list(ids):
            continue
        for method in methods:
            answers = [ask(method, base + target.format(**which), stranger) for which in (ids, nothing)]
            assert answers[0][0] == 404, f"{method} {target} with another tenant's id: {answers[0]}"
            assert answers[0] == answers[1], f"{method} {target}: {answers[0]} for another's, {answers[1]} for none"


def is_uuid(value) -> bool:
    try:
        return bool(uuid.UUID(str(value)))
    except ValueError:
        return False


def ask(method: str, url: str, key: str) -> tuple:
    answer = requests.request(method, url, headers={"Authorization": f"Bearer {key}"}, json={}, timeout=40)
    body = re.sub(rb'"request_id":"[^"]*"', b"", answer.content)
    return answer.status_code, answer.headers["Content-Type"], answer.headers.get("Allow"), body


@schemathesis.deserializer("audio/wav")
def wav(ctx, response):
    """A recording is not JSON; a schema has nothing to say about it."""
    return response.content.decode("latin-1")


@schemathesis.deserializer("text/event-stream")
def event_stream(ctx, response):
    return response.text
