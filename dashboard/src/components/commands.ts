/** What the command palette offers. */
import type { Agent, PhoneNumber } from "../api/queries";
import { phone } from "../lib/format";
import { PAGES } from "./pages";

export type Command = { value: string; label: string; hint?: string; run: () => void };
export type CommandGroup = { value: string; items: Command[] };

type Actions = {
  go: (path: string) => void;
  placeCall: (to?: string) => void;
  keys: () => void;
  theme: () => void;
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** An id or number that was typed or pasted whole: what it may open. */
export function commandsFor(text: string, agents: Agent[], act: Actions): Command[] {
  const typed = text.trim();
  if (UUID.test(typed)) {
    const agent = agents.find((one) => one.id === typed.toLowerCase());
    if (agent) {
      return [open(`agent ${typed}`, `Open agent ${agent.name}`, () => act.go(`/agents/${agent.id}`))];
    }
    return [open(`call ${typed}`, `Open call ${typed}`, () => act.go(`/calls/${typed.toLowerCase()}`))];
  }
  const bare = typed.replace(/[\s().-]/g, "");
  if (/^\+[1-9]\d{6,14}$/.test(bare)) {
    const number = encodeURIComponent(bare);
    return [
      open(`place ${typed}`, `Place call to ${phone(bare)}`, () => act.placeCall(bare)),
      open(`to ${typed}`, `Calls to ${phone(bare)}`, () => act.go(`/calls?to=${number}`)),
      open(`from ${typed}`, `Calls from ${phone(bare)}`, () => act.go(`/calls?from=${number}`)),
    ];
  }
  return [];
}

function open(value: string, label: string, run: () => void): Command {
  return { value, label, run };
}

export function commandGroups(agents: Agent[], numbers: PhoneNumber[], act: Actions): CommandGroup[] {
  const groups: CommandGroup[] = [
    {
      value: "Pages",
      items: PAGES.flat().map(({ to, title }) => open(to, title, () => act.go(to))),
    },
    {
      value: "Actions",
      items: [
        open("place", "Place call", () => act.placeCall()),
        open("new agent", "New agent", () => act.go("/agents/new")),
        open("new key", "Create key", () => act.go("/api-keys?new=1")),
        open("live", "Live calls", () => act.go("/calls?show=live")),
        open("failed", "Failed calls", () => act.go("/calls?show=failed")),
        open("theme", "Switch between light and dark", act.theme),
        open("keys", "Keys", act.keys),
      ],
    },
    {
      value: "Agents",
      items: agents.flatMap((agent) => [
        open(agent.id, agent.name, () => act.go(`/agents/${agent.id}`)),
        open(`talk ${agent.id}`, `Talk to ${agent.name}`, () => act.go(`/agents/${agent.id}?talk=1`)),
      ]),
    },
    {
      value: "Numbers",
      items: numbers.map((number) => ({
        value: number.id,
        label: phone(number.number),
        hint: number.label ?? undefined,
        run: () => act.go(`/calls?number_id=${number.id}`),
      })),
    },
  ];
  return groups.filter((group) => group.items.length > 0);
}

/** What fits the typed words: each stands somewhere in the label; digits match however they are grouped. */
export function matching(groups: CommandGroup[], typed: string): CommandGroup[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ label }: Command) => {
    const name = label.toLowerCase();
    const bare = name.replaceAll(" ", "");
    return words.every((word) => name.includes(word) || bare.includes(word));
  };
  return groups
    .map((group) => ({ ...group, items: group.items.filter(fits) }))
    .filter((group) => group.items.length > 0);
}
