/** Types about types, and the options of methods. */
import type { operations } from "./schema.js";

/** What was just written lists what the service ignored. */
export type Written<T> = T & { warnings?: string[] };

type OneOrMore<T> = T extends readonly (infer One)[] ? One | readonly One[] : T;

type Parameters<Id extends keyof operations> = NonNullable<operations[Id]["parameters"]["query"]>;
type TimeOf<Name> = Name extends `${string}after` | `${string}before` ? Date : never;

/** The filters of a list: one value or several; times are dates or RFC 3339. */
export type Query<Id extends keyof operations> = { [Key in keyof Parameters<Id>]: OneOrMore<Parameters<Id>[Key]> | TimeOf<Key> };

export type RequestOptions = {
  signal?: AbortSignal;
  /** Milliseconds for each attempt, instead of the client's. */
  timeout?: number;
};

export type StreamOptions = {
  signal?: AbortSignal;
  /** Continue after this event. */
  lastEventId?: string;
};
