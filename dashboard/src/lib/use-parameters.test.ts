import { expect, test } from "vitest";
import { withParameters } from "./use-parameters";

test("parameters are set, replaced and removed, and others stay", () => {
  let search = withParameters("?show=live", { agent_id: "a1" }).toString();
  search = withParameters(search, { agent_id: "a2", to: "" }).toString();
  expect(search).toBe("show=live&agent_id=a2");
  expect(withParameters(search, { agent_id: null }).toString()).toBe("show=live");
});
