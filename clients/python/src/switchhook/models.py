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
    answering_machine: AnsweringMachine
    dtmf: Dtmf
    """
    DTMF from the caller.
    """
    greeting: Greeting
    instructions: str
    """
    System prompt; `{{variable}}` is replaced.
    """
    interruption: Interruption
    language: str
    """
    Spoken language (BCP 47).
    """
    limits: AgentLimits
    llm: LlmChoice | None
    """
    Language model; a demo script if absent.
    """
    privacy: Privacy
    realtime: RealtimeChoice | None
    """
    Speech-to-speech model in place of `stt`, `llm` and `tts`; `llm` then only analyses the call, `tts` only bridges waits.
    """
    recording: Recording
    silence: Silence
    stt: SttChoice | None
    """
    Speech-to-text; local if absent.
    """
    tools: list[Tool]
    """
    Tools for the model.
    """
    tts: TtsChoice | None
    """
    Text-to-speech; local if absent.
    """
    turn_taking: TurnTaking
    variables: dict[str, AgentVariable]
    """
    Variables that calls can or must set; at most 16 KiB of JSON.
    """
    created_at: AwareDatetime
    id: str
    name: str
    """
    Unique per tenant.
    """
    traffic: list[TrafficItem] | None
    updated_at: AwareDatetime
    version: int
    """
    Increases with each change except to `traffic`; calls keep their version.
    """
    warnings: list[str] = []


class AgentLimits(Model):
    """
    Call time limits.
    """

    max_duration_seconds: int
    """
    Maximum duration of the conversation.
    """
    ring_timeout_seconds: int
    """
    Ring timeout.
    """


class AgentVariable(Model):
    """
    A call variable, used as `{{name}}`.
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
    Fields that differ from the previous version; a list counts as one.
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
    Number.
    """


class AnalysisSettings(Model):
    """
    Post-call analysis.
    """

    schema_: dict[str, Any] | None = Field(..., alias="schema")
    """
    JSON Schema of `outcome`; without one, the provider picks the facts. Without schema and summary, there is no analysis.
    """
    summary: bool
    """
    Whether to write a summary.
    """


class AnsweringMachine(Model):
    """
    Answering machine handling.
    """

    message: str | None
    """
    Message after the beep, for `leave_message`.
    """
    mode: Literal["off", "detect"] | str
    on_machine: Literal["hangup", "leave_message"] | str


class ApiKey(Model):
    """
    A key without its secret.
    """

    created_at: AwareDatetime
    expires_at: AwareDatetime | None
    """
    `null` if it never expires.
    """
    id: str
    last_used_at: AwareDatetime | None
    """
    Last use; uses on other nodes appear after a few seconds.
    """
    name: str | None
    """
    Label.
    """
    prefix: str
    """
    Public part.
    """
    revoked_at: AwareDatetime | None
    """
    `null` if not revoked.
    """


class Attention(Model):
    """
    What needs attention.
    """

    data: list[AttentionItem]
    """
    Worst first, at most 20 of a kind.
    """


class AttentionItem(Model):
    """
    Something that needs attention.
    """

    count: int | None
    """
    Refused calls, or waiting deliveries (up to 1000).
    """
    detail: str
    """
    The problem in one sentence.
    """
    kind: Literal["credentials_refused", "webhook_failing", "limit_near", "number_without_agent"] | str
    limit: NearLimit | None
    since: AwareDatetime | None
    """
    Start of the problem, if known.
    """
    subject: AttentionSubject


class AttentionSubject(Model):
    """
    What a problem concerns.
    """

    id: str
    name: str
    """
    Its name, URL or number.
    """
    type: Literal["connection", "webhook", "tenant", "number"] | str


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
    Agent version when the call was placed.
    """
    analysis: CallAnalysis | None
    """
    Post-call analysis; `null` until the call ends, and without a conversation.
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
    created_at: AwareDatetime
    """
    When it was accepted.
    """
    dialing_at: AwareDatetime | None
    """
    When it was dialled.
    """
    direction: Literal["inbound", "outbound", "web"] | str
    duration_seconds: int
    """
    Seconds from answer to end.
    """
    end_reason: (
        Literal["caller_hangup", "agent_hangup", "transferred", "api_hangup", "canceled", "voicemail", "silence", "max_duration", "drained"]
        | str
        | None
    )
    ended_at: AwareDatetime | None
    """
    When it ended.
    """
    ended_by: Literal["caller", "agent", "api", "carrier", "system"] | str | None
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
    metadata: dict[str, Any]
    number_id: str | None
    """
    The tenant's number, if any.
    """
    outcome: Any
    """
    Result of the analysis: any JSON value, in the shape of the agent's `analysis.schema`, or `null`.
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
    When to dial, as requested; queued until then.
    """
    status: Literal["queued", "dialing", "in_progress", "completed", "failed"] | str
    summary: str | None
    """
    Summary of the conversation.
    """
    to: str
    """
    The callee.
    """
    turns: int
    """
    Caller turns that the agent answered.
    """
    usage: CallUsage | None
    variables: dict[str, str]
    """
    Values for `{{name}}` in the agent's texts.
    """
    web: WebPart | None = None
    """
    Where the browser connects; only in the response that creates a web call.
    """
    id: str
    warnings: list[str] = []


class CallAnalysis(Model):
    """
    Result of post-call analysis.
    """

    error: str | None
    """
    Error, if it failed.
    """
    status: Literal["completed", "failed", "skipped"] | str


class CallCarrier(Model):
    """
    The carrier's data of a call.
    """

    call_id: str | None
    """
    The carrier's id of the call.
    """
    cause: Literal["normal", "busy", "no_answer", "rejected", "invalid_number", "canceled", "failed"] | str | None
    connection_id: str | None
    """
    `null` for web calls.
    """
    provider: Literal["simulator", "twilio", "signalwire", "telnyx", "plivo", "vonage", "sip", "web"] | str
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
    `null`: carriers bill separately.
    """
    llm_usd: float
    """
    Language models, including post-call analysis.
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
    Milliseconds since the start of the conversation.
    """
    ended_by: Literal["silence", "stt", "keys"] | str | None
    """
    What ended the turn; `null` for other decisions.
    """
    evidence: list[CallDecisionEvidence]
    """
    Evidence for (positive weight) or against the end.
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
    `turn_ended`: the caller finished. `turn_reopened`: they went on; the agent responds once to all of it. `interruption`: they stopped the
    agent. `false_interruption`: the agent went on. `backchannel`: words that need no response. `speculation`: early model request.
    `speculation_discarded`: it was dropped. `machine_ignored`: the reported machine is a person.
    """
    probability: float | None
    """
    Probability of the end of the turn, 0 to 1.
    """
    silence_ms: int | None
    """
    Caller silence so far; `null` if they spoke or it did not matter.
    """
    silence_needed_ms: int | None
    """
    Silence that the evidence required.
    """


class CallDecisionEvidence(Model):
    """
    Evidence about the end of a turn.
    """

    name: (
        Literal[
            "no_words",
            "not_final",
            "answer",
            "open_word",
            "loose_word",
            "dictation_begun",
            "dictation_partial",
            "dictation_complete",
            "question",
            "doubtful_question",
            "closed_sentence",
            "suspension",
            "request",
            "short_phrase",
            "short_answer",
            "missing_object",
            "subordinate_clause",
            "missing_number",
            "long_pauses",
            "unknown_language",
        ]
        | str
    )
    value: float
    """
    Amount: 1, or a share.
    """
    weight: float
    """
    Log odds of an end per unit of `value`.
    """


class CallDecisions(Model):
    """
    The decisions of a call.
    """

    data: list[CallDecision]
    """
    In the order they were made.
    """


class CallDelivery(Model):
    """
    Delivery of one of the call's events.
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
    id: str
    """
    Also in the request body and the `X-Voice-Delivery` header.
    """
    next_attempt_at: AwareDatetime | None
    """
    When the next attempt is due.
    """
    state: Literal["pending", "sending", "succeeded", "failed", "canceled"] | str
    attempt_log: list[WebhookDeliveryAttempt]
    """
    Attempts, oldest first.
    """
    url: str
    """
    Current URL.
    """
    webhook_id: str
    """
    The endpoint.
    """


class CallEvent(Model):
    """
    An event of a call.
    """

    call_id: str
    """
    The call.
    """
    created: int
    """
    The same in Unix seconds, as in webhooks.
    """
    created_at: AwareDatetime
    """
    When it happened.
    """
    id: str
    """
    The event's id; `id` in a webhook is the delivery's.
    """
    sequence: int
    """
    Number within the call, from 1.
    """
    data: dict[str, Any]
    event: (
        Literal["call.completed", "call.dialing", "call.failed", "call.in_progress", "call.queued", "call.received", "carrier.hangup"] | str
    )


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
    How long the caller waited.
    """

    after_turn_ms: LatencyPercentiles
    """
    From the end-of-turn decision to the first audio of the answer.
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
    Usage in the providers' units.
    """

    audio_cached_tokens: int
    """
    Of these, from the provider's cache.
    """
    audio_input_tokens: int
    """
    Audio input tokens of a speech-to-speech model, including cached ones. Its text tokens count as `llm_*_tokens`.
    """
    audio_output_tokens: int
    """
    Audio output tokens of a speech-to-speech model.
    """
    cost_usd: float
    """
    Cost by the price table.
    """
    costs: CallCosts
    llm_cache_write_tokens: int
    """
    Of these, written to the cache.
    """
    llm_cached_tokens: int
    """
    Of these, from the provider's cache.
    """
    llm_estimated: bool
    """
    Whether some token counts are estimates.
    """
    llm_input_tokens: int
    """
    Input tokens, including those read from or written to the cache.
    """
    llm_output_tokens: int
    """
    Output tokens, including reasoning.
    """
    stt_audio_ms: int
    """
    Audio transcribed.
    """
    tts_characters: int
    """
    Characters spoken.
    """
    unpriced: bool
    """
    Whether some usage has no price, so the cost is incomplete.
    """


class ConcurrentCalls(Model):
    """
    Concurrent calls.
    """

    in_use: int
    """
    Current number.
    """
    limit: int


class Connection(Model):
    """
    A connection.
    """

    created_at: AwareDatetime
    credentials: dict[str, str]
    """
    Names of the credentials with their last characters.
    """
    id: str
    kind: Literal["carrier", "stt", "llm", "tts", "realtime", "tool", "several"] | str
    kinds: list[Literal["carrier", "stt", "llm", "tts", "realtime", "tool", "several"] | str]
    """
    Every kind it supports.
    """
    limits: ConnectionLimits
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
    settings: dict[str, Any]
    """
    Settings without secrets.
    """
    updated_at: AwareDatetime
    warnings: list[str] = []


class ConnectionCheck(Model):
    """
    One thing that was tried.
    """

    detail: str
    """
    Result in one sentence.
    """
    duration_ms: int
    """
    Duration.
    """
    name: Literal["settings", "carrier", "language_model", "speech_to_text", "text_to_speech", "speech_to_speech", "service"] | str
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
    Concurrent calls; `null` for no limit.
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
    Numbers the tenant can call; set by the operator. Premium-rate, shared-cost and satellite numbers must be named in `allow`. The tenant's own
    numbers are always refused.
    """

    allow: list[str]
    """
    Allowed prefixes; empty allows every country.
    """
    cost_per_day_usd: float | None
    """
    Daily cost (UTC) at which no further calls are placed; `null` for no cap.
    """
    deny: list[str]
    """
    Denied prefixes.
    """
    per_number_per_day: int | None
    """
    Calls and transfers to one number in 24 hours; `null` for no limit.
    """


class Dtmf(Model):
    """
    Collects the caller's keys into one input, up to the finish key, a pause or the maximum length.
    """

    digit_timeout_ms: int
    """
    Pause after a key that ends the input.
    """
    enabled: bool
    """
    Whether keys are processed.
    """
    finish_on_key: str | None
    """
    Key that ends an input and is not part of it; `null` for none.
    """
    interrupt: bool
    """
    Whether a key stops the agent, if the caller may interrupt.
    """
    max_digits: int
    """
    Number of keys that ends the input.
    """


class EventToken(Model):
    """
    A token for event streams.
    """

    expires_at: AwareDatetime
    """
    Open streams before this time; they continue after it.
    """
    token: str
    """
    Send it as `?token=`. Gives access to the tenant's events and transcripts.
    """


class Greeting(Model):
    """
    Start of the conversation.
    """

    interruptible: bool
    """
    Whether the caller can interrupt it.
    """
    mode: Literal["speak", "wait", "generate"] | str
    text: str
    """
    The text for mode `speak`.
    """


class Interruption(Model):
    """
    Caller interruptions.
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
    Speech that interrupts; shorter noises only pause the agent.
    """
    min_words: int
    """
    Recognised words that interrupt before `min_speech_ms`; 0 ignores words.
    """


class InvitedPerson(Model):
    """
    An invited person and the link.
    """

    created_at: AwareDatetime
    """
    When the person was invited, or created the tenant by signing in.
    """
    email: str | None
    """
    Invited address, or the one the identity provider verified; `null` if there is none.
    """
    expires_at: AwareDatetime | None
    """
    When the invitation expires; `null` if none is open.
    """
    id: str
    last_seen_at: AwareDatetime | None
    """
    Last use of the dashboard, to the minute.
    """
    name: str | None
    """
    Name at the identity provider; `null` while only invited.
    """
    role: Literal["owner", "member", "viewer"] | str
    """
    What the person may do.
    """
    status: Literal["active", "invited"] | str
    """
    `invited` until the invitation is accepted.
    """
    invitation_url: str
    """
    Link to accept or decline. Shown only once.
    """
    warnings: list[str] = []


class LatencyPercentiles(Model):
    """
    Percentiles by the nearest-rank method.
    """

    max: int | None
    """
    Maximum.
    """
    n: int
    """
    Number measured.
    """
    p50: int | None
    """
    Median.
    """
    p95: int | None
    """
    95th percentile.
    """


class ListenAddress(Model):
    """
    Where to listen to a live call.
    """

    expires_at: AwareDatetime
    """
    Connect before this time.
    """
    url: str
    """
    WebSocket URL for one connection. Anyone who has it can listen.
    """


class LlmChoice(Model):
    """
    A language model.
    """

    connection_id: str | None
    """
    `null` for a demo script, which ignores the instructions.
    """
    fallbacks: list[ProviderFallback]
    """
    Tried in order.
    """
    hedge: bool
    """
    Send a second request, to the next or the same model, if the first is slower than usual to respond. The response that starts first is
    spoken; both are charged.
    """
    max_tokens: int | None
    """
    Maximum tokens per response.
    """
    model: str | None
    temperature: float | None
    """
    Sampling temperature.
    """


class MonthlyCalls(Model):
    """
    Calls per month.
    """

    limit: int | None
    """
    `null` for no cap.
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
    name: Literal["concurrent_calls", "monthly_calls", "cost_per_day_usd"] | str
    used: float
    """
    Usage.
    """


class NewApiKey(Model):
    """
    A new key.
    """

    created_at: AwareDatetime
    expires_at: AwareDatetime | None
    """
    `null` if it never expires.
    """
    id: str
    key: str
    """
    The full key. Shown only once.
    """
    name: str | None
    """
    Label.
    """
    prefix: str
    """
    Public part.
    """
    warnings: list[str] = []


class Person(Model):
    """
    A person.
    """

    created_at: AwareDatetime
    """
    When the person was invited, or created the tenant by signing in.
    """
    email: str | None
    """
    Invited address, or the one the identity provider verified; `null` if there is none.
    """
    expires_at: AwareDatetime | None
    """
    When the invitation expires; `null` if none is open.
    """
    id: str
    last_seen_at: AwareDatetime | None
    """
    Last use of the dashboard, to the minute.
    """
    name: str | None
    """
    Name at the identity provider; `null` while only invited.
    """
    role: Literal["owner", "member", "viewer"] | str
    """
    What the person may do.
    """
    status: Literal["active", "invited"] | str
    """
    `invited` until the invitation is accepted.
    """
    warnings: list[str] = []


class PhoneNumber(Model):
    """
    A phone number.
    """

    connection_id: str
    """
    Carrier connection.
    """
    created_at: AwareDatetime
    id: str
    inbound_agent_id: str | None
    """
    Agent that answers; `null` rejects inbound calls.
    """
    inbound_url: str | None
    """
    URL to configure at the carrier; `null` if none is needed. It accepts only requests with the carrier's signature.
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
    warnings: list[str] = []


class Privacy(Model):
    """
    Redaction and retention.
    """

    redact: list[Literal["card_numbers", "phone_numbers", "email_addresses", "digits", "dtmf"] | str]
    """
    What to redact from everything stored about a conversation, and from its events. The agent hears the original; recordings keep it.
    """
    retention_days: int | None
    """
    Days after the call until its words are deleted; `null` keeps them.
    """


class ProviderFallback(Model):
    """
    A fallback provider.
    """

    connection_id: str
    """
    The connection.
    """
    model: str | None
    voice: str | None
    """
    Voice name, for text-to-speech.
    """


class RateLimit(Model):
    """
    Requests in a sliding window.
    """

    limit: int
    """
    Requests per window. The `RateLimit` header has the remaining number.
    """
    window_seconds: int
    """
    Window length.
    """


class RealtimeChoice(Model):
    """
    A speech-to-speech model.
    """

    connection_id: str
    """
    The connection.
    """
    fallbacks: list[ProviderFallback]
    """
    Tried in order if the previous one is unreachable, keeps disconnecting or understands nothing.
    """
    model: str | None
    voice: str | None


class Recording(Model):
    """
    Call recording.
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
    End-of-turn decision.
    """
    first_audio_ms: int | None
    """
    First audio generated.
    """
    first_token_ms: int | None
    """
    First text from the model; `null` for speech-to-speech. Can precede `end_of_turn_ms` if the model was asked early.
    """
    heard_ms: int
    """
    First audio heard.
    """


class ResponseTimes(Model):
    """
    Response times in milliseconds, within 5 %.
    """

    n: int
    """
    Number measured.
    """
    p50: int | None
    """
    Median.
    """
    p95: int | None
    """
    95th percentile.
    """


class Silence(Model):
    """
    Caller silence.
    """

    hangup_after_seconds: int | None
    """
    Silence after which the agent hangs up; `null` for never.
    """
    max_reprompts: int
    """
    Maximum number of reprompts.
    """
    reprompt_after_seconds: int
    """
    Silence after which the agent reprompts.
    """


class Statistics(Model):
    """
    Calls that ended in a time span.
    """

    after: AwareDatetime
    """
    Start of the first bucket.
    """
    before: AwareDatetime
    """
    End of the last bucket.
    """
    buckets: list[StatisticsBucket]
    """
    All intervals, oldest first.
    """
    interval: Literal["hour", "day"] | str
    totals: StatisticsFigures


class StatisticsBucket(Model):
    """
    Calls that ended in an interval.
    """

    cost_usd: float | None
    """
    Cost by the price table; `null` if nothing used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some usage has no price, so the cost is incomplete.
    """
    calls: int
    """
    Calls that ended.
    """
    completed: int
    """
    Calls that ended normally.
    """
    failed: int
    """
    Calls that failed.
    """
    response_ms: ResponseTimes
    start: AwareDatetime
    """
    Start of the interval.
    """


class StatisticsFigures(Model):
    """
    Figures of ended calls.
    """

    cost_usd: float | None
    """
    Cost by the price table; `null` if nothing used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some usage has no price, so the cost is incomplete.
    """
    calls: int
    """
    Calls that ended.
    """
    completed: int
    """
    Calls that ended normally.
    """
    failed: int
    """
    Calls that failed.
    """
    response_ms: ResponseTimes


class Stored(Model):
    """
    Stored resources. The operator sets the limits; requests beyond one get 422.
    """

    agent_bytes: StoredAmount
    """
    Bytes of the versions of agents, including versions of deleted agents that calls keep.
    """
    agents: StoredAmount
    api_keys: StoredAmount
    """
    API keys that are not revoked.
    """
    connections: StoredAmount
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
    A stored amount.
    """

    in_use: int
    """
    Current amount; can exceed a limit set later.
    """
    limit: int


class SttChoice(Model):
    """
    A speech-to-text provider.
    """

    connection_id: str | None
    """
    `null` for local speech-to-text.
    """
    fallbacks: list[ProviderFallback]
    """
    Tried in order.
    """
    keyterms: list[str]
    """
    Words to expect.
    """
    model: str | None


class Tenant(Model):
    """
    A tenant.
    """

    concurrent_calls: ConcurrentCalls
    """
    Calls queued, dialing or in progress, including inbound calls.
    """
    created_at: AwareDatetime
    dial_policy: DialPolicy
    id: str
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


class Tool(Model):
    """
    A tool for the model.
    """

    description: str | None = None
    """
    When the model should use it.
    """
    type: Literal["end_call", "http", "mcp", "send_dtmf", "transfer"] | str
    connection_id: str | None = None
    """
    An `http` connection whose credentials are sent as headers.
    """
    filler: str | None = None
    """
    Spoken while the tool runs, unless the model already spoke.
    """
    headers: dict[str, str] | None = None
    """
    Extra headers; `{{variable}}` is replaced. Visible to anyone who can read the agent: keep secrets in a connection.
    """
    method: Literal["GET", "POST"] | str | None = None
    name: str | str | None = None
    parameters: dict[str, Any] | None = None
    """
    JSON Schema of the arguments, of type `object`; none if absent.
    """
    timeout_seconds: int | None = None
    """
    Default 8.
    """
    url: str | None = None
    """
    `{{variable}}` is replaced, percent-encoded.
    """
    tools: list[str] = []
    """
    Tools to use; all if empty.
    """
    destinations: list[TransferDestination] = Field([], validate_default=True)
    """
    The targets.
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
    Duration.
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
    What the model was told; `null` if nothing.
    """
    start_ms: int
    """
    Milliseconds since the start of the conversation.
    """
    status: Literal["succeeded", "failed"] | str


class TrafficItem(Model):
    percent: int
    version: int


class Transcript(Model):
    """
    The transcript of a call.
    """

    data: list[TranscriptLine]
    """
    Lines, in the order they were completed.
    """
    tool_calls: list[ToolCall]
    """
    Tool calls, in the order they ended.
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
    Response latency; only on the first line of a response.
    """
    role: Literal["caller", "agent"] | str
    stages: ResponseStages | None
    """
    Set on the same lines as `latency_ms`.
    """
    start_ms: int
    """
    Milliseconds since the start of the conversation.
    """
    text: str
    """
    Words; the agent's as far as they were heard.
    """
    turn: TranscriptTurn | None
    """
    How the caller's turn ended; `null` for live calls, agent lines and speech-to-speech models.
    """


class TranscriptTurn(Model):
    """
    How a turn of the caller ended.
    """

    because: list[TranscriptTurnWitness]
    """
    Evidence for (positive weight) or against the end; empty unless silence ended it.
    """
    ended_by: Literal["silence", "stt", "keys"] | str
    speculations: int
    """
    Model requests before the turn was over.
    """
    waited_ms: int | None
    """
    Caller silence; `null` if they spoke.
    """


class TranscriptTurnWitness(Model):
    """
    Evidence about the end of a turn.
    """

    value: float
    """
    Amount: 1, or a share.
    """
    weight: float
    """
    Log odds of an end per unit of `value`.
    """
    witness: (
        Literal[
            "no_words",
            "not_final",
            "answer",
            "open_word",
            "loose_word",
            "dictation_begun",
            "dictation_partial",
            "dictation_complete",
            "question",
            "doubtful_question",
            "closed_sentence",
            "suspension",
            "request",
            "short_phrase",
            "short_answer",
            "missing_object",
            "subordinate_clause",
            "missing_number",
            "long_pauses",
            "unknown_language",
        ]
        | str
    )


class TransferDestination(Model):
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


class TtsChoice(Model):
    """
    A text-to-speech provider.
    """

    connection_id: str | None
    """
    `null` for local text-to-speech.
    """
    fallbacks: list[ProviderFallback]
    """
    Tried in order.
    """
    model: str | None
    speed: float | None
    """
    Speaking rate; 1 is normal.
    """
    voice: str | None


class TurnTaking(Model):
    """
    End-of-turn detection.
    """

    eagerness: Literal["low", "normal", "high"] | str
    """
    How soon the agent responds: `low` waits half as long again, `high` a third less.
    """
    max_silence_ms: int
    """
    Silence that always ends a turn.
    """
    min_silence_ms: int
    """
    Silence that ends a turn after a complete sentence.
    """
    speculative: bool
    """
    Ask the model when the turn has probably ended; discard the response if the caller continues.
    """


class UnplacedCall(Model):
    """
    The call that a dry run would place, without an id.
    """

    agent_id: str
    """
    The agent.
    """
    agent_version: int
    """
    Agent version when the call was placed.
    """
    analysis: CallAnalysis | None
    """
    Post-call analysis; `null` until the call ends, and without a conversation.
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
    created_at: AwareDatetime
    """
    When it was accepted.
    """
    dialing_at: AwareDatetime | None
    """
    When it was dialled.
    """
    direction: Literal["inbound", "outbound", "web"] | str
    duration_seconds: int
    """
    Seconds from answer to end.
    """
    end_reason: (
        Literal["caller_hangup", "agent_hangup", "transferred", "api_hangup", "canceled", "voicemail", "silence", "max_duration", "drained"]
        | str
        | None
    )
    ended_at: AwareDatetime | None
    """
    When it ended.
    """
    ended_by: Literal["caller", "agent", "api", "carrier", "system"] | str | None
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
    metadata: dict[str, Any]
    number_id: str | None
    """
    The tenant's number, if any.
    """
    outcome: Any
    """
    Result of the analysis: any JSON value, in the shape of the agent's `analysis.schema`, or `null`.
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
    When to dial, as requested; queued until then.
    """
    status: Literal["queued", "dialing", "in_progress", "completed", "failed"] | str
    summary: str | None
    """
    Summary of the conversation.
    """
    to: str
    """
    The callee.
    """
    turns: int
    """
    Caller turns that the agent answered.
    """
    usage: CallUsage | None
    variables: dict[str, str]
    """
    Values for `{{name}}` in the agent's texts.
    """
    web: WebPart | None = None
    """
    Where the browser connects; only in the response that creates a web call.
    """
    warnings: list[str] = []


class Usage(Model):
    """
    Calls, minutes and cost of a time span.
    """

    after: AwareDatetime
    """
    Start of the first day.
    """
    agents: list[UsedByAgent]
    """
    By agent, most minutes first, at most 100.
    """
    before: AwareDatetime
    """
    End of the last day.
    """
    connections: list[UsedByConnection]
    """
    By carrier connection, most minutes first, at most 100.
    """
    days: list[UsedByDay]
    """
    All days, oldest first.
    """
    totals: UsageFigures


class UsageFigures(Model):
    """
    Calls, minutes and cost.
    """

    cost_usd: float | None
    """
    Cost by the price table; `null` if nothing used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some usage has no price, so the cost is incomplete.
    """
    calls: int
    """
    Calls that ended.
    """


class UsedByAgent(Model):
    """
    An agent.
    """

    cost_usd: float | None
    """
    Cost by the price table; `null` if nothing used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some usage has no price, so the cost is incomplete.
    """
    calls: int
    """
    Calls that ended.
    """
    agent_id: str
    """
    The agent.
    """
    name: str | None
    """
    `null` if deleted.
    """
    response_ms: ResponseTimes


class UsedByConnection(Model):
    """
    A connection.
    """

    cost_usd: float | None
    """
    Cost by the price table; `null` if nothing used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some usage has no price, so the cost is incomplete.
    """
    calls: int
    """
    Calls that ended.
    """
    connection_id: str | None
    """
    `null` for browser calls.
    """
    name: str | None
    """
    `null` if deleted and for browser calls.
    """
    provider: Literal["simulator", "twilio", "signalwire", "telnyx", "plivo", "vonage", "sip", "web"] | str | None
    """
    `null` if deleted.
    """


class UsedByDay(Model):
    """
    A day.
    """

    cost_usd: float | None
    """
    Cost by the price table; `null` if nothing used has a price.
    """
    minutes: float
    """
    Minutes from answer to end.
    """
    unpriced: bool
    """
    Whether some usage has no price, so the cost is incomplete.
    """
    calls: int
    """
    Calls that ended.
    """
    start: AwareDatetime
    """
    Start of the day (UTC).
    """


class Voice(Model):
    """
    A voice.
    """

    default: bool
    """
    Whether it is the default voice.
    """
    description: str | None
    """
    The provider's description.
    """
    languages: list[str]
    """
    Languages as BCP 47 tags; empty if it speaks all languages of its model.
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
    Whether the list is complete.
    """
    data: list[Voice]
    """
    The voices.
    """


class WebPart(Model):
    """
    Where a web call's browser connects.
    """

    expires_at: AwareDatetime
    """
    Connect before this time, or the call fails as `no_answer`.
    """
    url: str
    """
    WebSocket URL for one call. Anyone who has it can talk.
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
    Why the service disabled it, after 5 days of failures only; otherwise `null`.
    """
    enabled: bool
    """
    Whether events are sent.
    """
    events: list[
        Literal["call.queued", "call.dialing", "call.in_progress", "call.completed", "call.failed", "call.received", "carrier.hangup"] | str
    ]
    """
    Events to send; all if empty.
    """
    failing_since: AwareDatetime | None
    """
    First failure since the last success; `null` while attempts succeed.
    """
    id: str
    updated_at: AwareDatetime
    url: str
    """
    URL that receives the events.
    """
    warnings: list[str] = []


class WebhookDelivery(Model):
    """
    Delivery of an event to an endpoint.
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
    id: str
    """
    Also in the request body and the `X-Voice-Delivery` header.
    """
    next_attempt_at: AwareDatetime | None
    """
    When the next attempt is due.
    """
    state: Literal["pending", "sending", "succeeded", "failed", "canceled"] | str


class WebhookDeliveryAttempt(Model):
    """
    A delivery attempt.
    """

    duration_ms: int | None
    """
    `null` while it runs, or if the service stopped first.
    """
    error: str | None
    """
    `null` if it succeeded.
    """
    number: int
    """
    Number, from 1.
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
    HTTP status; `null` without a response.
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
    id: str
    """
    Also in the request body and the `X-Voice-Delivery` header.
    """
    next_attempt_at: AwareDatetime | None
    """
    When the next attempt is due.
    """
    state: Literal["pending", "sending", "succeeded", "failed", "canceled"] | str
    attempt_log: list[WebhookDeliveryAttempt]
    """
    Attempts, oldest first.
    """


class WebhookWithSecret(Model):
    """
    A webhook endpoint with its signing secret.
    """

    created_at: AwareDatetime
    """
    When it was registered.
    """
    disabled_reason: str | None
    """
    Why the service disabled it, after 5 days of failures only; otherwise `null`.
    """
    enabled: bool
    """
    Whether events are sent.
    """
    events: list[
        Literal["call.queued", "call.dialing", "call.in_progress", "call.completed", "call.failed", "call.received", "carrier.hangup"] | str
    ]
    """
    Events to send; all if empty.
    """
    failing_since: AwareDatetime | None
    """
    First failure since the last success; `null` while attempts succeed.
    """
    id: str
    updated_at: AwareDatetime
    url: str
    """
    URL that receives the events.
    """
    secret: str
    """
    Signing secret. Shown only once.
    """
    warnings: list[str] = []
