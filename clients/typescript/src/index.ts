/** The official client of Switchhook, a self-hosted voice calling service. */
export { Switchhook, type Options } from "./client.js";
export * from "./errors.js";
export type { EventData, TranscriptEvent, WebhookEvent } from "./events.js";
export { Pages, type Page } from "./pages.js";
export type { RequestOptions, StreamOptions } from "./shapes.js";
export type * from "./types.js";
export { VERSION } from "./version.js";
export { verifyWebhook, type VerifyOptions } from "./webhook.js";
