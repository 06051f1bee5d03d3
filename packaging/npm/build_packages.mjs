#!/usr/bin/env node
// Writes the npm packages of the program.
//
//   packaging/npm/build_packages.mjs main OUTPUT_FOLDER
//   packaging/npm/build_packages.mjs platform PLATFORM BINARY OUTPUT_FOLDER
//
// `main` writes the package `switchhook`: a small script that runs the binary of the package for the machine it runs on. `platform`
// writes one of those packages, `@switchhook/linux-x64` and so on. Publish the platform packages first: npm installs the one that fits
// as an optional dependency of the same version.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const PLATFORMS = {
  "linux-x64": { os: ["linux"], cpu: ["x64"] },
  "linux-arm64": { os: ["linux"], cpu: ["arm64"] },
  "darwin-arm64": { os: ["darwin"], cpu: ["arm64"] },
};

function fail(message) {
  console.error(`build_packages: ${message}`);
  process.exit(1);
}

// The value of a key in [workspace.package] of Cargo.toml.
function workspace(key) {
  const section = readFileSync(join(root, "Cargo.toml"), "utf8").split("[workspace.package]")[1]?.split(/^\[/m)[0] ?? "";
  return section.match(new RegExp(`^${key} = "(.*)"$`, "m"))?.[1] ?? fail(`Cargo.toml has no ${key} in [workspace.package]`);
}

function common() {
  return { version: workspace("version"), description: workspace("description"), license: `(${workspace("license")})` };
}

// Packs a folder that `fill` fills, and prints the path of the tarball.
function pack(manifest, output, fill) {
  const folder = mkdtempSync(join(tmpdir(), "switchhook-npm-"));
  try {
    for (const name of ["LICENSE-APACHE", "LICENSE-MIT", "THIRD_PARTY.md"]) copyFileSync(join(root, name), join(folder, name));
    fill(folder);
    writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    mkdirSync(output, { recursive: true });
    const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(output)], { cwd: folder, encoding: "utf8" });
    console.log(join(output, packed.trim()));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function main(output) {
  const { version, ...rest } = common();
  const manifest = {
    name: "switchhook",
    version,
    ...rest,
    bin: { switchhook: "switchhook.js" },
    engines: { node: ">=18" },
    optionalDependencies: Object.fromEntries(Object.keys(PLATFORMS).map((name) => [`@switchhook/${name}`, version])),
  };
  pack(manifest, output, (folder) => {
    copyFileSync(join(here, "switchhook.js"), join(folder, "switchhook.js"));
    chmodSync(join(folder, "switchhook.js"), 0o755);
    copyFileSync(join(root, "packaging/README.md"), join(folder, "README.md"));
  });
}

function platform(name, binary, output) {
  if (!PLATFORMS[name]) fail(`${name} is not a platform; they are ${Object.keys(PLATFORMS).join(", ")}`);
  if (!statSync(binary, { throwIfNoEntry: false })?.isFile()) fail(`${binary} is not a file. Build it first with cargo.`);
  const { version, ...rest } = common();
  pack({ name: `@switchhook/${name}`, version, ...rest, ...PLATFORMS[name], preferUnplugged: true }, output, (folder) => {
    mkdirSync(join(folder, "bin"));
    copyFileSync(binary, join(folder, "bin/switchhook"));
    chmodSync(join(folder, "bin/switchhook"), 0o755);
    writeFileSync(join(folder, "README.md"), `The program of the package \`switchhook\` for ${name}. Install that one.\n`);
  });
}

const [what, ...rest] = process.argv.slice(2);
if (what === "main" && rest.length === 1) main(...rest);
else if (what === "platform" && rest.length === 3) platform(...rest);
else fail("usage: build_packages.mjs main OUTPUT_FOLDER | platform PLATFORM BINARY OUTPUT_FOLDER");
