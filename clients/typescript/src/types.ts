// Written by generate.mjs from docs/openapi.json: do not edit.

import type { Complete, Merge, Written } from "./shapes.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** An agent, with all its fields. A tool has the lists of its own type only. */
export type Agent = Written<Complete<Omit<Schemas["AgentResource"], "tools">> & { tools: Schemas["Tool"][] }>;
/** Changes to merge into the agent, object by object. `null` restores a default. */
export type UpdateAgent = Merge<Schemas["CreateAgent"]>;
/** One version of an agent's configuration. A call keeps the version it was placed with. */
export type AgentConfig = Schemas["AgentConfig"];
/** A version of an agent. */
export type AgentVersion = Schemas["AgentVersion"];
/** How post-call analysis went. */
export type Analysis = Schemas["Analysis"];
/** Post-call analysis. */
export type AnalysisSettings = Schemas["AnalysisSettings"];
/** Whether a language model analysed a conversation. */
export type AnalysisStatus = Schemas["AnalysisStatus"];
/** How to handle answering machines. */
export type AnsweringMachine = Schemas["AnsweringMachine"];
/** A key without its secret. */
export type ApiKey = Schemas["ApiKeyResource"];
/** A delivery attempt. */
export type Attempt = Schemas["Attempt"];
/** What needs attention. */
export type Attention = Schemas["Attention"];
/** Something that needs attention. */
export type AttentionItem = Schemas["AttentionItem"];
/** What is the matter. */
export type AttentionKind = Schemas["AttentionKind"];
/** Calls that ended in an interval. */
export type Bucket = Schemas["Bucket"];
/** A delivery of one of the call's events. */
export type CallDelivery = Schemas["CallDelivery"];
/** Overrides for the agent's limits. */
export type CallLimits = Schemas["CallLimits"];
/** Agent settings to override for one call. */
export type CallOverrides = Schemas["CallOverrides"];
/** A call. */
export type Call = Written<Schemas["CallResource"]>;
/** The carrier's data of a call. */
export type CarrierPart = Schemas["CarrierPart"];
/** One thing that was tried. */
export type Check = Schemas["Check"];
/** Concurrent calls. */
export type ConcurrentCalls = Schemas["ConcurrentCalls"];
/** Limits of a connection. */
export type ConnectionLimits = Schemas["ConnectionLimits"];
/** A connection. */
export type Connection = Written<Schemas["ConnectionResource"]>;
/** Result of a connection test. */
export type ConnectionTest = Schemas["ConnectionTest"];
/** Minutes and cost of ended calls. */
export type Cost = Schemas["Cost"];
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
/** A webhook endpoint to register. */
export type CreateWebhook = Schemas["CreateWebhook"];
/** New secrets, or `null` to remove one. */
export type CredentialChanges = Schemas["CredentialChanges"];
/** Secrets under the provider's names. */
export type Credentials = Schemas["Credentials"];
/** One decision about a turn. */
export type DecisionEntry = Schemas["DecisionEntry"];
/** What was decided. */
export type DecisionKind = Schemas["DecisionKind"];
/** The decisions of a call. */
export type Decisions = Schemas["Decisions"];
/** Event of a delivery. */
export type DeliveryEvent = Schemas["DeliveryEvent"];
/** A delivery of one event to one endpoint. */
export type Delivery = Schemas["DeliveryResource"];
/** State of a delivery. */
export type DeliveryState = Schemas["DeliveryState"];
/** A delivery with every attempt. */
export type DeliveryWithAttempts = Schemas["DeliveryWithAttempts"];
/** A transfer target. */
export type Destination = Schemas["Destination"];
/** Which numbers a tenant can call; set by the operator. Premium-rate, shared-cost and satellite numbers are refused unless
 * `allow` names them. The tenant's own numbers are always refused. */
export type DialPolicy = Schemas["DialPolicy"];
/** Who placed the call. */
export type Direction = Schemas["Direction"];
/** How the caller's keys are collected into one input, which ends with the finish key, after a pause, or at its maximum
 * length. */
export type Dtmf = Schemas["Dtmf"];
/** How soon the agent takes the turn. */
export type Eagerness = Schemas["Eagerness"];
/** Why a completed call ended. */
export type EndReason = Schemas["EndReason"];
/** Who ended a call. */
export type EndedBy = Schemas["EndedBy"];
/** Why a call failed. The list is closed: a code never changes its meaning, and none is added. */
export type ErrorCode = Schemas["ErrorCode"];
/** The events of a call. */
export type EventKind = Schemas["EventKind"];
/** An event of a call, as the API returns it. */
export type CallEvent = Schemas["EventRow"];
/** What opens event streams. */
export type EventToken = Schemas["EventToken"];
/** Events of a call. */
export type CallEvents = Schemas["Events"];
/** Something that speaks for or against the end of a turn. */
export type EvidenceEntry = Schemas["EvidenceEntry"];
/** A provider to try when the previous one fails. */
export type Fallback = Schemas["Fallback"];
/** Figures of ended calls. */
export type Figures = Schemas["Figures"];
/** The start of the conversation. */
export type Greeting = Schemas["Greeting"];
/** Who speaks first. */
export type GreetingMode = Schemas["GreetingMode"];
/** The greeting's text, as a string or as an agent's `greeting` object. */
export type GreetingOverride = Schemas["GreetingOverride"];
/** The HTTP method of a tool's request. */
export type HttpMethod = Schemas["HttpMethod"];
/** What happens when the caller interrupts. */
export type Interruption = Schemas["Interruption"];
/** The length of a bucket. */
export type Interval = Schemas["Interval"];
/** A person to invite. */
export type InvitePerson = Schemas["InvitePerson"];
/** What a connection can be used for. */
export type Kind = Schemas["Kind"];
/** A limit. */
export type LimitName = Schemas["LimitName"];
/** Maximum ring time and duration of a call. */
export type Limits = Schemas["Limits"];
/** Where a live call is heard. */
export type ListenAddress = Schemas["ListenAddress"];
/** A language model and its settings. */
export type LlmChoice = Schemas["LlmChoice"];
/** Whether to detect answering machines. */
export type MachineDetection = Schemas["MachineDetection"];
/** Your own data, returned in the call and its events. */
export type Metadata = Schemas["Metadata"];
/** Calls per month. */
export type MonthlyCalls = Schemas["MonthlyCalls"];
/** A limit that is near. */
export type NearLimit = Schemas["NearLimit"];
/** A new key. */
export type NewApiKey = Written<Schemas["NewApiKey"]>;
/** A phone number. */
export type Number = Written<Schemas["NumberResource"]>;
/** What to do when a machine answers. */
export type OnMachine = Schemas["OnMachine"];
/** A person. */
export type Person = Written<Schemas["PersonResource"]>;
/** Whether a person has signed in. */
export type PersonStatus = Schemas["PersonStatus"];
/** A phone number or SIP address. Commas separate values, so an address with a comma cannot be found. */
export type Phone = Schemas["Phone"];
/** Redaction and retention of a call's words. */
export type Privacy = Schemas["Privacy"];
/** A carrier or provider. */
export type ProviderName = Schemas["ProviderName"];
/** Requests in a sliding window. */
export type RateLimit = Schemas["RateLimit"];
/** A speech-to-speech model and its settings. */
export type RealtimeChoice = Schemas["RealtimeChoice"];
/** Whether calls are recorded. */
export type Recording = Schemas["Recording"];
/** A kind of private data. */
export type Redact = Schemas["Redact"];
/** When a response reached which stage, in milliseconds since the conversation began. What lies between two stages was spent on: the
 * end of the turn, the model, the voice, the line. */
export type ResponseStages = Schemas["ResponseStages"];
/** Response times in milliseconds, within 5 %. */
export type ResponseTimes = Schemas["ResponseTimes"];
/** What a person may do: `viewer` reads; `member` also changes everything except people, API keys and settings of the tenant; `owner` does everything. */
export type RoleName = Schemas["RoleName"];
/** What a voice says in its sample. */
export type Sample = Schemas["Sample"];
/** Words for the agent to say. */
export type Say = Schemas["Say"];
/** DTMF digits to send. */
export type SendDtmf = Schemas["SendDtmf"];
/** What happens when the caller is silent. */
export type Silence = Schemas["Silence"];
/** A call to simulate. */
export type SimulateCall = Schemas["SimulateCall"];
/** Calls that ended in a time span. */
export type Statistics = Schemas["Statistics"];
/** Where a call stands. It only ever moves down this list, and the last two are for ever. */
export type Status = Schemas["Status"];
/** What a tenant stores; the operator sets the limits. Beyond one, a request is 422. */
export type Stored = Schemas["Stored"];
/** An amount of something that is stored. */
export type StoredAmount = Schemas["StoredAmount"];
/** A speech-to-text provider and its settings. */
export type SttChoice = Schemas["SttChoice"];
/** What something is the matter with. */
export type Subject = Schemas["Subject"];
/** What something is. */
export type SubjectKind = Schemas["SubjectKind"];
/** An event of any call of a tenant, as the API returns it. */
export type TenantEvent = Schemas["TenantEvent"];
/** A tenant. */
export type Tenant = Schemas["TenantResource"];
/** A tool that the model can call. Its `type` decides which fields apply. */
export type Tool = Schemas["Tool"];
/** A row of `tool_calls`. */
export type ToolCallEntry = Schemas["ToolCallEntry"];
/** The type of a tool. */
export type ToolKind = Schemas["ToolKind"];
/** The transcript of a call. */
export type Transcript = Schemas["Transcript"];
/** A row of `transcript_entries`. */
export type TranscriptEntry = Schemas["TranscriptEntry"];
/** The transfer target. */
export type Transfer = Schemas["Transfer"];
/** A text-to-speech provider and its settings. */
export type TtsChoice = Schemas["TtsChoice"];
/** When a caller's turn ends. */
export type TurnTaking = Schemas["TurnTaking"];
/** The call that a dry run would place. It has no id: there is no such call. */
export type UnplacedCall = Written<Schemas["UnplacedCall"]>;
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
export type Used = Schemas["Used"];
/** An agent. */
export type UsedByAgent = Schemas["UsedByAgent"];
/** A connection. */
export type UsedByConnection = Schemas["UsedByConnection"];
/** A day. */
export type UsedByDay = Schemas["UsedByDay"];
/** A variable of a call, used as `{{name}}` in texts. */
export type Variable = Schemas["Variable"];
/** Values for `{{name}}` in the agent's texts, by name. */
export type Variables = Schemas["Variables"];
/** A voice. */
export type Voice = Schemas["Voice"];
/** The voices of a connection. */
export type VoiceList = Schemas["VoiceList"];
/** Where the browser of a web call connects. */
export type WebPart = Schemas["WebPart"];
/** A webhook endpoint. */
export type Webhook = Written<Schemas["WebhookResource"]>;
/** A webhook endpoint with its new signing secret. */
export type WebhookWithSecret = Written<Schemas["WebhookWithSecret"]>;
