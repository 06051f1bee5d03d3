// sdks.mjs: reads questions as lines of JSON, and answers each with a line: a signature, or whether the SDK accepts one.

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Telnyx from 'telnyx';
import twilio from 'twilio';

const require = createRequire(import.meta.url);
const file = (path) => require(fileURLToPath(new URL(`node_modules/${path}`, import.meta.url)));
// By its path: the package exports only what verifies.
const signalwire = file('@signalwire/compatibility-api/lib/webhooks/webhooks.js');

const answers = {
  version: ({ name }) => file(`${name}/package.json`).version,
  twilio: ({ secret, url, fields, algorithm }) => twilio.getExpectedTwilioSignature(secret, url, fields, algorithm),
  signalwire: ({ secret, url, fields }) => signalwire.getExpectedTwilioSignature(secret, url, fields),
  telnyx: ({ key, body, headers }) =>
    new Telnyx({ apiKey: 'KEY', publicKey: key }).webhooks.unwrap(body, { headers }).then(() => true, () => false),
};

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  console.log(JSON.stringify(await answers[question.of](question)));
}
