#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { runProgram } from "./program.ts";

const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};

// Who reads our output may stop before its end, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

process.exitCode = await runProgram(process.argv.slice(2), { version: manifest.version });

// A module of the application that it has loaded may hold something open, such as a store.
if (process.argv[2] === "doctor") setTimeout(() => process.exit(), 1_000).unref();
