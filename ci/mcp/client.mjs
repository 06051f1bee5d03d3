// client.mjs URL: the client that the conformance suite starts. It has the service hold a call with the tools of the server at URL.

const USES = {
  tools_call: [{ name: 'add_numbers', arguments: { a: 5, b: 3 } }],
  'sse-retry': [{ name: 'test_reconnection', arguments: {} }],
};

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const body = JSON.stringify({ url: process.argv.at(-1), uses: USES[scenario] ?? [] });
const response = await fetch(process.env.SWITCHHOOK_CALLS, { method: 'POST', body });
console.log(await response.text());
process.exit(response.ok ? 0 : 1);
