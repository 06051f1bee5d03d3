import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { parse } from "yaml";

// Where `vite` and `vite preview` find the service while the page is developed.
const service = process.env.SWITCHHOOK_DEV_URL ?? "http://127.0.0.1:8080";
const proxy = Object.fromEntries(
  ["/v1", "/auth", "/media", "/openapi.json", "/readyz", "/healthz"].map((path) => [
    path,
    { target: service, ws: path === "/media" },
  ]),
);

// The built files are committed and embedded in the binary: their names carry no
// hash, so that a change of the source changes the same files, and nothing is
// inlined, because the page's content security policy allows no data: scripts.
const names = {
  entryFileNames: "assets/[name].js",
  chunkFileNames: "assets/[name].js",
  assetFileNames: "assets/[name][extname]",
};

/** `virtual:agent-templates` is a list of the agents in `templates/`; the first line of each file has title and description. */
function agentTemplates(): Plugin {
  const [id, resolved] = ["virtual:agent-templates", "\0agent-templates"];
  const folder = fileURLToPath(new URL("../templates", import.meta.url));
  const template = (file: string) => {
    const text = readFileSync(join(folder, file), "utf8");
    const [, title, description] = text.match(/^# (.+?): (.+?)\r?\n/) ?? [];
    if (!title || !description) throw new Error(`${file} does not begin with "# Title: description"`);
    const { agents } = parse(text) as { agents: [object] };
    return { id: file.replace(".yaml", ""), title, description, config: agents[0] };
  };
  return {
    name: "agent-templates",
    resolveId: (asked) => (asked === id ? resolved : undefined),
    load(asked) {
      if (asked !== resolved) return undefined;
      const files = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
      for (const file of files) this.addWatchFile(join(folder, file));
      return `export default ${JSON.stringify(files.sort().map(template))};`;
    },
  };
}

export default defineConfig({
  plugins: [react(), agentTemplates()],
  // Scripts and styles find each other wherever the service is; the service completes the page's own links.
  experimental: { renderBuiltUrl: (name, { hostType }) => (hostType === "html" ? `/${name}` : { relative: true }) },
  server: { proxy, host: "127.0.0.1" },
  preview: { proxy },
  build: {
    target: ["chrome123", "firefox128", "safari17.5"],
    cssTarget: ["chrome123", "firefox128", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: { output: names },
  },
  worker: { format: "es", rolldownOptions: { output: names } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
