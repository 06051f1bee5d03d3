import { fileURLToPath } from "node:url";
import { build, defineConfig, type Plugin } from "vite";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));
const target = ["chrome123", "firefox128", "safari17.5"];

/** `virtual:worklet/<name>` is the text of `src/talk/<name>.worklet.ts`, built into one piece. */
function workletText(): Plugin {
  const prefix = "\0worklet/";
  return {
    name: "worklet-text",
    resolveId: (id) => (id.startsWith("virtual:worklet/") ? id.replace("virtual:worklet/", prefix) : undefined),
    async load(id) {
      if (!id.startsWith(prefix)) return undefined;
      const result = await build({
        configFile: false,
        logLevel: "warn",
        build: {
          write: false,
          target,
          lib: { entry: source(`talk/${id.slice(prefix.length)}.worklet.ts`), formats: ["es"], fileName: "worklet" },
        },
      });
      const [output] = Array.isArray(result) ? result : [result];
      if (!output || !("output" in output)) throw new Error("the worklet was not built");
      return `export default ${JSON.stringify(output.output[0].code)};`;
    },
  };
}

// The script for other people's pages: one classic file beside the dashboard's own, after whose build it runs.
export default defineConfig({
  plugins: [workletText()],
  publicDir: false,
  build: {
    target,
    emptyOutDir: false,
    sourcemap: false,
    lib: { entry: source("embed/embed.ts"), formats: ["iife"], name: "switchhook", fileName: () => "embed.js" },
  },
});
