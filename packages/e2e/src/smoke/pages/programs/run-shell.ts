// Runs the lines of a shell as they stand, but for what would install or serve for ever: `bin/` has those commands.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createDurableSessions } from "@durable-mcp/ai-sdk";
import { createEventLog } from "@durable-mcp/ai-sdk/event-log";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { Given, World } from "./world.ts";

const here = import.meta.dirname;

/** What a reader has by now: a configuration of servers, a store, and a log. */
export async function prepareFiles(
  { open }: World,
  { take }: Given,
  withStore: boolean,
): Promise<void> {
  const server = { type: "http", url: open.url };
  const configuration = JSON.stringify({ mcpServers: { github: server } });
  mkdirSync(".cursor", { recursive: true });
  for (const file of ["mcp.json", ".cursor/mcp.json"]) writeFileSync(file, configuration);
  // A server that a program starts has few variables of its environment.
  const authorities = process.env["NODE_EXTRA_CA_CERTS"];
  if (authorities !== undefined) writeFileSync(".npmrc", `cafile=${authorities}\n`);
  if (!withStore) return;
  const store = createSqliteStore({ path: "sessions.db" });
  const { browser } = await take("connections");
  const onEvent = createEventLog({ path: "events.jsonl" });
  const sessions = createDurableSessions({ connections: { browser }, store, onEvent });
  const principal = await take("principal");
  await sessions.run("chat 1", { principal }, (run) => run.call("browser", "browser_snapshot", {}));
  await store.close();
}

/** @param files the programs that it starts, by name */
export async function runShell(
  code: string,
  files: Readonly<Record<string, string>>,
  home: (text: string) => string,
): Promise<void> {
  for (const [name, program] of Object.entries(files)) writeFileSync(name, home(program));
  const shell = spawn("bash", ["-euo", "pipefail", "-c", code], {
    env: {
      ...process.env,
      PATH: [join(here, "bin"), process.env["PATH"]].join(delimiter),
      NODE_OPTIONS: `--import ${join(here, "model.ts")}`,
      ...{ NODE_NO_WARNINGS: "1", PAGES_NODE: process.execPath },
      ...{ DATABASE_URL: "file:gateway.db", TOKEN: "a-token-of-the-gateway-and-no-shorter" },
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [status] = (await once(shell, "exit")) as [number | null];
  if (status !== 0) throw new Error(`The shell ended with ${status}.`);
}
