/** What uses a connection, and so keeps it from being deleted. Pure. */

import type { components } from "../../api/schema";

type Schemas = components["schemas"];
type Stage = { connection_id: string | null; fallbacks?: { connection_id: string }[] } | null;
/** What says which connections an agent uses. */
type Agent = Pick<Schemas["Agent"], "id" | "name"> & {
  stt?: Stage;
  llm?: Stage;
  tts?: Stage;
  realtime?: Stage;
  tools?: { type: string; connection_id?: string | null }[];
};
type PhoneNumber = Pick<Schemas["PhoneNumber"], "id" | "number" | "connection_id">;

export interface User {
  type: "agent" | "number";
  id: string;
  name: string;
}

/** The agents and numbers that name a connection, also as a fallback or for a tool. */
export function usersOf(connectionId: string, agents: Agent[], numbers: PhoneNumber[]): User[] {
  const usingAgents = agents.filter((agent) => connectionsOf(agent).has(connectionId));
  const itsNumbers = numbers.filter((number) => number.connection_id === connectionId);
  return [
    ...usingAgents.map(({ id, name }): User => ({ type: "agent", id, name })),
    ...itsNumbers.map(({ id, number }): User => ({ type: "number", id, name: number })),
  ];
}

function connectionsOf(agent: Agent): Set<string | null | undefined> {
  const stages = [agent.stt, agent.llm, agent.tts, agent.realtime];
  return new Set([
    ...stages.flatMap((stage) => [
      stage?.connection_id,
      ...(stage?.fallbacks ?? []).map((other) => other.connection_id),
    ]),
    ...(agent.tools ?? []).map((tool) => tool.connection_id),
  ]);
}
