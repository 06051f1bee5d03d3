"""What the service sends.

Written by generate.py from docs/openapi.json: do not edit.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, Field
from switchhook._model import Model


class Agent(Model):
    """
    An agent.
    """

    analysis: AnalysisSettings
    """
    Post-call analysis.
    """
    answering_machine: AnsweringMachine
    """
    How to handle answering machines.
    """
    dtmf: Dtmf
    """
    How to handle DTMF from the caller.
    """
    greeting: Greeting
    """
    How the conversation starts.
    """
    instructions: str
    """
    System prompt of the language model; `{{variable}}` is replaced by the call's variables.
    """
    interruption: Interruption
    """
    What happens when the caller interrupts.
    """
    language: str
    """
    BCP 47 tag of the spoken language.
    """
    limits: AgentLimits
    """
    Maximum ring time and duration of a call.
    """
    llm: LlmChoice | None
    """
    Language model; the scripted dialogue if absent.
    """
    privacy: Privacy
    """
    Redaction and retention of a call's words.
    """
    realtime: RealtimeChoice | None
    """
    A speech-to-speech model that replaces `stt`, `llm` and `tts`. `llm` then only analyses the call, and `tts` only bridges
    waits.
    """
    recording: Recording
    """
    Whether calls are recorded.
    """
    silence: Silence
    """
    What happens when the caller is silent.
    """
    stt: SttChoice | None
    """
    Speech-to-text; local if absent.
    """
    tools: list[Tool]
    """
    Tools that the model can call.
    """
    tts: TtsChoice | None
    """
    Text-to-speech; local if absent.
    """
    turn_taking: TurnTaking
    """
    When a caller's turn ends.
    """
    variables: dict[str, AgentVariable]
    """
    Variables that calls can or must set; at most 50, and 16 KiB of JSON.
    """
    created_at: AwareDatetime
    """
    When it was created.
    """
    id: str
    """
    Its id.
    """
    name: str
    """
    Unique per tenant.
    """
    traffic: list[TrafficItem] | None
    updated_at: AwareDatetime
    """
    When it was last changed.
    """
    version: int
    """
    Increases with each change but those of `traffic`; a call keeps the version it was placed with.
    """
    warnings: list[str] = []


class AgentLimits(Model):
    """
    Maximum ring time and duration of a call.
    """

    max_duration_seconds: int
    """
    Maximum duration of the conversation, in seconds, 10 to 14400.
    """
    ring_timeout_seconds: int
    """
    Ring timeout, in seconds, 5 to 120.
    """


class AgentVariable(Model):
    """
    A variable of a call, used as `{{name}}` in texts.
    """

    default: str | None
    """
    Used if a call does not set it.
    """
    required: bool
    """
    Whether a call must set it.
    """


class AgentVersion(Model):
    """
    A version of an agent.
    """

    changed: list[str]
    """
    The fields that differ from the version before; a list counts as one field.
    """
    created_at: AwareDatetime
    """
    When it was made.
    """
    name: str
    """
    The agent's name in it.
    """
    version: int
    """
    Its number.
    """


class AnalysisSettings(Model):
    """
    Post-call analysis.
    """

    schema_: dict[str, Any] | None = Field(..., alias="schema")
    """
    JSON Schema of `outcome`. Without a schema the provider chooses the facts to extract; without a summary either, there
    is no post-call analysis.
    """
    summary: bool
    """
    Whether the language model writes a summary.
    """


class AnsweringMachine(Model):
    """
    How to handle answering machines.
    """

    message: str | None
    """
    The message after the beep, for `leave_message`.
    """
    mode: Literal["off", "detect"] | str
    """
    Whether to detect machines.
    """
    on_machine: Literal["hangup", "leave_message"] | str
    """
    What to do when a machine answers.
    """


class ApiKey(Model):
    """
    A key without its secret.
    """

    created_at: AwareDatetime
    """
    When it was created.
    """
    expires_at: AwareDatetime | None
    """
    When it expires; `null` means never.
    """
    id: str
    """
    Its id, for example to revoke it.
    """
    last_used_at: AwareDatetime | None
    """
    When it was last used; uses on other nodes appear after a few seconds.
    """
    name: str | None
    """
    Its label.
    """
    prefix: str
    """
    Its public part.
    """
    revoked_at: AwareDatetime | None
    """
    When it was revoked; `null` if it is not.
    """


class Attention(Model):
    """
    What needs attention.
    """

    data: list[AttentionItem]
    """
    The items, the worst first, at most 20 of a kind.
    """


class AttentionItem(Model):
    """
    Something that needs attention.
    """

    count: int | None
    """
    How many calls were refused, or how many deliveries wait (up to 1000).
    """
    detail: str
    """
    What is the matter, in a sentence.
    """
    kind: Literal["credentials_refused", "webhook_failing", "limit_near", "number_without_agent"] | str
    """
    What is the matter.
    """
    limit: NearLimit | None
    """
    The limit that is near.
    """
    since: AwareDatetime | None
    """
    Since when, if that is known.
    """
    subject: AttentionSubject
    """
    What it is the matter with.
    """


class AttentionSubject(Model):
    """
    What something is the matter with.
    """

    id: str
    """
    Its id.
    """
    name: str
    """
    Its name, URL or number.
    """
    type: Literal["connection", "webhook", "tenant", "number"] | str
    """
    What it is.
    """


class Call(Model):
    """
    A call.
    """

    agent_id: str
    """
    The agent.
    """
    agent_version: int
    """
    The agent's version when the call was placed.
    """
    analysis: CallAnalysis | None
    """
    How post-call analysis went; `null` until the call has ended, and if there was no conversation.
    """
    answered_at: AwareDatetime | None
    """
    When it was answered.
    """
    answered_by: Literal["human", "voicemail"] | str | None
    """
    Who answered, if known.
    """
    carrier: CallCarrier
    """
    The carrier's data of the call.
    """
    created_at: AwareDatetime
    """
    When it was accepted.
    """
    dialing_at: AwareDatetime | None
    """
    When it was dialled.
    """
    direction: Literal["inbound", "outbound", "web"] | str
    """
    Its direction.
    """
    duration_seconds: int
    """
    Time from answer to end, in seconds.
    """
    end_reason: (
        Literal["caller_hangup", "agent_hangup", "transferred", "api_hangup", "canceled", "voicemail", "silence", "max_duration", "drained"]
        | str
        | None
    )
    """
    Why a completed call ended.
    """
    ended_at: AwareDatetime | None
    """
    When it ended.
    """
    ended_by: Literal["caller", "agent", "api", "carrier", "system"] | str | None
    """
    Who ended it.
    """
    error: str | None
    """
    Error details.
    """
    error_code: (
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
        | None
    )
    """
    Why a failed call failed.
    """
    from_: str = Field(..., alias="from")
    """
    The caller.
    """
    latency: CallLatency | None
    """
    How long the caller waited for responses.
    """
    metadata: dict[str, Any]
    """
    The client's own data.
    """
    number_id: str | None
    """
    The tenant's number, if it is one of its numbers.
    """
    outcome: dict[str, Any] | None
    """
    Facts extracted from the conversation.
    """
    recording_url: str | None
    """
    URL of the recording; needs an API key.
    """
    ringing_at: AwareDatetime | None
    """
    When it started to ring.
    """
    schedule_at: AwareDatetime | None
    """
    When it will be dialled, as requested; until then the call is queued.
    """
    status: Literal["queued", "dialing", "in_progress", "completed", "failed"] | str
    """
    Its status.
    """
    summary: str | None
    """
    A summary of the conversation, in a sentence or two.
    """
    to: str
    """
    The callee.
    """
    turns: int
    """
    Number of caller turns that the agent answered.
    """
    usage: CallUsage | None
    """
    Usage in the units that providers charge.
    """
    variables: dict[str, str]
    """
    Values for `{{name}}` in the agent's texts.
    """
    web: WebPart | None = None
    """
    Where the browser of a web call connects; in the response to its creation only.
    """
    id: str
    """
    Its id.
    """
    warnings: list[str] = []


class CallAnalysis(Model):
    """
    How post-call analysis went.
    """

    error: str | None
    """
    Why not, if it failed.
    """
    status: Literal["completed", "failed", "skipped"] | str
    """
    Whether a language model analysed the conversation.
    """


class CallCarrier(Model):
    """
    The carrier's data of a call.
    """

    call_id: str | None
    """
    The carrier's id of the call.
    """
    cause: Literal["normal", "busy", "no_answer", "rejected", "invalid_number", "canceled", "failed"] | str | None
    """
    Why it ended.
    """
    connection_id: str | None
    """
    The connection of the call; none of a web call.
    """
    provider: str
    """
    Its provider.
    """
    sip_code: int | None
    """
    The SIP status code, if any.
    """


class CallCosts(Model):
    """
    Costs by part, in US dollars.
    """

    carrier_usd: float | None
    """
    The carrier; nothing, since carriers bill on their own.
    """
    llm_usd: float
    """
    Language models, those of the analysis after the call included.
    """
    realtime_usd: float
    """
    Speech-to-speech models.
    """
    stt_usd: float
    """
    Speech to text.
    """
    tts_usd: float
    """
    Text to speech.
    """


class CallDecision(Model):
    """
    One decision about a turn.
    """

    at_ms: int
    """
    When, in milliseconds since the start of the conversation, as in the transcript.
    """
    ended_by: Literal["silence", "stt", "keys"] | str | None
    """
    What ended the turn; `null` for other decisions.
    """
    evidence: list[CallDecisionEvidence]
    """
    What spoke for the end (positive weight) or against it.
    """
    kind: (
        Literal[
            "turn_ended",
            "turn_reopened",
            "interruption",
            "false_interruption",
            "backchannel",
            "speculation",
            "speculation_discarded",
            "machine_ignored",
        ]
        | str
    )
    """
    `turn_ended`: the caller has finished. `turn_reopened`: they continue, and the agent responds once to all of it. `interruption`,
    `false_interruption`: they spoke over the agent, which stopped or continued. `backchannel`: words over the agent without a
    response. `speculation`: the model is asked early; `speculation_discarded`: that request was discarded. `machine_ignored`: a
    reported machine is a person.
    """
    probability: float | None
    """
    How probable the end of the turn was, from 0 to 1.
    """
    silence_ms: int | None
    """
    How long the caller had been silent, in milliseconds; `null` if they spoke or it did not matter.
    """
    silence_needed_ms: int | None
    """
    How much silence the evidence asked for, in milliseconds.
    """


class CallDecisionEvidence(Model):
    """
    Something that speaks for or against the end of a turn.
    """

    name: str
    """
    Its kind.
    """
    value: float
    """
    How much of it there is: 1, or a share.
    """
    weight: float
    """
    What 1 of it adds to the log odds of an end.
    """


class CallDecisions(Model):
    """
    The decisions of a call.
    """

    data: list[CallDecision]
    """
    In the order in which they were made.
    """


class CallDelivery(Model):
    """
    A delivery of one of the call's events.
    """

    attempts: int
    """
    Number of attempts made.
    """
    call_id: str | None
    """
    The call; `null` for a test.
    """
    created_at: AwareDatetime
    """
    When it was created.
    """
    event: (
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
    """
    The event.
    """
    id: str
    """
    Its id, also in the request body and the `X-Voice-Delivery` header.
    """
    next_attempt_at: AwareDatetime | None
    """
    When the next attempt is due.
    """
    state: Literal["pending", "sending", "succeeded", "failed", "canceled"] | str
    """
    Its state.
    """
    attempt_log: list[WebhookDeliveryAttempt]
    """
    Its attempts, oldest first.
    """
    url: str
    """
    Its present URL.
    """
    webhook_id: str
    """
    The endpoint.
    """


class CallEvent(Model):
    """
    An event of a call, as the API returns it.
    """

    created_at: AwareDatetime
    """
    When it happened.
    """
    data: dict[str, Any]
    event: (
        Literal["call.queued", "call.dialing", "call.in_progress", "call.completed", "call.failed", "call.received", "carrier.hangup"] | str
    )
    """
    The kind of event.
    """
    sequence: int
    """
    Its number within the call, from 1.
    """


class CallEvents(Model):
    """
    Events of a call.
    """

    data: list[CallEvent]
    """
    The events, in order.
    """


class CallLatency(Model):
    """
    How long the caller waited, in whole milliseconds.
    """

    after_turn_ms: LatencyPercentiles
    """
    From the decision that the caller's turn is over to the first audio of the answer: model, voice and ourselves.
    """
    greeting_ms: int | None
    """
    From the start of media to the first audio of the greeting.
    """
    response_ms: LatencyPercentiles
    """
    From the end of the caller's speech to the first audio of the answer.
    """


class CallUsage(Model):
    """
    Usage in the units that providers bill.
    """

    audio_cached_tokens: int
    """
    Of these, tokens that came from the provider's cache.
    """
    audio_input_tokens: int
    """
    Tokens of audio input of a speech-to-speech model, those from its cache included. Its tokens of text count as the model's.
    """
    audio_output_tokens: int
    """
    Tokens of audio spoken by a speech-to-speech model.
    """
    cost_usd: float
    """
    Cost in US dollars, by the price table.
    """
    costs: CallCosts
    """
    The cost by part.
    """
    llm_cache_write_tokens: int
    """
    Of these, tokens that were written to it.
    """
    llm_cached_tokens: int
    """
    Of these, tokens that came from the provider's cache.
    """
    llm_estimated: bool
    """
    Whether some of the tokens are an estimate: the provider did not say, or was interrupted.
    """
    llm_input_tokens: int
    """
    Tokens read by the model, those from and for its cache included.
    """
    llm_output_tokens: int
    """
    Tokens written by the model, its reasoning included.
    """
    stt_audio_ms: int
    """
    Audio transcribed, in milliseconds.
    """
    tts_characters: int
    """
    Characters spoken.
    """
    unpriced: bool
    """
    Whether some of it has no price in the table, so that the cost is not all.
    """


class ConcurrentCalls(Model):
    """
    Concurrent calls.
    """

    in_use: int
    """
    The current number.
    """
    limit: int
    """
    The limit.
    """


class Connection(Model):
    """
    A connection.
    """

    created_at: AwareDatetime
    """
    When it was created.
    """
    credentials: dict[str, str]
    """
    Names of the credentials with their last characters.
    """
    id: str
    """
    Its id.
    """
    kind: Literal["carrier", "stt", "llm", "tts", "realtime", "tool", "several"] | str
    """
    Its kind.
    """
    kinds: list[Literal["carrier", "stt", "llm", "tts", "realtime", "tool", "several"] | str]
    """
    Every kind it supports.
    """
    limits: ConnectionLimits
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
    settings: dict[str, Any]
    """
    Settings that are not secret.
    """
    updated_at: AwareDatetime
    """
    When it was last changed.
    """
    warnings: list[str] = []


class ConnectionCheck(Model):
    """
    One thing that was tried.
    """

    detail: str
    """
    What came of it, in a sentence.
    """
    duration_ms: int
    """
    How long it took.
    """
    name: Literal["settings", "carrier", "language_model", "speech_to_text", "text_to_speech", "speech_to_speech", "service"] | str
    """
    What was tried.
    """
    ok: bool
    """
    Whether it worked.
    """


class ConnectionLimits(Model):
    """
    Limits of a connection.
    """

    max_concurrent: int | None
    """
    Concurrent calls; `null` is no limit.
    """


class ConnectionTest(Model):
    """
    Result of a connection test.
    """

    checks: list[ConnectionCheck]
    """
    The individual checks.
    """
    ok: bool
    """
    Whether every check passed.
    """


class DialPolicy(Model):
    """
    Which numbers a tenant can call; set by the operator. Premium-rate, shared-cost and satellite numbers are refused unless
    `allow` names them. The tenant's own numbers are always refused.
    """

    allow: list[str]
    """
    Allowed prefixes; empty allows every country.
    """
    cost_per_day_usd: float | None
    """
    Cost of a day's calls (UTC) at which no further calls are placed; `null` is no cap.
    """
    deny: list[str]
    """
    Denied prefixes.
    """
    per_number_per_day: int | None
    """
    Calls and transfers to one number in 24 hours; `null` is no limit.
    """


class Dtmf(Model):
    """
    How the caller's keys are collected into one input, which ends with the finish key, after a pause, or at its maximum
    length.
    """

    digit_timeout_ms: int
    """
    Pause after a key that ends the input, in milliseconds, 500 to 20000.
    """
    enabled: bool
    """
    Whether keys are processed.
    """
    finish_on_key: str | None
    """
    The key that ends an input and is not part of it: `0` to `9`, `*`, `#`, `A` to `D`, or `null` for none.
    """
    interrupt: bool
    """
    Whether a key stops the agent's speech, if the caller may interrupt it.
    """
    max_digits: int
    """
    Number of keys that ends the input, 1 to 64.
    """


class EventToken(Model):
    """
    What opens event streams.
    """

    expires_at: AwareDatetime
    """
    Until when a stream can be opened with it. An open stream continues after that.
    """
    token: str
    """
    The token, to be sent as `?token=`. It gives access to the tenant's events and transcripts.
    """


class Greeting(Model):
    """
    The start of the conversation.
    """

    interruptible: bool
    """
    Whether the caller can interrupt it.
    """
    mode: Literal["speak", "wait", "generate"] | str
    """
    Who speaks first.
    """
    text: str
    """
    The text for mode `speak`.
    """


class Interruption(Model):
    """
    What happens when the caller interrupts.
    """

    backchannels: list[str]
    """
    Words that do not interrupt on their own.
    """
    enabled: bool
    """
    Whether the caller can interrupt.
    """
    min_speech_ms: int
    """
    Speech that interrupts, in milliseconds, 50 to 5000; shorter noises only pause the agent.
    """
    min_words: int
    """
    Recognised words that interrupt before `min_speech_ms`; 0 ignores words.
    """


class InvitedPerson(Model):
    """
    An invited person with the link of the invitation.
    """

    created_at: AwareDatetime
    """
    When the person was invited, or made the tenant by the first sign-in.
    """
    email: str | None
    """
    The e-mail address that was invited or that the identity provider has verified; `null` if there is none.
    """
    expires_at: AwareDatetime | None
    """
    When the invitation ends; `null` for a person who belongs to the tenant.
    """
    id: str
    """
    Its id.
    """
    last_seen_at: AwareDatetime | None
    """
    When the person last used the dashboard, to the minute.
    """
    name: str | None
    """
    The name, as the identity provider has it; `null` if the person is only invited.
    """
    role: Literal["owner", "member", "viewer"] | str
    """
    What the person may do.
    """
    status: Literal["active", "invited"] | str
    """
    `invited` until the person accepts the invitation.
    """
    invitation_url: str
    """
    The link by which the person accepts or declines. It is shown only this once.
    """
    warnings: list[str] = []


class LatencyPercentiles(Model):
    """
    Percentiles by the nearest-rank method.
    """

    max: int | None
    """
    The longest.
    """
    n: int
    """
    How many were measured.
    """
    p50: int | None
    """
    Half waited no longer.
    """
    p95: int | None
    """
    95 of 100 waited no longer.
    """


class ListenAddress(Model):
    """
    Where a live call is heard.
    """

    expires_at: AwareDatetime
    """
    Until when it can be opened.
    """
    url: str
    """
    The address of a websocket, good for one connection. Whoever has it can listen.
    """


class LlmChoice(Model):
    """
    A language model and its settings.
    """

    connection_id: str | None
    """
    The connection; `null` is a demo script, which does not follow the instructions.
    """
    fallbacks: list[ProviderFallback]
    """
    Fallbacks, tried in order.
    """
    hedge: bool
    """
    Send a second request, to the next model or the same one, when the first has not started its response in its usual
    time. The first response to start is spoken; both are charged.
    """
    max_tokens: int | None
    """
    Maximum length of a response, in tokens.
    """
    model: str | None
    """
    The provider's model name.
    """
    temperature: float | None
    """
    Sampling temperature, 0 to 2.
    """


class MonthlyCalls(Model):
    """
    Calls per month.
    """

    limit: int | None
    """
    The cap; `null` is no cap.
    """
    resets_at: AwareDatetime
    """
    When the next month starts.
    """
    used: int
    """
    Calls so far.
    """


class NearLimit(Model):
    """
    A limit that is near.
    """

    limit: float
    """
    What there is.
    """
    name: Literal["concurrent_calls", "monthly_calls", "cost_per_day_usd"] | str
    """
    Which one.
    """
    used: float
    """
    What is used.
    """


class NewApiKey(Model):
    """
    A new key.
    """

    created_at: AwareDatetime
    """
    When it was created.
    """
    expires_at: AwareDatetime | None
    """
    When it expires; `null` means never.
    """
    id: str
    """
    Its id, for example to revoke it.
    """
    key: str
    """
    The whole key. It is shown only this once.
    """
    name: str | None
    """
    Its label.
    """
    prefix: str
    """
    Its public part.
    """
    warnings: list[str] = []


class Person(Model):
    """
    A person.
    """

    created_at: AwareDatetime
    """
    When the person was invited, or made the tenant by the first sign-in.
    """
    email: str | None
    """
    The e-mail address that was invited or that the identity provider has verified; `null` if there is none.
    """
    expires_at: AwareDatetime | None
    """
    When the invitation ends; `null` for a person who belongs to the tenant.
    """
    id: str
    """
    Its id.
    """
    last_seen_at: AwareDatetime | None
    """
    When the person last used the dashboard, to the minute.
    """
    name: str | None
    """
    The name, as the identity provider has it; `null` if the person is only invited.
    """
    role: Literal["owner", "member", "viewer"] | str
    """
    What the person may do.
    """
    status: Literal["active", "invited"] | str
    """
    `invited` until the person accepts the invitation.
    """
    warnings: list[str] = []


class PhoneNumber(Model):
    """
    A phone number.
    """

    connection_id: str
    """
    Its carrier connection.
    """
    created_at: AwareDatetime
    """
    When it was created.
    """
    id: str
    """
    Its id.
    """
    inbound_agent_id: str | None
    """
    The agent that answers it; `null` rejects inbound calls.
    """
    inbound_url: str | None
    """
    URL to which the carrier sends the number's calls; `null` if nothing needs to be configured. Requests to it also need
    the carrier's signature.
    """
    label: str | None
    """
    Display name.
    """
    number: str
    """
    E.164.
    """
    updated_at: AwareDatetime
    """
    When it was last changed.
    """
    warnings: list[str] = []


class Privacy(Model):
    """
    Redaction and retention of a call's words.
    """

    redact: list[Literal["card_numbers", "phone_numbers", "email_addresses", "digits", "dtmf"] | str]
    """
    What to redact from everything stored about a conversation, and from its events. The agent hears the original; recordings keep it.
    """
    retention_days: int | None
    """
    Days after the end of a call until its words are deleted, 1 to 3650; `null` keeps them.
    """


class ProviderFallback(Model):
    """
    A provider to try when the previous one fails.
    """

    connection_id: str
    """
    The connection.
    """
    model: str | None
    """
    The provider's model name.
    """
    voice: str | None
    """
    The provider's voice name, for text-to-speech.
    """


class RateLimit(Model):
    """
    Requests in a sliding window.
    """

    limit: int
    """
    Requests allowed in any window. The `RateLimit` header of every response has the remaining number.
    """
    window_seconds: int
    """
    The length of the window.
    """


class RealtimeChoice(Model):
    """
    A speech-to-speech model and its settings.
    """

    connection_id: str
    """
    The connection.
    """
    fallbacks: list[ProviderFallback]
    """
    Fallbacks, tried in order when the previous one cannot be reached, disconnects repeatedly, or understands nothing.
    """
    model: str | None
    """
    The provider's model name.
    """
    voice: str | None
    """
    The provider's voice name.
    """


class Recording(Model):
    """
    Whether calls are recorded.
    """

    enabled: bool
    """
    Keep a stereo WAV: caller left, agent right.
    """


class ResponseStages(Model):
    """
    When a response reached each stage, in milliseconds since the conversation began.
    """

    end_of_speech_ms: int
    """
    The caller's last audio, or last key.
    """
    end_of_turn_ms: int
    """
    The turn was judged to be over.
    """
    first_audio_ms: int | None
    """
    The first audio was made.
    """
    first_token_ms: int | None
    """
    The model's first text; `null` for a speech-to-speech model. May be before `end_of_turn_ms` when the model was asked early.
    """
    heard_ms: int
    """
    The first audio was heard.
    """


class ResponseTimes(Model):
    """
    Response times in milliseconds, within 5 %.
    """

    n: int
    """
    How many were measured.
    """
    p50: int | None
    """
    Half of the responses took no longer.
    """
    p95: int | None
    """
    95 of 100 took no longer.
    """


class Silence(Model):
    """
    What happens when the caller is silent.
    """

    hangup_after_seconds: int | None
    """
    Caller silence after which the agent hangs up, in seconds, 5 to 3600; `null` is never.
    """
    max_reprompts: int
    """
    Maximum number of reprompts, 0 to 10.
    """
    reprompt_after_seconds: int
    """
    Silence after which the agent reprompts, in seconds, 2 to 600.
    """


class Statistics(Model):
    """
    Calls that ended in a time span.
    """

    after: AwareDatetime
    """
    The beginning of the first bucket.
    """
    before: AwareDatetime
    """
    The end of the last bucket.
    """
    buckets: list[StatisticsBucket]
    """
    Every interval of the span, oldest first.
    """
    interval: Literal["hour", "day"] | str
    """
    The length of a bucket.
    """
    totals: StatisticsFigures
    """
    Their sum.
    """


class StatisticsBucket(Model):
    """
    Calls that ended in an interval.
    """

    cost_usd: float | None
    """
    What they cost in US dollars, by the price table; `null` if nothing they used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some of what they used has no price, so that they cost more.
    """
    calls: int
    """
    How many ended.
    """
    completed: int
    """
    Those that ended normally.
    """
    failed: int
    """
    Those that failed.
    """
    response_ms: ResponseTimes
    """
    How long callers waited for responses.
    """
    start: AwareDatetime
    """
    Its beginning.
    """


class StatisticsFigures(Model):
    """
    Figures of ended calls.
    """

    cost_usd: float | None
    """
    What they cost in US dollars, by the price table; `null` if nothing they used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some of what they used has no price, so that they cost more.
    """
    calls: int
    """
    How many ended.
    """
    completed: int
    """
    Those that ended normally.
    """
    failed: int
    """
    Those that failed.
    """
    response_ms: ResponseTimes
    """
    How long callers waited for responses.
    """


class Stored(Model):
    """
    What a tenant stores; the operator sets the limits. Beyond one, a request is 422.
    """

    agent_bytes: StoredAmount
    """
    Bytes of the versions of agents, including versions of deleted agents that calls keep.
    """
    agents: StoredAmount
    """
    Agents.
    """
    api_keys: StoredAmount
    """
    API keys that are not revoked.
    """
    connections: StoredAmount
    """
    Connections.
    """
    numbers: StoredAmount
    """
    Phone numbers.
    """
    people: StoredAmount
    """
    People, including invited ones.
    """
    webhooks: StoredAmount
    """
    Webhook endpoints.
    """


class StoredAmount(Model):
    """
    An amount of something that is stored.
    """

    in_use: int
    """
    What is there. It can be more than a limit that was set later.
    """
    limit: int
    """
    The limit.
    """


class SttChoice(Model):
    """
    A speech-to-text provider and its settings.
    """

    connection_id: str | None
    """
    The connection; `null` is local speech-to-text.
    """
    fallbacks: list[ProviderFallback]
    """
    Fallbacks, tried in order.
    """
    keyterms: list[str]
    """
    Words that speech-to-text should expect.
    """
    model: str | None
    """
    The provider's model name.
    """


class Tenant(Model):
    """
    A tenant.
    """

    concurrent_calls: ConcurrentCalls
    """
    Calls queued, dialing or in progress, including inbound calls.
    """
    created_at: AwareDatetime
    """
    When it was created.
    """
    dial_policy: DialPolicy
    """
    Which numbers it can call.
    """
    id: str
    """
    Its id.
    """
    monthly_calls: MonthlyCalls
    """
    Calls placed in this calendar month (UTC).
    """
    name: str
    """
    Its name.
    """
    rate_limit: RateLimit
    """
    Requests per window.
    """
    stored: Stored
    """
    What it stores.
    """


class TenantEvent(Model):
    """
    An event of any call of a tenant, as the API returns it.
    """

    created_at: AwareDatetime
    """
    When it happened.
    """
    data: dict[str, Any]
    event: (
        Literal["call.queued", "call.dialing", "call.in_progress", "call.completed", "call.failed", "call.received", "carrier.hangup"] | str
    )
    """
    The kind of event.
    """
    sequence: int
    """
    Its number within the call, from 1.
    """
    call_id: str
    """
    The call.
    """
    id: str
    """
    Its id.
    """


class Tool(Model):
    """
    A tool that the model can call. Its `type` decides which fields apply.
    """

    connection_id: str | None
    """
    For `http` and `mcp`: an `http` connection whose credentials are sent as headers. They are write-only.
    """
    description: str | None
    """
    Tells the model when to use it. Tools of an `mcp` server have their own descriptions.
    """
    destinations: list[TransferDestination] = Field([], validate_default=True)
    """
    For `transfer`: the possible targets.
    """
    filler: str | None
    """
    For `http` and `mcp`: spoken while the tool runs, unless the model has already said something.
    """
    headers: dict[str, str] | None = None
    """
    For `http` and `mcp`: additional headers, in which `{{variable}}` is replaced. Anyone who can read the agent can read
    them; keep secrets in a connection.
    """
    method: Literal["GET", "POST"] | str | None
    """
    For `http`: `POST` sends the arguments as a JSON body, `GET` as query parameters.
    """
    name: str | None
    """
    For `http`: the tool's name; letters, digits, `_` and `-`. For `mcp`: the prefix for tool names that are already taken;
    defaults to the server's host.
    """
    parameters: dict[str, Any] | None
    """
    For `http`: JSON Schema of its arguments, an object; no arguments if absent.
    """
    timeout_seconds: int | None
    """
    For `http` and `mcp`: timeout in seconds, 1 to 10; default 8.
    """
    tools: list[str] = []
    """
    For `mcp`: names of the server's tools to use; all if empty.
    """
    type: Literal["end_call", "http", "mcp", "transfer", "send_dtmf"] | str
    """
    Its type.
    """
    url: str | None
    """
    For `http` and `mcp`: the URL. `{{variable}}` is replaced by the call's variable, percent-encoded.
    """


class ToolCall(Model):
    """
    A tool that the agent used.
    """

    arguments: Any
    """
    What the model passed.
    """
    duration_ms: int
    """
    How long it took, in milliseconds.
    """
    error: str | None
    """
    Why it failed.
    """
    id: str
    """
    The model's id of it.
    """
    name: str
    """
    The tool.
    """
    result: Any
    """
    What the model was told; `null` if it was told nothing.
    """
    start_ms: int
    """
    When it began, in milliseconds since the start of the conversation.
    """
    status: Literal["succeeded", "failed"] | str
    """
    Whether it worked.
    """


class TrafficItem(Model):
    percent: int
    version: int


class Transcript(Model):
    """
    The transcript of a call.
    """

    data: list[TranscriptLine]
    """
    Lines in the order in which they were completed.
    """
    tool_calls: list[ToolCall]
    """
    Tools that the agent used, in the order in which they ended.
    """


class TranscriptLine(Model):
    """
    A line of a transcript.
    """

    end_ms: int
    """
    Milliseconds since the start of the conversation.
    """
    interrupted: bool
    """
    Whether the caller interrupted it.
    """
    latency_ms: int | None
    """
    Response latency in milliseconds; only on the first line of a response.
    """
    role: Literal["caller", "agent"] | str
    """
    Who said it.
    """
    stages: ResponseStages | None
    """
    When the response reached which stage; only where `latency_ms` is.
    """
    start_ms: int
    """
    Milliseconds since the start of the conversation.
    """
    text: str
    """
    The words; the agent's as far as they were heard.
    """
    turn: TranscriptTurn | None
    """
    How the caller's turn ended; `null` while the call is live, for the agent's lines, and with a speech-to-speech model.
    """


class TranscriptTurn(Model):
    """
    How a turn of the caller ended.
    """

    because: list[TranscriptTurnWitness]
    """
    What spoke for the end (positive weight) or against it; empty unless silence ended it.
    """
    ended_by: Literal["silence", "stt", "keys"] | str
    """
    What ended it.
    """
    speculations: int
    """
    How often the model was asked before the turn was over.
    """
    waited_ms: int | None
    """
    How long the caller was silent, in milliseconds; `null` if they spoke.
    """


class TranscriptTurnWitness(Model):
    """
    Something that speaks for or against the end of a turn.
    """

    value: float
    """
    How much of it there is: 1, or a share.
    """
    weight: float
    """
    What 1 of it adds to the log odds of an end.
    """
    witness: str
    """
    Its kind.
    """


class TransferDestination(Model):
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


class TtsChoice(Model):
    """
    A text-to-speech provider and its settings.
    """

    connection_id: str | None
    """
    The connection; `null` is local text-to-speech.
    """
    fallbacks: list[ProviderFallback]
    """
    Fallbacks, tried in order.
    """
    model: str | None
    """
    The provider's model name.
    """
    speed: float | None
    """
    Speaking rate, 0.5 to 2; 1 is the voice's normal rate.
    """
    voice: str | None
    """
    The provider's voice name.
    """


class TurnTaking(Model):
    """
    When a caller's turn ends.
    """

    eagerness: Literal["low", "normal", "high"] | str
    """
    How soon the agent takes the turn: `low` waits half as long again, `high` a third less.
    """
    max_silence_ms: int
    """
    Silence that ends a turn in any case, in milliseconds, 200 to 10000.
    """
    min_silence_ms: int
    """
    Silence that ends a turn after a complete sentence, in milliseconds, 100 to 5000.
    """
    speculative: bool
    """
    Send the model request when the turn has probably ended, and discard the response if the caller continues.
    """


class UnplacedCall(Model):
    """
    The call that a dry run would place: a call without id, since there is no such call.
    """

    agent_id: str
    """
    The agent.
    """
    agent_version: int
    """
    The agent's version when the call was placed.
    """
    analysis: CallAnalysis | None
    """
    How post-call analysis went; `null` until the call has ended, and if there was no conversation.
    """
    answered_at: AwareDatetime | None
    """
    When it was answered.
    """
    answered_by: Literal["human", "voicemail"] | str | None
    """
    Who answered, if known.
    """
    carrier: CallCarrier
    """
    The carrier's data of the call.
    """
    created_at: AwareDatetime
    """
    When it was accepted.
    """
    dialing_at: AwareDatetime | None
    """
    When it was dialled.
    """
    direction: Literal["inbound", "outbound", "web"] | str
    """
    Its direction.
    """
    duration_seconds: int
    """
    Time from answer to end, in seconds.
    """
    end_reason: (
        Literal["caller_hangup", "agent_hangup", "transferred", "api_hangup", "canceled", "voicemail", "silence", "max_duration", "drained"]
        | str
        | None
    )
    """
    Why a completed call ended.
    """
    ended_at: AwareDatetime | None
    """
    When it ended.
    """
    ended_by: Literal["caller", "agent", "api", "carrier", "system"] | str | None
    """
    Who ended it.
    """
    error: str | None
    """
    Error details.
    """
    error_code: (
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
        | None
    )
    """
    Why a failed call failed.
    """
    from_: str = Field(..., alias="from")
    """
    The caller.
    """
    latency: CallLatency | None
    """
    How long the caller waited for responses.
    """
    metadata: dict[str, Any]
    """
    The client's own data.
    """
    number_id: str | None
    """
    The tenant's number, if it is one of its numbers.
    """
    outcome: dict[str, Any] | None
    """
    Facts extracted from the conversation.
    """
    recording_url: str | None
    """
    URL of the recording; needs an API key.
    """
    ringing_at: AwareDatetime | None
    """
    When it started to ring.
    """
    schedule_at: AwareDatetime | None
    """
    When it will be dialled, as requested; until then the call is queued.
    """
    status: Literal["queued", "dialing", "in_progress", "completed", "failed"] | str
    """
    Its status.
    """
    summary: str | None
    """
    A summary of the conversation, in a sentence or two.
    """
    to: str
    """
    The callee.
    """
    turns: int
    """
    Number of caller turns that the agent answered.
    """
    usage: CallUsage | None
    """
    Usage in the units that providers charge.
    """
    variables: dict[str, str]
    """
    Values for `{{name}}` in the agent's texts.
    """
    web: WebPart | None = None
    """
    Where the browser of a web call connects; in the response to its creation only.
    """
    warnings: list[str] = []


class Usage(Model):
    """
    Calls, minutes and cost of a time span.
    """

    after: AwareDatetime
    """
    The beginning of the first day.
    """
    agents: list[UsedByAgent]
    """
    By agent, at most 100, the most minutes first.
    """
    before: AwareDatetime
    """
    The end of the last day.
    """
    connections: list[UsedByConnection]
    """
    By connection of the carrier, at most 100, the most minutes first.
    """
    days: list[UsedByDay]
    """
    Every day, oldest first.
    """
    totals: UsageFigures
    """
    All of it.
    """


class UsageFigures(Model):
    """
    Calls, minutes and cost.
    """

    cost_usd: float | None
    """
    What they cost in US dollars, by the price table; `null` if nothing they used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some of what they used has no price, so that they cost more.
    """
    calls: int
    """
    How many calls ended.
    """


class UsedByAgent(Model):
    """
    An agent.
    """

    cost_usd: float | None
    """
    What they cost in US dollars, by the price table; `null` if nothing they used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some of what they used has no price, so that they cost more.
    """
    calls: int
    """
    How many calls ended.
    """
    agent_id: str
    """
    The agent.
    """
    name: str | None
    """
    Its name; `null` if it was deleted.
    """
    response_ms: ResponseTimes
    """
    How long its callers waited for responses.
    """


class UsedByConnection(Model):
    """
    A connection.
    """

    cost_usd: float | None
    """
    What they cost in US dollars, by the price table; `null` if nothing they used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some of what they used has no price, so that they cost more.
    """
    calls: int
    """
    How many calls ended.
    """
    connection_id: str | None
    """
    The connection; `null` for calls in the browser.
    """
    name: str | None
    """
    Its name; `null` if it was deleted, and for calls in the browser.
    """
    provider: str | None
    """
    Its carrier, `web` for calls in the browser; `null` if it was deleted.
    """


class UsedByDay(Model):
    """
    A day.
    """

    cost_usd: float | None
    """
    What they cost in US dollars, by the price table; `null` if nothing they used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some of what they used has no price, so that they cost more.
    """
    calls: int
    """
    How many calls ended.
    """
    start: AwareDatetime
    """
    Its beginning (UTC).
    """


class Voice(Model):
    """
    A voice.
    """

    default: bool
    """
    Whether agents that name no voice get it.
    """
    description: str | None
    """
    What the provider says of it.
    """
    languages: list[str]
    """
    The languages it is made for, as BCP 47 tags; none if it speaks any language of its model.
    """
    name: str
    """
    Its name.
    """
    voice: str
    """
    The value of an agent's `tts.voice`.
    """


class VoiceList(Model):
    """
    The voices of a connection.
    """

    complete: bool
    """
    Whether there are no others.
    """
    data: list[Voice]
    """
    The voices.
    """


class WebPart(Model):
    """
    Where the browser of a web call connects.
    """

    expires_at: AwareDatetime
    """
    When the address expires: the browser connects before that, or the call fails as `no_answer`.
    """
    url: str
    """
    The address of its websocket, good for one call. Whoever has it may talk.
    """


class Webhook(Model):
    """
    A webhook endpoint.
    """

    created_at: AwareDatetime
    """
    When it was registered.
    """
    disabled_reason: str | None
    """
    Why the service disabled it after 5 days of failures only. `null` if it is enabled or you disabled it.
    """
    enabled: bool
    """
    Whether events are sent.
    """
    events: list[
        Literal["call.queued", "call.dialing", "call.in_progress", "call.completed", "call.failed", "call.received", "carrier.hangup"] | str
    ]
    """
    The events that are sent; all if empty.
    """
    failing_since: AwareDatetime | None
    """
    The first failed attempt since the last successful one; `null` while attempts succeed.
    """
    id: str
    """
    Its id.
    """
    updated_at: AwareDatetime
    """
    When it was last changed.
    """
    url: str
    """
    The URL that receives the events.
    """
    warnings: list[str] = []


class WebhookDelivery(Model):
    """
    A delivery of one event to one endpoint.
    """

    attempts: int
    """
    Number of attempts made.
    """
    call_id: str | None
    """
    The call; `null` for a test.
    """
    created_at: AwareDatetime
    """
    When it was created.
    """
    event: (
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
    """
    The event.
    """
    id: str
    """
    Its id, also in the request body and the `X-Voice-Delivery` header.
    """
    next_attempt_at: AwareDatetime | None
    """
    When the next attempt is due.
    """
    state: Literal["pending", "sending", "succeeded", "failed", "canceled"] | str
    """
    Its state.
    """


class WebhookDeliveryAttempt(Model):
    """
    A delivery attempt.
    """

    duration_ms: int | None
    """
    Its duration; `null` while it runs, or if the service stopped before it ended.
    """
    error: str | None
    """
    Why it failed; `null` if it did not.
    """
    number: int
    """
    Its number, from 1.
    """
    response_excerpt: str | None
    """
    The start of the response body.
    """
    started_at: AwareDatetime
    """
    When it started.
    """
    status: int | None
    """
    The HTTP status of the response; `null` without a response.
    """


class WebhookDeliveryWithAttempts(Model):
    """
    A delivery with every attempt.
    """

    attempts: int
    """
    Number of attempts made.
    """
    call_id: str | None
    """
    The call; `null` for a test.
    """
    created_at: AwareDatetime
    """
    When it was created.
    """
    event: (
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
    """
    The event.
    """
    id: str
    """
    Its id, also in the request body and the `X-Voice-Delivery` header.
    """
    next_attempt_at: AwareDatetime | None
    """
    When the next attempt is due.
    """
    state: Literal["pending", "sending", "succeeded", "failed", "canceled"] | str
    """
    Its state.
    """
    attempt_log: list[WebhookDeliveryAttempt]
    """
    Its attempts, oldest first.
    """


class WebhookWithSecret(Model):
    """
    A webhook endpoint with its new signing secret.
    """

    created_at: AwareDatetime
    """
    When it was registered.
    """
    disabled_reason: str | None
    """
    Why the service disabled it after 5 days of failures only. `null` if it is enabled or you disabled it.
    """
    enabled: bool
    """
    Whether events are sent.
    """
    events: list[
        Literal["call.queued", "call.dialing", "call.in_progress", "call.completed", "call.failed", "call.received", "carrier.hangup"] | str
    ]
    """
    The events that are sent; all if empty.
    """
    failing_since: AwareDatetime | None
    """
    The first failed attempt since the last successful one; `null` while attempts succeed.
    """
    id: str
    """
    Its id.
    """
    updated_at: AwareDatetime
    """
    When it was last changed.
    """
    url: str
    """
    The URL that receives the events.
    """
    secret: str
    """
    The signing secret. It is shown only this once.
    """
    warnings: list[str] = []
