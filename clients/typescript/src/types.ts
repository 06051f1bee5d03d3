// Written by generate.mjs from docs/openapi.json: do not edit.

import type { Written } from "./shapes.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** An agent. */
export type Agent = Written<Schemas["Agent"]>;
/** A version of an agent's configuration. Calls keep their version. */
export type AgentConfig = Schemas["AgentConfig"];
/** Call time limits. */
export type AgentLimits = Schemas["AgentLimits"];
/** Call time limits. */
export type AgentLimitsInput = Schemas["AgentLimitsInput"];
/** A call variable, used as `{{name}}`. */
export type AgentVariable = Schemas["AgentVariable"];
/** A call variable, used as `{{name}}`. */
export type AgentVariableInput = Schemas["AgentVariableInput"];
/** A version of an agent. */
export type AgentVersion = Schemas["AgentVersion"];
/** Post-call analysis. */
export type AnalysisSettings = Schemas["AnalysisSettings"];
/** Post-call analysis. */
export type AnalysisSettingsInput = Schemas["AnalysisSettingsInput"];
/** Who answered a call. */
export type AnsweredBy = Schemas["AnsweredBy"];
/** Answering machine handling. */
export type AnsweringMachine = Schemas["AnsweringMachine"];
/** Answering machine handling. */
export type AnsweringMachineInput = Schemas["AnsweringMachineInput"];
/** A key without its secret. */
export type ApiKey = Schemas["ApiKey"];
/** What needs attention. */
export type Attention = Schemas["Attention"];
/** Something that needs attention. */
export type AttentionItem = Schemas["AttentionItem"];
/** Kind of problem. */
export type AttentionKind = Schemas["AttentionKind"];
/** What a problem concerns. */
export type AttentionSubject = Schemas["AttentionSubject"];
/** Kind of resource. */
export type AttentionSubjectKind = Schemas["AttentionSubjectKind"];
/** A call. */
export type Call = Written<Schemas["Call"]>;
/** Phone number, SIP address or `web`. Commas separate values: addresses with a comma cannot be found. */
export type CallAddress = Schemas["CallAddress"];
/** Result of post-call analysis. */
export type CallAnalysis = Schemas["CallAnalysis"];
/** Whether the conversation was analysed. */
export type CallAnalysisStatus = Schemas["CallAnalysisStatus"];
/** The carrier's data of a call. */
export type CallCarrier = Schemas["CallCarrier"];
export type CallCompleted = Schemas["CallCompleted"];
export type CallCompletedData = Schemas["CallCompletedData"];
export type CallCompletedEvent = Schemas["CallCompletedEvent"];
/** Costs by part, in US dollars. */
export type CallCosts = Schemas["CallCosts"];
/** One decision about a turn. */
export type CallDecision = Schemas["CallDecision"];
/** Evidence about the end of a turn. */
export type CallDecisionEvidence = Schemas["CallDecisionEvidence"];
/** Kind of decision. */
export type CallDecisionKind = Schemas["CallDecisionKind"];
/** The decisions of a call. */
export type CallDecisions = Schemas["CallDecisions"];
/** Delivery of one of the call's events. */
export type CallDelivery = Schemas["CallDelivery"];
export type CallDialing = Schemas["CallDialing"];
export type CallDialingEvent = Schemas["CallDialingEvent"];
/** Who placed the call. */
export type CallDirection = Schemas["CallDirection"];
/** Why a completed call ended. */
export type CallEndReason = Schemas["CallEndReason"];
/** Who ended a call. */
export type CallEndedBy = Schemas["CallEndedBy"];
/** An event of a call. */
export type CallEvent = Schemas["CallEvent"];
/** Data of every call event. */
export type CallEventData = Schemas["CallEventData"];
export type CallEventHead = Schemas["CallEventHead"];
/** Events of a call. */
export type CallEvents = Schemas["CallEvents"];
export type CallFailed = Schemas["CallFailed"];
export type CallFailedData = Schemas["CallFailedData"];
export type CallFailedEvent = Schemas["CallFailedEvent"];
/** Why a call failed. Codes are final: none changes meaning, none is added. */
export type CallFailure = Schemas["CallFailure"];
export type CallInProgress = Schemas["CallInProgress"];
export type CallInProgressEvent = Schemas["CallInProgressEvent"];
/** How long the caller waited. */
export type CallLatency = Schemas["CallLatency"];
/** Overrides for the agent's limits. */
export type CallLimitOverrides = Schemas["CallLimitOverrides"];
/** Agent settings to override for one call. */
export type CallOverrides = Schemas["CallOverrides"];
export type CallQueued = Schemas["CallQueued"];
export type CallQueuedEvent = Schemas["CallQueuedEvent"];
export type CallReceived = Schemas["CallReceived"];
export type CallReceivedEvent = Schemas["CallReceivedEvent"];
/** Call status. It only moves down this list; the last two are final. */
export type CallStatus = Schemas["CallStatus"];
/** Usage in the providers' units. */
export type CallUsage = Schemas["CallUsage"];
/** The carrier's reason for the end of a call, uniform across carriers. */
export type CarrierCause = Schemas["CarrierCause"];
export type CarrierHangup = Schemas["CarrierHangup"];
export type CarrierHangupData = Schemas["CarrierHangupData"];
export type CarrierHangupEvent = Schemas["CarrierHangupEvent"];
/** A carrier; `web` for browser calls. */
export type CarrierName = Schemas["CarrierName"];
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
/** An agent to create. */
export type CreateAgent = Schemas["CreateAgent"];
/** A key to create. */
export type CreateApiKey = Schemas["CreateApiKey"];
/** A call to place. */
export type CreateCall = Schemas["CreateCall"];
/** A connection to create. */
export type CreateConnection = Schemas["CreateConnection"];
/** A number to add. */
export type CreateNumber = Schemas["CreateNumber"];
/** A voice sample to create. */
export type CreateVoiceSample = Schemas["CreateVoiceSample"];
/** A webhook endpoint to register. */
export type CreateWebhook = Schemas["CreateWebhook"];
/** New secrets; `null` removes one. */
export type CredentialChanges = Schemas["CredentialChanges"];
/** Provider-specific secrets. */
export type Credentials = Schemas["Credentials"];
/** Numbers the tenant can call; set by the operator. Premium-rate, shared-cost and satellite numbers must be named in `allow`. The tenant's own
 * numbers are always refused. */
export type DialPolicy = Schemas["DialPolicy"];
/** Collects the caller's keys into one input, up to the finish key, a pause or the maximum length. */
export type Dtmf = Schemas["Dtmf"];
/** Collects the caller's keys into one input, up to the finish key, a pause or the maximum length. */
export type DtmfInput = Schemas["DtmfInput"];
/** How soon the agent responds. */
export type Eagerness = Schemas["Eagerness"];
/** Ends the call once the caller has heard the goodbye. Every agent has it; list it to change its description. */
export type EndCallTool = Schemas["EndCallTool"];
/** Ends the call once the caller has heard the goodbye. Every agent has it; list it to change its description. */
export type EndCallToolInput = Schemas["EndCallToolInput"];
/** The events of a call. */
export type EventKind = Schemas["EventKind"];
/** A token for event streams. */
export type EventToken = Schemas["EventToken"];
/** Kind of evidence about the end of a turn. */
export type EvidenceName = Schemas["EvidenceName"];
/** Start of the conversation. */
export type Greeting = Schemas["Greeting"];
/** Start of the conversation. */
export type GreetingInput = Schemas["GreetingInput"];
/** Who speaks first. */
export type GreetingMode = Schemas["GreetingMode"];
/** Greeting text, as a string or an agent's `greeting` object. */
export type GreetingOverride = Schemas["GreetingOverride"];
/** A greeting's text, as in an agent. */
export type GreetingText = Schemas["GreetingText"];
/** The HTTP method of a tool's request: `POST`, the default, sends arguments as JSON, `GET` as query parameters. */
export type HttpMethod = Schemas["HttpMethod"];
/** Calls a web service and gives the response to the model. */
export type HttpTool = Schemas["HttpTool"];
/** Calls a web service and gives the response to the model. */
export type HttpToolInput = Schemas["HttpToolInput"];
/** Caller interruptions. */
export type Interruption = Schemas["Interruption"];
/** Caller interruptions. */
export type InterruptionInput = Schemas["InterruptionInput"];
/** A person to invite. */
export type InvitePerson = Schemas["InvitePerson"];
/** An invited person and the link. */
export type InvitedPerson = Written<Schemas["InvitedPerson"]>;
/** Percentiles by the nearest-rank method. */
export type LatencyPercentiles = Schemas["LatencyPercentiles"];
/** A limit. */
export type LimitName = Schemas["LimitName"];
/** Where to listen to a live call. */
export type ListenAddress = Schemas["ListenAddress"];
/** A language model. */
export type LlmChoice = Schemas["LlmChoice"];
/** A language model. */
export type LlmChoiceInput = Schemas["LlmChoiceInput"];
/** Whether to detect answering machines. */
export type MachineDetection = Schemas["MachineDetection"];
/** Adds the tools of an MCP server, over streamable HTTP. The server describes them. */
export type McpTool = Schemas["McpTool"];
/** Adds the tools of an MCP server, over streamable HTTP. The server describes them. */
export type McpToolInput = Schemas["McpToolInput"];
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
/** Action when a machine answers. */
export type OnMachine = Schemas["OnMachine"];
/** A person. */
export type Person = Written<Schemas["Person"]>;
/** `viewer` reads; `member` also changes everything except people, API keys and tenant settings; `owner` does everything. */
export type PersonRole = Schemas["PersonRole"];
/** Whether a person belongs to the tenant. */
export type PersonStatus = Schemas["PersonStatus"];
/** A phone number. */
export type PhoneNumber = Written<Schemas["PhoneNumber"]>;
/** Redaction and retention. */
export type Privacy = Schemas["Privacy"];
/** Redaction and retention. */
export type PrivacyInput = Schemas["PrivacyInput"];
/** Error code; see `docs/api.md`. None changes its meaning. */
export type ProblemCode = Schemas["ProblemCode"];
/** A fallback provider. */
export type ProviderFallback = Schemas["ProviderFallback"];
/** A fallback provider. */
export type ProviderFallbackInput = Schemas["ProviderFallbackInput"];
/** A carrier or provider. */
export type ProviderName = Schemas["ProviderName"];
/** Requests in a sliding window. */
export type RateLimit = Schemas["RateLimit"];
/** A speech-to-speech model. */
export type RealtimeChanges = Schemas["RealtimeChanges"];
/** A speech-to-speech model. */
export type RealtimeChoice = Schemas["RealtimeChoice"];
/** A speech-to-speech model. */
export type RealtimeChoiceInput = Schemas["RealtimeChoiceInput"];
/** Call recording. */
export type Recording = Schemas["Recording"];
/** Call recording. */
export type RecordingInput = Schemas["RecordingInput"];
/** A kind of private data. */
export type RedactedKind = Schemas["RedactedKind"];
export type RequestWarnings = Schemas["RequestWarnings"];
/** When a response reached each stage, in milliseconds since the conversation began. */
export type ResponseStages = Schemas["ResponseStages"];
/** Response times in milliseconds, within 5 %. */
export type ResponseTimes = Schemas["ResponseTimes"];
/** Text for the agent to say. */
export type Say = Schemas["Say"];
/** DTMF digits to send. */
export type SendDtmf = Schemas["SendDtmf"];
/** Sends DTMF. */
export type SendDtmfTool = Schemas["SendDtmfTool"];
/** Sends DTMF. */
export type SendDtmfToolInput = Schemas["SendDtmfToolInput"];
/** Caller silence. */
export type Silence = Schemas["Silence"];
/** Caller silence. */
export type SilenceInput = Schemas["SilenceInput"];
/** A call to simulate. */
export type SimulateCall = Schemas["SimulateCall"];
/** Calls that ended in a time span. */
export type Statistics = Schemas["Statistics"];
/** Calls that ended in an interval. */
export type StatisticsBucket = Schemas["StatisticsBucket"];
/** Figures of ended calls. */
export type StatisticsFigures = Schemas["StatisticsFigures"];
/** Bucket length. */
export type StatisticsInterval = Schemas["StatisticsInterval"];
/** Stored resources. The operator sets the limits; requests beyond one get 422. */
export type Stored = Schemas["Stored"];
/** A stored amount. */
export type StoredAmount = Schemas["StoredAmount"];
/** A speech-to-text provider. */
export type SttChoice = Schemas["SttChoice"];
/** A speech-to-text provider. */
export type SttChoiceInput = Schemas["SttChoiceInput"];
/** A tenant. */
export type Tenant = Schemas["Tenant"];
/** A tool for the model. */
export type Tool = Schemas["Tool"];
/** A tool that the agent used. */
export type ToolCall = Schemas["ToolCall"];
/** Whether a tool worked. */
export type ToolCallStatus = Schemas["ToolCallStatus"];
/** A tool for the model. */
export type ToolInput = Schemas["ToolInput"];
/** Percentage of new calls per version, 100 in total. Defaults to the newest version. */
export type Traffic = Schemas["Traffic"];
/** The transcript of a call. */
export type Transcript = Schemas["Transcript"];
/** The end of a call. */
export type TranscriptEnd = Schemas["TranscriptEnd"];
/** The `data` of what the stream sends, by its event: `line`, `tool_call`, `end`. */
export type TranscriptItem = Schemas["TranscriptItem"];
/** A line of a transcript. */
export type TranscriptLine = Schemas["TranscriptLine"];
/** Who said a line of a transcript. */
export type TranscriptRole = Schemas["TranscriptRole"];
/** How a turn of the caller ended. */
export type TranscriptTurn = Schemas["TranscriptTurn"];
/** Evidence about the end of a turn. */
export type TranscriptTurnWitness = Schemas["TranscriptTurnWitness"];
/** The transfer target. */
export type TransferCall = Schemas["TransferCall"];
/** A transfer target. */
export type TransferDestination = Schemas["TransferDestination"];
/** A transfer target. */
export type TransferDestinationInput = Schemas["TransferDestinationInput"];
/** Transfers the caller once they have heard the agent's words. */
export type TransferTool = Schemas["TransferTool"];
/** Transfers the caller once they have heard the agent's words. */
export type TransferToolInput = Schemas["TransferToolInput"];
/** A text-to-speech provider. */
export type TtsChoice = Schemas["TtsChoice"];
/** A text-to-speech provider. */
export type TtsChoiceInput = Schemas["TtsChoiceInput"];
/** What ended a caller's turn. */
export type TurnEndedBy = Schemas["TurnEndedBy"];
/** End-of-turn detection. */
export type TurnTaking = Schemas["TurnTaking"];
/** End-of-turn detection. */
export type TurnTakingInput = Schemas["TurnTakingInput"];
/** The call that a dry run would place, without an id. */
export type UnplacedCall = Written<Schemas["UnplacedCall"]>;
/** Changes to merge, object by object; `null` restores a default. `CreateAgent` describes the fields. */
export type UpdateAgent = Schemas["UpdateAgent"];
/** Changes to merge; `null` removes a value. */
export type UpdateConnection = Schemas["UpdateConnection"];
/** Changes to merge; `null` clears a field. */
export type UpdateNumber = Schemas["UpdateNumber"];
/** Changes to a person. */
export type UpdatePerson = Schemas["UpdatePerson"];
/** Changes to merge; `null` restores a default. */
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
/** A variable's value. Send long ids as strings. */
export type VariableValue = Schemas["VariableValue"];
/** Values for `{{name}}` in the agent's texts. Send long ids as strings: many languages round numbers of more than 15 digits. */
export type Variables = Schemas["Variables"];
/** A voice. */
export type Voice = Schemas["Voice"];
/** The voices of a connection. */
export type VoiceList = Schemas["VoiceList"];
/** Where a web call's browser connects. */
export type WebPart = Schemas["WebPart"];
/** A webhook endpoint. */
export type Webhook = Written<Schemas["Webhook"]>;
/** Delivery of an event to an endpoint. */
export type WebhookDelivery = Schemas["WebhookDelivery"];
/** A delivery attempt. */
export type WebhookDeliveryAttempt = Schemas["WebhookDeliveryAttempt"];
/** Event of a delivery. */
export type WebhookDeliveryEvent = Schemas["WebhookDeliveryEvent"];
/** State of a delivery. */
export type WebhookDeliveryState = Schemas["WebhookDeliveryState"];
/** A delivery with every attempt. */
export type WebhookDeliveryWithAttempts = Schemas["WebhookDeliveryWithAttempts"];
/** Body of a delivery. */
export type WebhookEvent = Schemas["WebhookEvent"];
export type WebhookEventHead = Schemas["WebhookEventHead"];
export type WebhookTestData = Schemas["WebhookTestData"];
export type WebhookTestEvent = Schemas["WebhookTestEvent"];
/** A webhook endpoint with its signing secret. */
export type WebhookWithSecret = Written<Schemas["WebhookWithSecret"]>;
