#!/usr/bin/env node
// Runs the program, which is in the package for this platform.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const SUPPORTED = ["linux-x64", "linux-arm64", "darwin-arm64"];
const platform = `${process.platform}-${process.arch}`;

function fail(message) {
  console.error(`switchhook: ${message}`);
  process.exit(1);
}

function find() {
  if (!SUPPORTED.includes(platform)) {
    fail(`there is no program for ${platform}, only for ${SUPPORTED.join(", ")}. Build it from source with cargo.`);
  }
  try {
    return require.resolve(`@switchhook/${platform}/bin/switchhook`);
  } catch {
    fail(`the package @switchhook/${platform} is not installed. Install switchhook again, without --omit=optional or --no-optional.`);
  }
}

const binary = find();
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  const fix = error.code === "EACCES" ? "It is not executable. Install switchhook again." : error.message;
  fail(`${binary} cannot be run. ${fix}`);
});
// Ctrl-C in a terminal reaches the program too. To send it again would be a second signal, which ends live calls at once.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
