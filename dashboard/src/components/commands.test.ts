import { expect, test, vi } from "vitest";
import type { Agent, PhoneNumber } from "../api/queries";
import { commandGroups, commandsFor, matching } from "./commands";

const id = "0198c69a-41c2-7b0e-9d77-52f1c0a9e6b3";
const ava = { id, name: "Ava" } as Agent;
const act = () => ({ go: vi.fn(), placeCall: vi.fn(), keys: vi.fn(), theme: vi.fn() });

test("a pasted id opens the agent of this id, else the call", () => {
  const actions = act();
  commandsFor(` ${id.toUpperCase()} `, [ava], actions)[0]?.run();
  commandsFor(id, [], actions)[0]?.run();
  expect(actions.go.mock.calls).toEqual([[`/agents/${id}`], [`/calls/${id}`]]);
});

test("a pasted number may be called or looked for", () => {
  const actions = act();
  const commands = commandsFor("+1 (202) 555-0100", [], actions);
  expect(commands.map((command) => command.label)).toEqual([
    "Place call to +1 202 555 0100",
    "Calls to +1 202 555 0100",
    "Calls from +1 202 555 0100",
  ]);
  for (const command of commands) command.run();
  expect(actions.placeCall).toHaveBeenCalledWith("+12025550100");
  expect(actions.go.mock.calls).toEqual([["/calls?to=%2B12025550100"], ["/calls?from=%2B12025550100"]]);
});

test("anything else is only a name", () => {
  expect(commandsFor("ava", [ava], act())).toEqual([]);
  const names = commandGroups([ava], [], act()).flatMap((group) => group.items);
  expect(names.map((command) => command.label)).toContain("Talk to Ava");
});

test("typed words are found in any order, numbers however they are grouped", () => {
  const number = { id: "n", number: "+12025550199", label: null } as PhoneNumber;
  const groups = commandGroups([ava], [number], act());
  const found = (typed: string) =>
    matching(groups, typed).flatMap((group) => group.items.map((command) => command.label));
  expect(found("ava talk")).toEqual(["Talk to Ava"]);
  expect(found("5550199")).toEqual(["+1 202 555 0199"]);
  expect(found("webh")).toEqual(["Webhooks"]);
  expect(found("nothing like it")).toEqual([]);
});
