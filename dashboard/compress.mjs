// Puts compressed copies beside the built texts; the service sends them as they are.
//
//   node compress.mjs          writes them
//   node compress.mjs --check  fails unless each of them holds what its file holds
//
// The check compares contents: another version of node compresses to other bytes.
import { readdirSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from "node:zlib";

const DIST = "dist";
const forms = {
  br: [
    (bytes) =>
      brotliCompressSync(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: 11,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        },
      }),
    brotliDecompressSync,
  ],
  gz: [(bytes) => gzipSync(bytes, { level: 9 }), gunzipSync],
};
const check = process.argv.includes("--check");
const wrong = [];
for (const name of readdirSync(DIST, { recursive: true, encoding: "utf8" })) {
  if (!/\.(html|js|css|svg|txt)$/.test(name)) continue;
  const file = join(DIST, name);
  const bytes = readFileSync(file);
  for (const [ending, [pack, unpack]] of Object.entries(forms)) {
    const packed = `${file}.${ending}`;
    if (!check) writeFileSync(packed, pack(bytes));
    else if (!existsSync(packed) || !unpack(readFileSync(packed)).equals(bytes)) wrong.push(packed);
  }
}
if (wrong.length > 0) {
  console.error(`stale or missing: ${wrong.join(", ")}`);
  process.exit(1);
}
