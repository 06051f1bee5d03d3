// Written by generate.mjs from docs/openapi.json: do not edit.

import type { Written } from "./shapes.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** An agent. */
export type Agent = Written<Schemas["Agent"]>;
/** One version of an agent's configuration. A call keeps the version it was placed with. */
export type AgentConfig = Schemas["AgentConfig"];
/** Maximum ring time and duration of a call. */
export type AgentLimits = Schemas["AgentLimits"];
/** Maximum ring time and duration of a call. */
export type AgentLimitsInput = Schemas["AgentLimitsInput"];
/** A variable of a call, used as `{{name}}` in texts. */
export type AgentVariable = Schemas["AgentVariable"];
/** A variable of a call, used as `{{name}}` in texts. */
export type AgentVariableInput = Schemas["AgentVariableInput"];
/** A version of an agent. */
export type AgentVersion = Schemas["AgentVersion"];
/** Post-call analysis. */
export type AnalysisSettings = Schemas["AnalysisSettings"];
/** Post-call analysis. */
export type AnalysisSettingsInput = Schemas["AnalysisSettingsInput"];
/** Who answered a call. */
export type AnsweredBy = Schemas["AnsweredBy"];
/** How to handle answering machines. */
export type AnsweringMachine = Schemas["AnsweringMachine"];
/** How to handle answering machines. */
export type AnsweringMachineInput = Schemas["AnsweringMachineInput"];
/** A key without its secret. */
export type ApiKey = Schemas["ApiKey"];
/** What needs attention. */
export type Attention = Schemas["Attention"];
/** Something that needs attention. */
export type AttentionItem = Schemas["AttentionItem"];
/** What is the matter. */
export type AttentionKind = Schemas["AttentionKind"];
/** What something is the matter with. */
export type AttentionSubject = Schemas["AttentionSubject"];
/** What something is. */
export type AttentionSubjectKind = Schemas["AttentionSubjectKind"];
/** A call. */
export type Call = Written<Schemas["Call"]>;
/** A phone number or SIP address, or `web`. Commas separate values, so an address with a comma cannot be found. */
export type CallAddress = Schemas["CallAddress"];
/** How post-call analysis went. */
export type CallAnalysis = Schemas["CallAnalysis"];
/** Whether a language model analysed a conversation. */
export type CallAnalysisStatus = Schemas["CallAnalysisStatus"];
/** The carrier's data of a call. */
export type CallCarrier = Schemas["CallCarrier"];
export type CallCompletedData = Schemas["CallCompletedData"];
export type CallCompletedEvent = Schemas["CallCompletedEvent"];
/** Costs by part, in US dollars. */
export type CallCosts = Schemas["CallCosts"];
/** One decision about a turn. */
export type CallDecision = Schemas["CallDecision"];
/** Something that speaks for or against the end of a turn. */
export type CallDecisionEvidence = Schemas["CallDecisionEvidence"];
/** What was decided. */
export type CallDecisionKind = Schemas["CallDecisionKind"];
/** The decisions of a call. */
export type CallDecisions = Schemas["CallDecisions"];
/** A delivery of one of the call's events. */
export type CallDelivery = Schemas["CallDelivery"];
export type CallDialingEvent = Schemas["CallDialingEvent"];
/** Who placed the call. */
export type CallDirection = Schemas["CallDirection"];
/** Why a completed call ended. */
export type CallEndReason = Schemas["CallEndReason"];
/** Who ended a call. */
export type CallEndedBy = Schemas["CallEndedBy"];
/** An event of a call, as the API returns it. */
export type CallEvent = Schemas["CallEvent"];
/** What the data of every event of a call holds. */
export type CallEventData = Schemas["CallEventData"];
/** Events of a call. */
export type CallEvents = Schemas["CallEvents"];
export type CallFailedData = Schemas["CallFailedData"];
export type CallFailedEvent = Schemas["CallFailedEvent"];
/** Why a call failed. The list is closed: a code never changes its meaning, and none is added. */
export type CallFailure = Schemas["CallFailure"];
export type CallInProgressEvent = Schemas["CallInProgressEvent"];
/** How long the caller waited, in whole milliseconds. */
export type CallLatency = Schemas["CallLatency"];
/** Overrides for the agent's limits. */
export type CallLimitOverrides = Schemas["CallLimitOverrides"];
/** Agent settings to override for one call. */
export type CallOverrides = Schemas["CallOverrides"];
export type CallQueuedEvent = Schemas["CallQueuedEvent"];
export type CallReceivedEvent = Schemas["CallReceivedEvent"];
/** Where a call stands. It only moves down this list; the last two are final. */
export type CallStatus = Schemas["CallStatus"];
/** Usage in the units that providers bill. */
export type CallUsage = Schemas["CallUsage"];
/** What a carrier says about the end of a call, in one vocabulary for all carriers. */
export type CarrierCause = Schemas["CarrierCause"];
export type CarrierHangupData = Schemas["CarrierHangupData"];
export type CarrierHangupEvent = Schemas["CarrierHangupEvent"];
/** Concurrent calls. */
export type ConcurrentCalls = Schemas["ConcurrentCalls"];
/** A connection. */
export type Connection = Written<Schemas["Connection"]>;
/** One thing that was tried. */
export type ConnectionCheck = Schemas["ConnectionCheck"];
/** What a check tries. */
export type ConnectionCheckName = Schemas["ConnectionCheckName"];
/** What a connection can be used for. */
export type ConnectionKind = Schemas["ConnectionKind"];
/** Limits of a connection. */
export type ConnectionLimits = Schemas["ConnectionLimits"];
/** Limits of a connection. */
export type ConnectionLimitsInput = Schemas["ConnectionLimitsInput"];
/** Result of a connection test. */
export type ConnectionTest = Schemas["ConnectionTest"];
/** An agent to create. Only `name` and `instructions` are required. */
export type CreateAgent = Schemas["CreateAgent"];
/** A key to create. */
export type CreateApiKey = Schemas["CreateApiKey"];
/** A call to place. */
export type CreateCall = Schemas["CreateCall"];
/** A connection to create. */
export type CreateConnection = Schemas["CreateConnection"];
/** A number to add. */
export type CreateNumber = Schemas["CreateNumber"];
/** What a voice says in its sample. */
export type CreateVoiceSample = Schemas["CreateVoiceSample"];
/** A webhook endpoint to register. */
export type CreateWebhook = Schemas["CreateWebhook"];
/** New secrets, or `null` to remove one. */
export type CredentialChanges = Schemas["CredentialChanges"];
/** Secrets under the provider's names. */
export type Credentials = Schemas["Credentials"];
/** What is left of an event whose words were deleted. */
export type DeletedData = Schemas["DeletedData"];
/** Which numbers a tenant can call; set by the operator. Premium-rate, shared-cost and satellite numbers are refused unless
 * `allow` names them. The tenant's own numbers are always refused. */
export type DialPolicy = Schemas["DialPolicy"];
/** How the caller's keys are collected into one input, which ends with the finish key, after a pause, or at its maximum
 * length. */
export type Dtmf = Schemas["Dtmf"];
/** How the caller's keys are collected into one input, which ends with the finish key, after a pause, or at its maximum
 * length. */
export type DtmfInput = Schemas["DtmfInput"];
/** How soon the agent takes the turn. */
export type Eagerness = Schemas["Eagerness"];
/** The data of an event, by its kind. */
export type EventData = Schemas["EventData"];
/** The events of a call. */
export type EventKind = Schemas["EventKind"];
/** What opens event streams. */
export type EventToken = Schemas["EventToken"];
/** The start of the conversation. */
export type Greeting = Schemas["Greeting"];
/** The start of the conversation. */
export type GreetingInput = Schemas["GreetingInput"];
/** Who speaks first. */
export type GreetingMode = Schemas["GreetingMode"];
/** The greeting's text, as a string or as an agent's `greeting` object. */
export type GreetingOverride = Schemas["GreetingOverride"];
/** A greeting's text, as in an agent. */
export type GreetingText = Schemas["GreetingText"];
/** The HTTP method of a tool's request. */
export type HttpMethod = Schemas["HttpMethod"];
/** What happens when the caller interrupts. */
export type Interruption = Schemas["Interruption"];
/** What happens when the caller interrupts. */
export type InterruptionInput = Schemas["InterruptionInput"];
/** A person to invite. */
export type InvitePerson = Schemas["InvitePerson"];
/** An invited person with the link of the invitation. */
export type InvitedPerson = Written<Schemas["InvitedPerson"]>;
/** Percentiles by the nearest-rank method. */
export type LatencyPercentiles = Schemas["LatencyPercentiles"];
/** A limit. */
export type LimitName = Schemas["LimitName"];
/** Where a live call is heard. */
export type ListenAddress = Schemas["ListenAddress"];
/** A language model and its settings. */
export type LlmChoice = Schemas["LlmChoice"];
/** A language model and its settings. */
export type LlmChoiceInput = Schemas["LlmChoiceInput"];
/** Whether to detect answering machines. */
export type MachineDetection = Schemas["MachineDetection"];
/** Your own data, returned in the call and its events. */
export type Metadata = Schemas["Metadata"];
/** Minutes and cost of ended calls. */
export type MinutesAndCost = Schemas["MinutesAndCost"];
/** Calls per month. */
export type MonthlyCalls = Schemas["MonthlyCalls"];
/** A limit that is near. */
export type NearLimit = Schemas["NearLimit"];
/** A new key. */
export type NewApiKey = Written<Schemas["NewApiKey"]>;
/** What to do when a machine answers. */
export type OnMachine = Schemas["OnMachine"];
/** A person. */
export type Person = Written<Schemas["Person"]>;
/** What a person may do: `viewer` reads; `member` also changes everything except people, API keys and settings of the tenant; `owner` does everything. */
export type PersonRole = Schemas["PersonRole"];
/** Whether a person belongs to the tenant. */
export type PersonStatus = Schemas["PersonStatus"];
/** A phone number. */
export type PhoneNumber = Written<Schemas["PhoneNumber"]>;
/** Redaction and retention of a call's words. */
export type Privacy = Schemas["Privacy"];
/** Redaction and retention of a call's words. */
export type PrivacyInput = Schemas["PrivacyInput"];
/** What is wrong, for programs; `docs/api.md` says when. Later versions can have more codes; none changes its meaning. */
export type ProblemCode = Schemas["ProblemCode"];
/** A provider to try when the previous one fails. */
export type ProviderFallback = Schemas["ProviderFallback"];
/** A provider to try when the previous one fails. */
export type ProviderFallbackInput = Schemas["ProviderFallbackInput"];
/** A carrier or provider. */
export type ProviderName = Schemas["ProviderName"];
/** Requests in a sliding window. */
export type RateLimit = Schemas["RateLimit"];
/** A speech-to-speech model and its settings. */
export type RealtimeChanges = Schemas["RealtimeChanges"];
/** A speech-to-speech model and its settings. */
export type RealtimeChoice = Schemas["RealtimeChoice"];
/** A speech-to-speech model and its settings. */
export type RealtimeChoiceInput = Schemas["RealtimeChoiceInput"];
/** Whether calls are recorded. */
export type Recording = Schemas["Recording"];
/** Whether calls are recorded. */
export type RecordingInput = Schemas["RecordingInput"];
/** A kind of private data. */
export type RedactedKind = Schemas["RedactedKind"];
export type RequestWarnings = Schemas["RequestWarnings"];
/** When a response reached each stage, in milliseconds since the conversation began. */
export type ResponseStages = Schemas["ResponseStages"];
/** Response times in milliseconds, within 5 %. */
export type ResponseTimes = Schemas["ResponseTimes"];
/** Words for the agent to say. */
export type Say = Schemas["Say"];
/** DTMF digits to send. */
export type SendDtmf = Schemas["SendDtmf"];
/** What happens when the caller is silent. */
export type Silence = Schemas["Silence"];
/** What happens when the caller is silent. */
export type SilenceInput = Schemas["SilenceInput"];
/** A call to simulate. */
export type SimulateCall = Schemas["SimulateCall"];
/** Calls that ended in a time span. */
export type Statistics = Schemas["Statistics"];
/** Calls that ended in an interval. */
export type StatisticsBucket = Schemas["StatisticsBucket"];
/** Figures of ended calls. */
export type StatisticsFigures = Schemas["StatisticsFigures"];
/** The length of a bucket. */
export type StatisticsInterval = Schemas["StatisticsInterval"];
/** What a tenant stores; the operator sets the limits. Beyond one, a request is 422. */
export type Stored = Schemas["Stored"];
/** An amount of something that is stored. */
export type StoredAmount = Schemas["StoredAmount"];
/** A speech-to-text provider and its settings. */
export type SttChoice = Schemas["SttChoice"];
/** A speech-to-text provider and its settings. */
export type SttChoiceInput = Schemas["SttChoiceInput"];
/** A tenant. */
export type Tenant = Schemas["Tenant"];
/** An event of any call of a tenant, as the API returns it. */
export type TenantEvent = Schemas["TenantEvent"];
/** A tool that the model can call. Its `type` decides which fields apply. */
export type Tool = Schemas["Tool"];
/** A tool that the agent used. */
export type ToolCall = Schemas["ToolCall"];
/** Whether a tool worked. */
export type ToolCallStatus = Schemas["ToolCallStatus"];
/** A tool that the model can call. Its `type` decides which fields apply. */
export type ToolInput = Schemas["ToolInput"];
/** The type of a tool. */
export type ToolKind = Schemas["ToolKind"];
/** Which versions new calls get, in percents that add up to 100. Defaults to the newest. */
export type Traffic = Schemas["Traffic"];
/** The transcript of a call. */
export type Transcript = Schemas["Transcript"];
/** A line of a transcript. */
export type TranscriptLine = Schemas["TranscriptLine"];
/** Who said a line of a transcript. */
export type TranscriptRole = Schemas["TranscriptRole"];
/** How a turn of the caller ended. */
export type TranscriptTurn = Schemas["TranscriptTurn"];
/** Something that speaks for or against the end of a turn. */
export type TranscriptTurnWitness = Schemas["TranscriptTurnWitness"];
/** The transfer target. */
export type TransferCall = Schemas["TransferCall"];
/** A transfer target. */
export type TransferDestination = Schemas["TransferDestination"];
/** A transfer target. */
export type TransferDestinationInput = Schemas["TransferDestinationInput"];
/** A text-to-speech provider and its settings. */
export type TtsChoice = Schemas["TtsChoice"];
/** A text-to-speech provider and its settings. */
export type TtsChoiceInput = Schemas["TtsChoiceInput"];
/** What ended a caller's turn. */
export type TurnEndedBy = Schemas["TurnEndedBy"];
/** When a caller's turn ends. */
export type TurnTaking = Schemas["TurnTaking"];
/** When a caller's turn ends. */
export type TurnTakingInput = Schemas["TurnTakingInput"];
/** The call that a dry run would place: a call without id, since there is no such call. */
export type UnplacedCall = Written<Schemas["UnplacedCall"]>;
/** Changes to merge into the agent, object by object. `null` restores a default. `CreateAgent` describes the fields. */
export type UpdateAgent = Schemas["UpdateAgent"];
/** Changes to merge into the connection; `null` removes. */
export type UpdateConnection = Schemas["UpdateConnection"];
/** Changes to merge into the number; `null` clears. */
export type UpdateNumber = Schemas["UpdateNumber"];
/** Changes to a person. */
export type UpdatePerson = Schemas["UpdatePerson"];
/** Changes to merge into the endpoint; `null` restores a default. */
export type UpdateWebhook = Schemas["UpdateWebhook"];
/** Calls, minutes and cost of a time span. */
export type Usage = Schemas["Usage"];
/** Calls, minutes and cost. */
export type UsageFigures = Schemas["UsageFigures"];
/** An agent. */
export type UsedByAgent = Schemas["UsedByAgent"];
/** A connection. */
export type UsedByConnection = Schemas["UsedByConnection"];
/** A day. */
export type UsedByDay = Schemas["UsedByDay"];
/** The value of a variable. Send long ids as strings. */
export type VariableValue = Schemas["VariableValue"];
/** Values for `{{name}}` in the agent's texts, by name. Send long ids as strings: JavaScript and others round numbers of more than 15 digits. */
export type Variables = Schemas["Variables"];
/** A voice. */
export type Voice = Schemas["Voice"];
/** The voices of a connection. */
export type VoiceList = Schemas["VoiceList"];
/** Where the browser of a web call connects. */
export type WebPart = Schemas["WebPart"];
/** A webhook endpoint. */
export type Webhook = Written<Schemas["Webhook"]>;
/** A delivery of one event to one endpoint. */
export type WebhookDelivery = Schemas["WebhookDelivery"];
/** A delivery attempt. */
export type WebhookDeliveryAttempt = Schemas["WebhookDeliveryAttempt"];
/** Event of a delivery. */
export type WebhookDeliveryEvent = Schemas["WebhookDeliveryEvent"];
/** State of a delivery. */
export type WebhookDeliveryState = Schemas["WebhookDeliveryState"];
/** A delivery with every attempt. */
export type WebhookDeliveryWithAttempts = Schemas["WebhookDeliveryWithAttempts"];
/** The body of a delivery. Later versions can send more kinds of events and more fields. */
export type WebhookEvent = Schemas["WebhookEvent"];
/** What the body of every delivery holds. */
export type WebhookEventHead = Schemas["WebhookEventHead"];
export type WebhookTestData = Schemas["WebhookTestData"];
export type WebhookTestEvent = Schemas["WebhookTestEvent"];
/** A webhook endpoint with its new signing secret. */
export type WebhookWithSecret = Written<Schemas["WebhookWithSecret"]>;
