const input = { target: process.env.DOCUMENT };
const output = (name, client) => ({ target: `generated/orval/${name}.ts`, client, mode: "single", urlEncodeParameters: true });

module.exports = {
  client: { input, output: { ...output("client", "fetch"), baseUrl: "${process.env.SWITCHHOOK_URL}" } },
  schemas: { input, output: output("schemas", "zod") },
};
