/** Whether a delivery is genuine, as docs/webhooks.md says. */
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { verifyWebhook, WebhookVerificationError } from "../src/index.js";

// The example of docs/webhooks.md.
const SECRET = "whsec_dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC0zMjE=";
const TIME = 1700000123;
const BODY =
  '{"id":"dlv_test_1","event":"call.completed","created":1700000000,"data":{"call_id":"11111111-2222-4333-8444-555555555555",' +
  '"status":"completed","summary":"ok","duration_seconds":42,"turns":3,"error":null}}';
const SIGNATURE = "ce0b0e7a52477cf11a504714f00b453fffb83f34bddd35d0e984afc6d0439d84";

const header = (value = `t=${TIME},v1=${SIGNATURE}`) => ({ "Content-Type": "application/json", "X-Voice-Signature": value });
const sign = (secret: string, body = BODY) => createHmac("sha256", secret).update(`${TIME}.${body}`).digest("hex");
const now = { now: TIME };

test("the example of the documentation", async () => {
  const event = await verifyWebhook(BODY, header(), SECRET, now);
  expect(event).toMatchObject({ id: "dlv_test_1", event: "call.completed", data: { duration_seconds: 42, summary: "ok" } });
  for (const body of [Buffer.from(BODY), new TextEncoder().encode(BODY), new TextEncoder().encode(BODY).buffer]) {
    expect(await verifyWebhook(body, new Headers(header()), SECRET, now)).toEqual(event);
  }
  expect(await verifyWebhook(BODY, { "x-voice-signature": [header()["X-Voice-Signature"]] }, SECRET, now)).toEqual(event);
  const foreign = { get: (name: string) => (name.toLowerCase() === "x-voice-signature" ? header()["X-Voice-Signature"] : null) };
  expect(await verifyWebhook(BODY, foreign, SECRET, now), "the Headers of a framework").toEqual(event);
});

test("two secrets during a rotation", async () => {
  const both = header(`t=${TIME},v1=${sign("whsec_new")},v1=${sign("whsec_old")}`);
  for (const secret of ["whsec_new", "whsec_old", ["whsec_new", "whsec_old"], ["whsec_other", "whsec_old"]]) {
    await verifyWebhook(BODY, both, secret, now);
  }
  const onlyOld = header(`t=${TIME},v1=${sign("whsec_old")}`);
  await verifyWebhook(BODY, onlyOld, ["whsec_new", "whsec_old"], now);
  await expect(verifyWebhook(BODY, onlyOld, "whsec_new", now)).rejects.toThrow(WebhookVerificationError);
});

test("the tolerance", async () => {
  for (const apart of [-300, 0, 300]) await verifyWebhook(BODY, header(), SECRET, { now: TIME + apart });
  await verifyWebhook(BODY, header(), SECRET, { now: TIME + 900, tolerance: 1000 });
  for (const apart of [-301, 301, 1e9, Number.NaN]) {
    await expect(verifyWebhook(BODY, header(), SECRET, { now: TIME + apart })).rejects.toThrow("clock");
  }
  await expect(verifyWebhook(BODY, header(), SECRET)).rejects.toThrow("clock");
});

test.each([
  "",
  `t=,v1=${SIGNATURE}`,
  `v1=${SIGNATURE}`,
  `t=${TIME}`,
  `t=${TIME},v1=`,
  `t=${TIME},v1=${SIGNATURE.slice(0, -1)}`,
  `t=${TIME},v1=${SIGNATURE.toUpperCase()}`,
  `t=${TIME},v0=${SIGNATURE}`,
  `t=${TIME + 1},v1=${SIGNATURE}`,
  `t=${TIME},t=${TIME},v1=${SIGNATURE}`,
  `t=+${TIME},v1=${SIGNATURE}`,
  `t=１７,v1=${SIGNATURE}`,
  `t=${TIME},v1=é`,
])("not genuine: %s", async (value) => {
  await expect(verifyWebhook(BODY, header(value), SECRET, now)).rejects.toThrow(WebhookVerificationError);
});

test("other bodies and headers", async () => {
  for (const body of [`${BODY}\n`, "", BODY.replace("42", "43")]) {
    await expect(verifyWebhook(body, header(), SECRET, now)).rejects.toThrow(WebhookVerificationError);
  }
  await expect(verifyWebhook(BODY, {}, SECRET, now)).rejects.toThrow("X-Voice-Signature");
  const twice = { "x-voice-signature": "a", "X-Voice-Signature": "b" };
  await expect(verifyWebhook(BODY, twice, SECRET, now)).rejects.toThrow("more than one");
  await expect(verifyWebhook("[]", header(`t=${TIME},v1=${sign(SECRET, "[]")}`), SECRET, now)).rejects.toThrow("not an event");
});

test("an empty secret is a mistake", async () => {
  for (const secret of ["", [], [SECRET, ""]]) await expect(verifyWebhook(BODY, header(), secret, now)).rejects.toThrow("secret is empty");
});
