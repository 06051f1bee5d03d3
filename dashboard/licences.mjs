// The licences of what the page ships: checks that each package's is an allowed one
// and that public/licences.txt, served with the page, holds their texts.
//
//   node licences.mjs          fails where a licence or the file is not as it should be
//   node licences.mjs --write  writes the file
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const ALLOWED = new Set(["MIT", "ISC", "Apache-2.0", "BSD-3-Clause", "0BSD", "OFL-1.1"]);
const FILE = "public/licences.txt";

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const shipped = Object.entries(lock.packages)
  .filter(([path, entry]) => path.startsWith("node_modules/") && !entry.dev && !entry.optional)
  // Peers that only tools and types use are never in a bundle.
  .filter(([path]) => !path.startsWith("node_modules/@types/"))
  .map(([path]) => path)
  .sort();

const refused = [];
const parts = shipped.map((path) => {
  const manifest = JSON.parse(readFileSync(`${path}/package.json`, "utf8"));
  if (!ALLOWED.has(manifest.license)) refused.push(`${manifest.name}: ${manifest.license}`);
  const file = readdirSync(path).find((name) => /^(licen[cs]e|ofl)(\.(md|txt))?$/i.test(name));
  const text = file ? readFileSync(`${path}/${file}`, "utf8").trim() : "(no licence file)";
  if (!file && manifest.license !== "MIT") refused.push(`${manifest.name}: no licence text`);
  return `${manifest.name} ${manifest.version} · ${manifest.license}\n\n${text}\n`;
});
const text = `Packages and fonts in Switchhook's dashboard\n\n${parts.join(`\n${"-".repeat(72)}\n\n`)}`;

if (refused.length > 0) {
  console.error(`not an allowed licence:\n${refused.join("\n")}`);
  process.exit(1);
}
if (process.argv.includes("--write")) {
  writeFileSync(FILE, text);
} else if (readFileSync(FILE, "utf8") !== text) {
  console.error(`${FILE} is stale: node licences.mjs --write`);
  process.exit(1);
}
console.log(`${shipped.length} packages, licences allowed`);
