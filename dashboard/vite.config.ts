import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

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

export default defineConfig({
  plugins: [react()],
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
