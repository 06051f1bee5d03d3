import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { connectionBody, connectionPatch, kindWords, providerInfo, PROVIDERS } from "./providers";

const openapi = JSON.parse(readFileSync(new URL("../../../../docs/openapi.json", import.meta.url), "utf8")) as {
  components: { schemas: { ProviderName: { enum: string[] } } };
};

/** Connections of these can be stored, but no call can use them yet. */
const PLANNED = ["plivo", "vonage", "sip"];

test("every provider that calls can use has a form", () => {
  const offered = openapi.components.schemas.ProviderName.enum.filter((name) => !PLANNED.includes(name));
  expect(PROVIDERS.map((provider) => provider.name).sort()).toEqual(offered.sort());
});

test("a field says where to find its value", () => {
  for (const provider of PROVIDERS) {
    for (const field of [...provider.fields, ...(provider.more ?? [])]) {
      expect(field.hint, `${provider.name} ${field.path}`).toMatch(/\.$/);
    }
  }
});

test("an unknown provider still gets a form", () => {
  expect(providerInfo("newcomer")).toMatchObject({ name: "newcomer", title: "Newcomer" });
});

test("a new connection holds only what was filled in", () => {
  const values = { "credentials.account_sid": " AC1 ", "credentials.auth_token": "t", "settings.base_url": "" };
  expect(connectionBody("twilio", "Twilio main ", values)).toEqual({
    provider: "twilio",
    name: "Twilio main",
    credentials: { account_sid: "AC1", auth_token: "t" },
    settings: {},
  });
});

test("a change sends new secrets and different settings, and removes what was emptied", () => {
  const saved = { name: "Main", settings: { space: "old", base_url: "https://a.example" } };
  const values = {
    "settings.space": "old",
    "settings.base_url": "",
    "credentials.api_token": "PT1",
    "credentials.signing_key": "",
  };
  expect(connectionPatch(saved, "Main", values)).toEqual({
    settings: { base_url: null },
    credentials: { api_token: "PT1" },
  });
});

test("kinds are one sentence", () => {
  expect(kindWords(["stt", "tts"])).toBe("Speech to text, voices");
});
