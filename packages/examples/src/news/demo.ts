/**
 * `npm run demo:news`: an agent watches a resource, and its process ends. The resource changes while no process of the
 * agent is alive; a cron job sees it, and the chat goes on with the news. Once with the reference server, whose resource
 * changes by itself, and once with a server that is restarted meanwhile. `-- --json` is for programs.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { runToJson } from "../programs/run-to-json.ts";
import { endProgram, startProgram } from "../programs/start-program.ts";
import { startServer } from "../programs/start-server.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";
import { everyMs, type NewsReport } from "./news-sessions.ts";

const { json } = parseArgs({ options: { json: { type: "boolean" } } }).values;
const folder = createTemporaryFolder();
const key = randomBytes(32).toString("base64");
const board = join(folder, "board.txt");
const boardServer = new URL("../servers/board-server.ts", import.meta.url);

const say = (line: string) => void (json || console.log(line));
const row = (pid: string, what: string, news: string) =>
  say(`${pid.padStart(7)}  ${what.padEnd(72)}  ${news}`);

const everything = await startEverything();
await show("server-everything", everything.url, "demo://resource/dynamic/text/1", async () => {
  row("", "(The server makes its resource anew each second.)", "");
});
await endProgram(everything.child, "SIGTERM");

writeFileSync(board, "Nothing.");
let server = await startServer(boardServer, undefined, board);
await show("a board on the official SDK", server.url, "board://office", async () => {
  await endProgram(server.child, "SIGKILL");
  writeFileSync(board, "Tea is ready.");
  server = await startServer(boardServer, server.port, board);
  row(String(server.child.pid), "(The board's server is killed and starts again.)", "");
});
await endProgram(server.child, "SIGTERM");

say(`
No process of the agent was alive when the resource changed. Whoever looks finds it out, once; the next step has it.
`);

async function show(name: string, url: string, resource: string, change: () => Promise<void>) {
  const run = async (program: string, args: readonly string[]) => {
    const report = await runToJson<NewsReport>(new URL(program, import.meta.url), args);
    if (json) console.log(JSON.stringify({ server: name, program, ...report }));
    row(String(report.pid), report.what, `${report.news}`);
    return report;
  };
  const place = join(folder, `${name}.db`);
  const step = [url, resource, place, key, "demo", join(folder, `${name}.json`)];
  say(`\nAn agent watches ${resource} of ${name}.\n`);
  row("process", "what happened", "news");
  row("───────", "─".repeat(72), "────");
  assert.equal((await run("step.ts", step)).news, 0);
  await change();
  await setTimeout(2 * everyMs);
  assert.equal((await run("cron.ts", [url, place, key])).news, 1);
  const { what, news } = await run("step.ts", step);
  assert.equal(news, 1);
  if (!process.env["DURABLE_MCP_MODEL"]) assert.match(what, /Tea is ready|created at/);
}

/** The reference server, which takes its port from its environment. */
async function startEverything() {
  const port = await findFreePort();
  const own = import.meta.resolve("@modelcontextprotocol/server-everything/package.json");
  const program = new URL("dist/index.js", own);
  const env = { ...process.env, PORT: String(port) };
  const child = startProgram(program, ["streamableHttp"], { env, stdio: "ignore" });
  await waitForPort(port);
  return { child, url: `http://127.0.0.1:${port}/mcp` };
}
