"""What the service takes.

Written by generate.py from docs/openapi.json: do not edit.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired


class AgentLimitsInput(TypedDict):
    """
    Maximum ring time and duration of a call.
    """

    max_duration_seconds: NotRequired[int | None]
    """
    Maximum duration of the conversation, in seconds, 10 to 14400. Default: `1800`.
    """
    ring_timeout_seconds: NotRequired[int | None]
    """
    Ring timeout, in seconds, 5 to 120. Default: `30`.
    """


class AgentVariableInput(TypedDict):
    """
    A variable of a call, used as `{{name}}` in texts.
    """

    default: NotRequired[str | None]
    """
    Used if a call does not set it.
    """
    required: NotRequired[bool | None]
    """
    Whether a call must set it. Default: `false`.
    """


class AnalysisSettingsInput(TypedDict):
    """
    Post-call analysis.
    """

    schema: NotRequired[dict[str, Any] | None]
    """
    JSON Schema of `outcome`. Without a schema the provider chooses the facts to extract; without a summary either, there
    is no post-call analysis.
    """
    summary: NotRequired[bool | None]
    """
    Whether the language model writes a summary. Default: `true`.
    """


class AnsweringMachineInput(TypedDict):
    """
    How to handle answering machines.
    """

    message: NotRequired[str | None]
    """
    The message after the beep, for `leave_message`.
    """
    mode: NotRequired[Literal["off", "detect"] | str | None]
    """
    Whether to detect machines. Default: `"off"`.
    """
    on_machine: NotRequired[Literal["hangup", "leave_message"] | str | None]
    """
    What to do when a machine answers. Default: `"hangup"`.
    """


CallAddress: TypeAlias = str
"""
A phone number or SIP address, or `web`. Commas separate values, so an address with a comma cannot be found.
"""


CallDirection: TypeAlias = Literal["inbound", "outbound", "web"] | str


CallEndReason: TypeAlias = (
    Literal["caller_hangup", "agent_hangup", "transferred", "api_hangup", "canceled", "voicemail", "silence", "max_duration", "drained"]
    | str
)


CallFailure: TypeAlias = (
    Literal[
        "carrier_unauthorized",
        "carrier_error",
        "busy",
        "no_answer",
        "rejected",
        "invalid_number",
        "no_media",
        "config_error",
        "provider_timeout",
        "pipeline_error",
        "unknown_error",
    ]
    | str
)


class CallLimitOverrides(TypedDict):
    """
    Overrides for the agent's limits.
    """

    max_duration_seconds: NotRequired[int | None]
    """
    Maximum duration of the call, in seconds.
    """
    ring_timeout_seconds: NotRequired[int | None]
    """
    Ring timeout, in seconds.
    """


class CallOverrides(TypedDict):
    """
    Agent settings to override for one call.
    """

    greeting: NotRequired[str | GreetingText | None]
    """
    The greeting's text.
    """
    instructions: NotRequired[str | None]
    """
    The complete instructions.
    """
    limits: NotRequired[CallLimitOverrides | None]
    """
    Limits to override.
    """


CallStatus: TypeAlias = Literal["queued", "dialing", "in_progress", "completed", "failed"] | str


class ConnectionLimitsInput(TypedDict):
    """
    Limits of a connection.
    """

    max_concurrent: NotRequired[int | None]
    """
    Concurrent calls; `null` is no limit.
    """


class CreateAgent(TypedDict):
    """
    An agent to create. Only `name` and `instructions` are required.
    """

    analysis: NotRequired[AnalysisSettingsInput | None]
    """
    Post-call analysis.
    """
    answering_machine: NotRequired[AnsweringMachineInput | None]
    """
    How to handle answering machines.
    """
    dtmf: NotRequired[DtmfInput | None]
    """
    How to handle DTMF from the caller.
    """
    greeting: NotRequired[GreetingInput | None]
    """
    How the conversation starts.
    """
    instructions: str
    """
    System prompt of the language model; `{{variable}}` is replaced by the call's variables.
    """
    interruption: NotRequired[InterruptionInput | None]
    """
    What happens when the caller interrupts.
    """
    language: NotRequired[str | None]
    """
    BCP 47 tag of the spoken language.
    """
    limits: NotRequired[AgentLimitsInput | None]
    """
    Maximum ring time and duration of a call.
    """
    llm: NotRequired[LlmChoiceInput | None]
    """
    Language model; the scripted dialogue if absent.
    """
    name: str
    """
    Unique per tenant.
    """
    privacy: NotRequired[PrivacyInput | None]
    """
    Redaction and retention of a call's words.
    """
    realtime: NotRequired[RealtimeChoiceInput | None]
    """
    A speech-to-speech model that replaces `stt`, `llm` and `tts`. `llm` then only analyses the call, and `tts` only bridges
    waits.
    """
    recording: NotRequired[RecordingInput | None]
    """
    Whether calls are recorded.
    """
    silence: NotRequired[SilenceInput | None]
    """
    What happens when the caller is silent.
    """
    stt: NotRequired[SttChoiceInput | None]
    """
    Speech-to-text; local if absent.
    """
    tools: NotRequired[list[ToolInput] | None]
    """
    Tools that the model can call.
    """
    traffic: NotRequired[list[TrafficItem] | None]
    tts: NotRequired[TtsChoiceInput | None]
    """
    Text-to-speech; local if absent.
    """
    turn_taking: NotRequired[TurnTakingInput | None]
    """
    When a caller's turn ends.
    """
    variables: NotRequired[dict[str, Any] | None]
    """
    Variables that calls can or must set; at most 50, and 16 KiB of JSON.
    """


class CreateApiKey(TypedDict):
    """
    A key to create.
    """

    expires_in_days: NotRequired[int | None]
    """
    Days until it expires; it never expires if absent.
    """
    name: NotRequired[str | None]
    """
    A label to recognise it by.
    """


class CreateCall(TypedDict):
    """
    A call to place.
    """

    agent_id: str
    """
    The agent that holds the conversation.
    """
    agent_version: NotRequired[int | None]
    """
    The agent's version. Defaults to the one that its `traffic` selects, or the newest.
    """
    answering_machine: NotRequired[AnsweringMachineInput | None]
    """
    Overrides the agent's answering machine settings.
    """
    dry_run: NotRequired[bool | None]
    """
    Validate everything, but place no call.
    """
    metadata: NotRequired[dict[str, Any] | None]
    """
    Your own data, returned in the call and its events; at most 50 keys and 16 KiB of JSON.
    """
    number_id: NotRequired[str | None]
    """
    One of the tenant's numbers.
    """
    overrides: NotRequired[CallOverrides | None]
    """
    Overrides parts of the agent for this call.
    """
    ring_timeout_seconds: NotRequired[int | None]
    """
    Overrides the agent's ring timeout, in seconds, 5 to 120.
    """
    schedule_at: NotRequired[datetime | str | None]
    """
    When to dial, at most 90 days ahead; now if absent. Until then the call is queued and counts towards the concurrent calls.
    """
    to: str
    """
    The callee: a number in E.164 form, a `sip:` URI, or `web` for somebody who talks in a browser.
    """
    variables: NotRequired[dict[str, str | int | float | bool | None] | None]
    """
    Values for `{{name}}` in the agent's texts; at most 50 keys and 16 KiB of JSON. Send long ids as strings.
    """
    from_: NotRequired[str | None]
    """
    One of the tenant's numbers. Defaults to `number_id`, or to the only number that can dial.
    """


class CreateConnection(TypedDict):
    """
    A connection to create.
    """

    credentials: NotRequired[dict[str, str | None] | None]
    """
    Secrets under the provider's names. They are write-only.
    """
    limits: NotRequired[ConnectionLimitsInput | None]
    """
    Its limits.
    """
    name: str
    """
    Unique per tenant.
    """
    provider: (
        Literal[
            "simulator",
            "twilio",
            "signalwire",
            "telnyx",
            "plivo",
            "vonage",
            "sip",
            "local",
            "scripted",
            "openai",
            "anthropic",
            "gemini",
            "deepgram",
            "assemblyai",
            "elevenlabs",
            "cartesia",
            "http",
        ]
        | str
    )
    """
    The carrier or provider.
    """
    settings: NotRequired[dict[str, Any] | None]
    """
    Settings that are not secret, under the provider's names; every provider supports `base_url`.
    """


class CreateNumber(TypedDict):
    """
    A number to add.
    """

    configure_carrier: NotRequired[bool | None]
    """
    Configure the carrier to send the number's calls here. If that fails, the response has a warning. Default: `false`.
    """
    connection_id: str
    """
    Its carrier connection.
    """
    inbound_agent_id: NotRequired[str | None]
    """
    The agent that answers it; `null` rejects inbound calls.
    """
    label: NotRequired[str | None]
    """
    Display name.
    """
    number: str
    """
    E.164; unique per connection.
    """


class CreateVoiceSample(TypedDict):
    """
    What a voice says in its sample.
    """

    language: NotRequired[str | None]
    """
    Its language, as a BCP 47 tag; default `en-US`.
    """
    model: NotRequired[str | None]
    """
    The provider's model; default: the connection's.
    """
    speed: NotRequired[float | None]
    """
    Speaking rate; default 1, the voice's own.
    """
    text: NotRequired[str | None]
    """
    The text; default: a greeting in English.
    """


class CreateWebhook(TypedDict):
    """
    A webhook endpoint to register.
    """

    enabled: NotRequired[bool | None]
    """
    Whether events are sent; default `true`.
    """
    events: NotRequired[
        list[
            Literal["call.queued", "call.dialing", "call.in_progress", "call.completed", "call.failed", "call.received", "carrier.hangup"]
            | str
        ]
        | None
    ]
    """
    The events to send; all if empty or absent.
    """
    url: str
    """
    A public HTTPS URL that receives the events; `http://` only where the operator allows it.
    """


class DtmfInput(TypedDict):
    """
    How the caller's keys are collected into one input, which ends with the finish key, after a pause, or at its maximum
    length.
    """

    digit_timeout_ms: NotRequired[int | None]
    """
    Pause after a key that ends the input, in milliseconds, 500 to 20000. Default: `2000`.
    """
    enabled: NotRequired[bool | None]
    """
    Whether keys are processed. Default: `true`.
    """
    finish_on_key: NotRequired[str | None]
    """
    The key that ends an input and is not part of it: `0` to `9`, `*`, `#`, `A` to `D`, or `null` for none. Default: `"#"`.
    """
    interrupt: NotRequired[bool | None]
    """
    Whether a key stops the agent's speech, if the caller may interrupt it. Default: `true`.
    """
    max_digits: NotRequired[int | None]
    """
    Number of keys that ends the input, 1 to 64. Default: `32`.
    """


class GreetingInput(TypedDict):
    """
    The start of the conversation.
    """

    interruptible: NotRequired[bool | None]
    """
    Whether the caller can interrupt it. Default: `true`.
    """
    mode: NotRequired[Literal["speak", "wait", "generate"] | str | None]
    """
    Who speaks first. Default: `"speak"`.
    """
    text: NotRequired[str | None]
    """
    The text for mode `speak`. Default: `"Hello, how can I help you?"`.
    """


class GreetingText(TypedDict):
    """
    A greeting's text, as in an agent.
    """

    text: str
    """
    Its text.
    """


class InterruptionInput(TypedDict):
    """
    What happens when the caller interrupts.
    """

    backchannels: NotRequired[list[str] | None]
    """
    Words that do not interrupt on their own. Default: `["mm-hmm","mhm","uh-huh","mm","hmm","okay","ok","right","yeah","yes","sure","i see"]`.
    """
    enabled: NotRequired[bool | None]
    """
    Whether the caller can interrupt. Default: `true`.
    """
    min_speech_ms: NotRequired[int | None]
    """
    Speech that interrupts, in milliseconds, 50 to 5000; shorter noises only pause the agent. Default: `500`.
    """
    min_words: NotRequired[int | None]
    """
    Recognised words that interrupt before `min_speech_ms`; 0 ignores words. Default: `2`.
    """


class InvitePerson(TypedDict):
    """
    A person to invite.
    """

    email: str
    """
    The address with which the person signs in.
    """
    role: NotRequired[Literal["owner", "member", "viewer"] | str | None]
    """
    The role; `member` if absent.
    """


class LlmChoiceInput(TypedDict):
    """
    A language model and its settings.
    """

    connection_id: NotRequired[str | None]
    """
    The connection; `null` is a demo script, which does not follow the instructions.
    """
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    """
    Fallbacks, tried in order.
    """
    hedge: NotRequired[bool | None]
    """
    Send a second request, to the next model or the same one, when the first has not started its response in its usual
    time. The first response to start is spoken; both are charged.
    """
    max_tokens: NotRequired[int | None]
    """
    Maximum length of a response, in tokens.
    """
    model: NotRequired[str | None]
    """
    The provider's model name.
    """
    temperature: NotRequired[float | None]
    """
    Sampling temperature, 0 to 2.
    """


class PrivacyInput(TypedDict):
    """
    Redaction and retention of a call's words.
    """

    redact: NotRequired[list[Literal["card_numbers", "phone_numbers", "email_addresses", "digits", "dtmf"] | str] | None]
    """
    What to redact from everything stored about a conversation, and from its events. The agent hears the original; recordings keep it. Default: `[]`.
    """
    retention_days: NotRequired[int | None]
    """
    Days after the end of a call until its words are deleted, 1 to 3650; `null` keeps them.
    """


class ProviderFallbackInput(TypedDict):
    """
    A provider to try when the previous one fails.
    """

    connection_id: str
    """
    The connection.
    """
    model: NotRequired[str | None]
    """
    The provider's model name.
    """
    voice: NotRequired[str | None]
    """
    The provider's voice name, for text-to-speech.
    """


class RealtimeChanges(TypedDict):
    """
    A speech-to-speech model and its settings.
    """

    connection_id: NotRequired[str]
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    model: NotRequired[str | None]
    voice: NotRequired[str | None]


class RealtimeChoiceInput(TypedDict):
    """
    A speech-to-speech model and its settings.
    """

    connection_id: str
    """
    The connection.
    """
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    """
    Fallbacks, tried in order when the previous one cannot be reached, disconnects repeatedly, or understands nothing.
    """
    model: NotRequired[str | None]
    """
    The provider's model name.
    """
    voice: NotRequired[str | None]
    """
    The provider's voice name.
    """


class RecordingInput(TypedDict):
    """
    Whether calls are recorded.
    """

    enabled: NotRequired[bool | None]
    """
    Keep a stereo WAV: caller left, agent right. Default: `false`.
    """


class Say(TypedDict):
    """
    Words for the agent to say.
    """

    interrupt: NotRequired[bool | None]
    """
    Say it at once and drop the agent's current response. Otherwise it follows that response. The agent never talks over
    the caller.
    """
    text: str
    """
    The text; at least one word.
    """


class SendDtmf(TypedDict):
    """
    DTMF digits to send.
    """

    digits: str
    """
    `0` to `9`, `*`, `#`, `A` to `D`; `w` is a pause of half a second.
    """


class SilenceInput(TypedDict):
    """
    What happens when the caller is silent.
    """

    hangup_after_seconds: NotRequired[int | None]
    """
    Caller silence after which the agent hangs up, in seconds, 5 to 3600; `null` is never. Default: `30`.
    """
    max_reprompts: NotRequired[int | None]
    """
    Maximum number of reprompts, 0 to 10. Default: `2`.
    """
    reprompt_after_seconds: NotRequired[int | None]
    """
    Silence after which the agent reprompts, in seconds, 2 to 600. Default: `8`.
    """


class SimulateCall(TypedDict):
    """
    A call to simulate.
    """

    to: str
    """
    One of the tenant's numbers in a simulator connection, with an `inbound_agent_id`.
    """
    from_: str
    """
    The caller's number. It selects the caller's behaviour, like the callee's number of an outbound call.
    """


StatisticsInterval: TypeAlias = Literal["hour", "day"] | str


class SttChoiceInput(TypedDict):
    """
    A speech-to-text provider and its settings.
    """

    connection_id: NotRequired[str | None]
    """
    The connection; `null` is local speech-to-text.
    """
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    """
    Fallbacks, tried in order.
    """
    keyterms: NotRequired[list[str] | None]
    """
    Words that speech-to-text should expect.
    """
    model: NotRequired[str | None]
    """
    The provider's model name.
    """


class ToolInput(TypedDict):
    """
    A tool that the model can call. Its `type` decides which fields apply.
    """

    connection_id: NotRequired[str | None]
    """
    For `http` and `mcp`: an `http` connection whose credentials are sent as headers. They are write-only.
    """
    description: NotRequired[str | None]
    """
    Tells the model when to use it. Tools of an `mcp` server have their own descriptions.
    """
    destinations: NotRequired[list[TransferDestinationInput] | None]
    """
    For `transfer`: the possible targets.
    """
    filler: NotRequired[str | None]
    """
    For `http` and `mcp`: spoken while the tool runs, unless the model has already said something.
    """
    headers: NotRequired[dict[str, Any] | None]
    """
    For `http` and `mcp`: additional headers, in which `{{variable}}` is replaced. Anyone who can read the agent can read
    them; keep secrets in a connection.
    """
    method: NotRequired[Literal["GET", "POST"] | str | None]
    """
    For `http`: `POST` sends the arguments as a JSON body, `GET` as query parameters.
    """
    name: NotRequired[str | None]
    """
    For `http`: the tool's name; letters, digits, `_` and `-`. For `mcp`: the prefix for tool names that are already taken;
    defaults to the server's host.
    """
    parameters: NotRequired[dict[str, Any] | None]
    """
    For `http`: JSON Schema of its arguments, an object; no arguments if absent.
    """
    timeout_seconds: NotRequired[int | None]
    """
    For `http` and `mcp`: timeout in seconds, 1 to 10; default 8.
    """
    tools: NotRequired[list[str] | None]
    """
    For `mcp`: names of the server's tools to use; all if empty.
    """
    type: Literal["end_call", "http", "mcp", "transfer", "send_dtmf"] | str
    """
    Its type.
    """
    url: NotRequired[str | None]
    """
    For `http` and `mcp`: the URL. `{{variable}}` is replaced by the call's variable, percent-encoded.
    """


class TrafficItem(TypedDict):
    percent: int
    version: int


class TransferCall(TypedDict):
    """
    The transfer target.
    """

    to: str
    """
    A number in E.164 form, or a `sip:` URI.
    """


class TransferDestinationInput(TypedDict):
    """
    A transfer target.
    """

    name: str
    """
    The name that the model uses.
    """
    number: str
    """
    A number in E.164 form, or a `sip:` URI.
    """


class TtsChoiceInput(TypedDict):
    """
    A text-to-speech provider and its settings.
    """

    connection_id: NotRequired[str | None]
    """
    The connection; `null` is local text-to-speech.
    """
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    """
    Fallbacks, tried in order.
    """
    model: NotRequired[str | None]
    """
    The provider's model name.
    """
    speed: NotRequired[float | None]
    """
    Speaking rate, 0.5 to 2; 1 is the voice's normal rate.
    """
    voice: NotRequired[str | None]
    """
    The provider's voice name.
    """


class TurnTakingInput(TypedDict):
    """
    When a caller's turn ends.
    """

    eagerness: NotRequired[Literal["low", "normal", "high"] | str | None]
    """
    How soon the agent takes the turn: `low` waits half as long again, `high` a third less. Default: `"normal"`.
    """
    max_silence_ms: NotRequired[int | None]
    """
    Silence that ends a turn in any case, in milliseconds, 200 to 10000. Default: `2000`.
    """
    min_silence_ms: NotRequired[int | None]
    """
    Silence that ends a turn after a complete sentence, in milliseconds, 100 to 5000. Default: `400`.
    """
    speculative: NotRequired[bool | None]
    """
    Send the model request when the turn has probably ended, and discard the response if the caller continues. Default: `true`.
    """


class UpdateAgent(TypedDict):
    """
    Changes to merge into the agent, object by object. `null` restores a default. `CreateAgent` describes the fields.
    """

    analysis: NotRequired[AnalysisSettingsInput | None]
    answering_machine: NotRequired[AnsweringMachineInput | None]
    dtmf: NotRequired[DtmfInput | None]
    greeting: NotRequired[GreetingInput | None]
    instructions: NotRequired[str]
    interruption: NotRequired[InterruptionInput | None]
    language: NotRequired[str | None]
    limits: NotRequired[AgentLimitsInput | None]
    llm: NotRequired[LlmChoiceInput | None]
    name: NotRequired[str]
    privacy: NotRequired[PrivacyInput | None]
    realtime: NotRequired[RealtimeChanges | None]
    recording: NotRequired[RecordingInput | None]
    silence: NotRequired[SilenceInput | None]
    stt: NotRequired[SttChoiceInput | None]
    tools: NotRequired[list[ToolInput] | None]
    traffic: NotRequired[list[TrafficItem] | None]
    tts: NotRequired[TtsChoiceInput | None]
    turn_taking: NotRequired[TurnTakingInput | None]
    variables: NotRequired[dict[str, Any] | None]


class UpdateConnection(TypedDict):
    """
    Changes to merge into the connection; `null` removes.
    """

    credentials: NotRequired[dict[str, str | None] | None]
    """
    Credentials to set, or to remove with `null`. A masked value sent back unchanged has no effect.
    """
    limits: NotRequired[ConnectionLimitsInput | None]
    """
    Its limits.
    """
    name: NotRequired[str]
    """
    Unique per tenant.
    """
    settings: NotRequired[dict[str, Any] | None]
    """
    Settings to set, or to remove with `null`.
    """


class UpdateNumber(TypedDict):
    """
    Changes to merge into the number; `null` clears.
    """

    configure_carrier: NotRequired[bool | None]
    """
    Configure the carrier to send the number's calls here. If that fails, the response has a warning.
    """
    connection_id: NotRequired[str]
    """
    Its carrier connection.
    """
    inbound_agent_id: NotRequired[str | None]
    """
    The agent that answers it; `null` rejects inbound calls.
    """
    label: NotRequired[str | None]
    """
    Display name.
    """
    number: NotRequired[str]
    """
    E.164; unique per connection.
    """


class UpdatePerson(TypedDict):
    """
    Changes to a person.
    """

    role: NotRequired[Literal["owner", "member", "viewer"] | str]
    """
    The new role.
    """


class UpdateWebhook(TypedDict):
    """
    Changes to merge into the endpoint; `null` restores a default.
    """

    enabled: NotRequired[bool | None]
    """
    Whether events are sent. Disabling an endpoint cancels its pending deliveries.
    """
    events: NotRequired[
        list[
            Literal["call.queued", "call.dialing", "call.in_progress", "call.completed", "call.failed", "call.received", "carrier.hangup"]
            | str
        ]
        | None
    ]
    """
    The events to send; all if empty.
    """
    url: NotRequired[str]
    """
    A public HTTPS URL that receives the events; `http://` only where the operator allows it.
    """


WebhookDeliveryEvent: TypeAlias = (
    Literal[
        "call.queued",
        "call.dialing",
        "call.in_progress",
        "call.completed",
        "call.failed",
        "call.received",
        "carrier.hangup",
        "webhook.test",
    ]
    | str
)


WebhookDeliveryState: TypeAlias = Literal["pending", "sending", "succeeded", "failed", "canceled"] | str
