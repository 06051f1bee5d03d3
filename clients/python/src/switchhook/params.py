"""What the service takes.

Written by generate.py from docs/openapi.json: do not edit.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired


class AgentLimitsInput(TypedDict):
    """
    Call time limits.
    """

    max_duration_seconds: NotRequired[int | None]
    """
    Maximum duration of the conversation. Default: `1800`.
    """
    ring_timeout_seconds: NotRequired[int | None]
    """
    Ring timeout. Default: `30`.
    """


class AgentVariableInput(TypedDict):
    """
    A call variable, used as `{{name}}`.
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
    JSON Schema of `outcome`; without one, the provider picks the facts. Without schema and summary, there is no analysis.
    """
    summary: NotRequired[bool | None]
    """
    Whether to write a summary. Default: `true`.
    """


class AnsweringMachineInput(TypedDict):
    """
    Answering machine handling.
    """

    message: NotRequired[str | None]
    """
    Message after the beep, for `leave_message`.
    """
    mode: NotRequired[Literal["off", "detect"] | str | None]
    """
    Whether to detect answering machines. Default: `"off"`.
    """
    on_machine: NotRequired[Literal["hangup", "leave_message"] | str | None]
    """
    Action when a machine answers. Default: `"hangup"`.
    """


CallAddress: TypeAlias = str
"""
Phone number, SIP address or `web`. Commas separate values: addresses with a comma cannot be found.
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
    Maximum duration of the conversation.
    """
    ring_timeout_seconds: NotRequired[int | None]
    """
    Ring timeout.
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
    Concurrent calls; `null` for no limit.
    """


class CreateAgent(TypedDict):
    """
    An agent to create.
    """

    analysis: NotRequired[AnalysisSettingsInput | None]
    answering_machine: NotRequired[AnsweringMachineInput | None]
    dtmf: NotRequired[DtmfInput | None]
    """
    DTMF from the caller.
    """
    greeting: NotRequired[GreetingInput | None]
    instructions: str
    """
    System prompt; `{{variable}}` is replaced.
    """
    interruption: NotRequired[InterruptionInput | None]
    language: NotRequired[str | None]
    """
    Spoken language (BCP 47).
    """
    limits: NotRequired[AgentLimitsInput | None]
    llm: NotRequired[LlmChoiceInput | None]
    """
    Language model; a demo script if absent.
    """
    name: str
    """
    Unique per tenant.
    """
    privacy: NotRequired[PrivacyInput | None]
    realtime: NotRequired[RealtimeChoiceInput | None]
    """
    Speech-to-speech model in place of `stt`, `llm` and `tts`; `llm` then only analyses the call, `tts` only bridges waits.
    """
    recording: NotRequired[RecordingInput | None]
    silence: NotRequired[SilenceInput | None]
    stt: NotRequired[SttChoiceInput | None]
    """
    Speech-to-text; local if absent.
    """
    tools: NotRequired[list[EndCallToolInput | HttpToolInput | McpToolInput | SendDtmfToolInput | TransferToolInput] | None]
    """
    Tools for the model.
    """
    traffic: NotRequired[list[TrafficItem] | None]
    tts: NotRequired[TtsChoiceInput | None]
    """
    Text-to-speech; local if absent.
    """
    turn_taking: NotRequired[TurnTakingInput | None]
    variables: NotRequired[dict[str, Any] | None]
    """
    Variables that calls can or must set; at most 16 KiB of JSON.
    """


class CreateApiKey(TypedDict):
    """
    A key to create.
    """

    expires_in_days: NotRequired[int | None]
    """
    Days until it expires; never if absent.
    """
    name: NotRequired[str | None]
    """
    Label.
    """


class CreateCall(TypedDict):
    """
    A call to place.
    """

    agent_id: str
    """
    Agent that holds the conversation.
    """
    agent_version: NotRequired[int | None]
    """
    Defaults to the version that `traffic` selects, or the newest.
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
    Your own data, returned in the call and its events; at most 16 KiB of JSON.
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
    Overrides the agent's ring timeout.
    """
    schedule_at: NotRequired[datetime | str | None]
    """
    When to dial, at most 90 days ahead; now if absent. Until then the call is queued and counts as concurrent.
    """
    to: str
    """
    E.164 number, `sip:` URI, or `web` for a browser call.
    """
    variables: NotRequired[dict[str, str | int | float | bool | None] | None]
    """
    Values for `{{name}}`; at most 16 KiB of JSON. Send long ids as strings.
    """
    from_: NotRequired[str | None]
    """
    One of the tenant's numbers. Defaults to `number_id`, or the only number that can dial.
    """


class CreateConnection(TypedDict):
    """
    A connection to create.
    """

    credentials: NotRequired[dict[str, str | None] | None]
    """
    Provider-specific secrets. Write-only.
    """
    limits: NotRequired[ConnectionLimitsInput | None]
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
    settings: NotRequired[dict[str, Any] | None]
    """
    Provider-specific settings without secrets; all providers support `base_url`.
    """


class CreateNumber(TypedDict):
    """
    A number to add.
    """

    configure_carrier: NotRequired[bool | None]
    """
    Configure the carrier to send calls here; a failure is reported in `warnings`. Default: `false`.
    """
    connection_id: str
    """
    Carrier connection.
    """
    inbound_agent_id: NotRequired[str | None]
    """
    Agent that answers; `null` rejects inbound calls.
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
    A voice sample to create.
    """

    language: NotRequired[str | None]
    """
    Language (BCP 47); default `en-US`.
    """
    model: NotRequired[str | None]
    """
    Model name; defaults to the connection's.
    """
    speed: NotRequired[float | None]
    """
    Speaking rate; default 1.
    """
    text: NotRequired[str | None]
    """
    Defaults to an English greeting.
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
    Events to send; all if empty or absent.
    """
    url: str
    """
    Public HTTPS URL; `http://` only if the operator allows it.
    """


class DtmfInput(TypedDict):
    """
    Collects the caller's keys into one input, up to the finish key, a pause or the maximum length.
    """

    digit_timeout_ms: NotRequired[int | None]
    """
    Pause after a key that ends the input. Default: `2000`.
    """
    enabled: NotRequired[bool | None]
    """
    Whether keys are processed. Default: `true`.
    """
    finish_on_key: NotRequired[str | None]
    """
    Key that ends an input and is not part of it; `null` for none. Default: `"#"`.
    """
    interrupt: NotRequired[bool | None]
    """
    Whether a key stops the agent, if the caller may interrupt. Default: `true`.
    """
    max_digits: NotRequired[int | None]
    """
    Number of keys that ends the input. Default: `32`.
    """


class EndCallToolInput(TypedDict):
    """
    Ends the call once the caller has heard the goodbye. Every agent has it; list it to change its description.
    """

    description: NotRequired[str | None]
    """
    When the model should use it.
    """
    type: Literal["end_call"]


class GreetingInput(TypedDict):
    """
    Start of the conversation.
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


class HttpToolInput(TypedDict):
    """
    Calls a web service and gives the response to the model.
    """

    connection_id: NotRequired[str | None]
    """
    An `http` connection whose credentials are sent as headers.
    """
    description: NotRequired[str | None]
    """
    When the model should use it.
    """
    filler: NotRequired[str | None]
    """
    Spoken while the tool runs, unless the model already spoke.
    """
    headers: NotRequired[dict[str, Any] | None]
    """
    Extra headers; `{{variable}}` is replaced. Visible to anyone who can read the agent: keep secrets in a connection.
    """
    method: NotRequired[Literal["GET", "POST"] | str | None]
    name: str
    """
    Its name for the model; not the type of a tool.
    """
    parameters: NotRequired[dict[str, Any] | None]
    """
    JSON Schema of the arguments, of type `object`; none if absent.
    """
    timeout_seconds: NotRequired[int | None]
    """
    Default 8.
    """
    type: Literal["http"]
    url: str
    """
    `{{variable}}` is replaced, percent-encoded.
    """


class InterruptionInput(TypedDict):
    """
    Caller interruptions.
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
    Speech that interrupts; shorter noises only pause the agent. Default: `500`.
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
    Address the person signs in with.
    """
    role: NotRequired[Literal["owner", "member", "viewer"] | str | None]
    """
    Defaults to `member`.
    """


class LlmChoiceInput(TypedDict):
    """
    A language model.
    """

    connection_id: NotRequired[str | None]
    """
    `null` for a demo script, which ignores the instructions.
    """
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    """
    Tried in order.
    """
    hedge: NotRequired[bool | None]
    """
    Send a second request, to the next or the same model, if the first is slower than usual to respond. The response that starts first is
    spoken; both are charged.
    """
    max_tokens: NotRequired[int | None]
    """
    Maximum tokens per response.
    """
    model: NotRequired[str | None]
    temperature: NotRequired[float | None]
    """
    Sampling temperature.
    """


class McpToolInput(TypedDict):
    """
    Adds the tools of an MCP server, over streamable HTTP. The server describes them.
    """

    connection_id: NotRequired[str | None]
    """
    An `http` connection whose credentials are sent as headers.
    """
    filler: NotRequired[str | None]
    """
    Spoken while the tool runs, unless the model already spoke.
    """
    headers: NotRequired[dict[str, Any] | None]
    """
    As for `http`.
    """
    name: NotRequired[str | None]
    """
    Prefix for names already taken; defaults to the server's host.
    """
    timeout_seconds: NotRequired[int | None]
    """
    Default 8.
    """
    tools: NotRequired[list[str] | None]
    """
    Tools to use; all if empty.
    """
    type: Literal["mcp"]
    url: str
    """
    `{{variable}}` is replaced, percent-encoded.
    """


class PrivacyInput(TypedDict):
    """
    Redaction and retention.
    """

    redact: NotRequired[list[Literal["card_numbers", "phone_numbers", "email_addresses", "digits", "dtmf"] | str] | None]
    """
    What to redact from everything stored about a conversation, and from its events. The agent hears the original; recordings keep it. Default: `[]`.
    """
    retention_days: NotRequired[int | None]
    """
    Days after the call until its words are deleted; `null` keeps them.
    """


class ProviderFallbackInput(TypedDict):
    """
    A fallback provider.
    """

    connection_id: str
    """
    The connection.
    """
    model: NotRequired[str | None]
    voice: NotRequired[str | None]
    """
    Voice name, for text-to-speech.
    """


class RealtimeChanges(TypedDict):
    """
    A speech-to-speech model.
    """

    connection_id: NotRequired[str]
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    model: NotRequired[str | None]
    voice: NotRequired[str | None]


class RealtimeChoiceInput(TypedDict):
    """
    A speech-to-speech model.
    """

    connection_id: str
    """
    The connection.
    """
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    """
    Tried in order if the previous one is unreachable, keeps disconnecting or understands nothing.
    """
    model: NotRequired[str | None]
    voice: NotRequired[str | None]


class RecordingInput(TypedDict):
    """
    Call recording.
    """

    enabled: NotRequired[bool | None]
    """
    Keep a stereo WAV: caller left, agent right. Default: `false`.
    """


class Say(TypedDict):
    """
    Text for the agent to say.
    """

    interrupt: NotRequired[bool | None]
    """
    Drop the agent's current response and speak at once, instead of after it. The agent never talks over the caller.
    """
    text: str
    """
    Text to say; at least one word.
    """


class SendDtmf(TypedDict):
    """
    DTMF digits to send.
    """

    digits: str
    """
    Keys to send; `w` pauses for half a second.
    """


class SendDtmfToolInput(TypedDict):
    """
    Sends DTMF.
    """

    description: NotRequired[str | None]
    """
    When the model should use it.
    """
    type: Literal["send_dtmf"]


class SilenceInput(TypedDict):
    """
    Caller silence.
    """

    hangup_after_seconds: NotRequired[int | None]
    """
    Silence after which the agent hangs up; `null` for never. Default: `30`.
    """
    max_reprompts: NotRequired[int | None]
    """
    Maximum number of reprompts. Default: `2`.
    """
    reprompt_after_seconds: NotRequired[int | None]
    """
    Silence after which the agent reprompts. Default: `8`.
    """


class SimulateCall(TypedDict):
    """
    A call to simulate.
    """

    to: str
    """
    Number of a simulator connection, with an `inbound_agent_id`.
    """
    from_: str
    """
    Caller's number. Selects the simulated behaviour, as `to` does for outbound calls.
    """


StatisticsInterval: TypeAlias = Literal["hour", "day"] | str


class SttChoiceInput(TypedDict):
    """
    A speech-to-text provider.
    """

    connection_id: NotRequired[str | None]
    """
    `null` for local speech-to-text.
    """
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    """
    Tried in order.
    """
    keyterms: NotRequired[list[str] | None]
    """
    Words to expect.
    """
    model: NotRequired[str | None]


class TrafficItem(TypedDict):
    percent: int
    version: int


class TransferCall(TypedDict):
    """
    The transfer target.
    """

    to: str
    """
    E.164 number or `sip:` URI.
    """


class TransferDestinationInput(TypedDict):
    """
    A transfer target.
    """

    name: str
    """
    Name for the model.
    """
    number: str
    """
    E.164 number or `sip:` URI.
    """


class TransferToolInput(TypedDict):
    """
    Transfers the caller once they have heard the agent's words.
    """

    description: NotRequired[str | None]
    """
    When the model should use it.
    """
    destinations: list[TransferDestinationInput]
    """
    The targets.
    """
    type: Literal["transfer"]


class TtsChoiceInput(TypedDict):
    """
    A text-to-speech provider.
    """

    connection_id: NotRequired[str | None]
    """
    `null` for local text-to-speech.
    """
    fallbacks: NotRequired[list[ProviderFallbackInput] | None]
    """
    Tried in order.
    """
    model: NotRequired[str | None]
    speed: NotRequired[float | None]
    """
    Speaking rate; 1 is normal.
    """
    voice: NotRequired[str | None]


class TurnTakingInput(TypedDict):
    """
    End-of-turn detection.
    """

    eagerness: NotRequired[Literal["low", "normal", "high"] | str | None]
    """
    How soon the agent responds: `low` waits half as long again, `high` a third less. Default: `"normal"`.
    """
    max_silence_ms: NotRequired[int | None]
    """
    Silence that always ends a turn. Default: `2000`.
    """
    min_silence_ms: NotRequired[int | None]
    """
    Silence that ends a turn after a complete sentence. Default: `400`.
    """
    speculative: NotRequired[bool | None]
    """
    Ask the model when the turn has probably ended; discard the response if the caller continues. Default: `true`.
    """


class UpdateAgent(TypedDict):
    """
    Changes to merge, object by object; `null` restores a default. `CreateAgent` describes the fields.
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
    tools: NotRequired[list[EndCallToolInput | HttpToolInput | McpToolInput | SendDtmfToolInput | TransferToolInput] | None]
    traffic: NotRequired[list[TrafficItem] | None]
    tts: NotRequired[TtsChoiceInput | None]
    turn_taking: NotRequired[TurnTakingInput | None]
    variables: NotRequired[dict[str, Any] | None]


class UpdateConnection(TypedDict):
    """
    Changes to merge; `null` removes a value.
    """

    credentials: NotRequired[dict[str, str | None] | None]
    """
    Credentials to set, or `null` to remove one. Masked values sent back have no effect.
    """
    limits: NotRequired[ConnectionLimitsInput | None]
    name: NotRequired[str]
    """
    Unique per tenant.
    """
    settings: NotRequired[dict[str, Any] | None]
    """
    Settings to set, or `null` to remove one.
    """


class UpdateNumber(TypedDict):
    """
    Changes to merge; `null` clears a field.
    """

    configure_carrier: NotRequired[bool | None]
    """
    Configure the carrier to send calls here; a failure is reported in `warnings`.
    """
    connection_id: NotRequired[str]
    """
    Carrier connection.
    """
    inbound_agent_id: NotRequired[str | None]
    """
    Agent that answers; `null` rejects inbound calls.
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
    Changes to merge; `null` restores a default.
    """

    enabled: NotRequired[bool | None]
    """
    Whether events are sent. Disabling cancels pending deliveries.
    """
    events: NotRequired[
        list[
            Literal["call.queued", "call.dialing", "call.in_progress", "call.completed", "call.failed", "call.received", "carrier.hangup"]
            | str
        ]
        | None
    ]
    """
    Events to send; all if empty.
    """
    url: NotRequired[str]
    """
    Public HTTPS URL; `http://` only if the operator allows it.
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
