import type { Agent } from "../../api/queries";

/** The names in `{{name}}` that an agent's texts ask for, in their order. */
export function variablesOf(agent: Agent | undefined): string[] {
  if (!agent) return [];
  const texts = [agent.greeting?.text ?? "", agent.instructions ?? ""];
  const names = texts.flatMap((text) =>
    [...text.matchAll(/\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}/g)].map((match) => match[1] ?? ""),
  );
  return [...new Set(names)];
}
