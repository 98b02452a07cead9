/**
 * `npm run demo:task`: an agent asks a lab that works for 40 seconds, in functions of five. The call goes on when its
 * process ends: as a task, and on a stream. Then the same with the AI SDK alone. `-- --json` is for programs,
 * `-- --work-ms 8000` for those who cannot wait.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { runToJson } from "../programs/run-to-json.ts";
import { endProgram } from "../programs/start-program.ts";
import { startServer } from "../programs/start-server.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { startCountingProxy } from "../servers/counting-proxy.ts";
import type { LabKind } from "./lab-sessions.ts";
import type { TaskReport } from "./research-turn.ts";

const { json, "work-ms": workMs } = parseArgs({
  options: { json: { type: "boolean" }, "work-ms": { type: "string", default: "40000" } },
}).values;
const folder = createTemporaryFolder();
const key = randomBytes(32).toString("base64");

const say = (line: string) => json || console.log(line);
const row = (second: string, pid: string, what: string, call: string, requests: string) =>
  say(
    `${second.padStart(6)}  ${pid.padStart(7)}  ${what.padEnd(38)}  ${call.padEnd(8)}  ${requests}`,
  );

const model = process.env["DURABLE_MCP_MODEL"] || "scripted (DURABLE_MCP_MODEL names a real one)";
say(`
An agent asks a lab that works for ${Number(workMs) / 1_000} seconds. Each function ends after five.
Language model: ${model}`);

const titles: Readonly<Record<LabKind, string>> = {
  task: "the lab makes a task of the call (revision 2026-07-28)",
  stream: "the lab answers on a stream with event ids (revision 2025-11-25)",
};
const scripts: Readonly<Record<LabKind, URL>> = {
  task: new URL("../servers/research-task-server.ts", import.meta.url),
  stream: new URL("../servers/research-stream-server.ts", import.meta.url),
};
for (const kind of ["task", "stream"] as const) await show(kind);

say(`
The process that asked was gone. Another one, without an agent, saw how the call was, and the answer took its
place in the conversation: the lab was asked once. The AI SDK's client has nothing to go on with.
`);

async function show(kind: LabKind): Promise<void> {
  const server = await startServer(scripts[kind], undefined, workMs);
  const proxy = await startCountingProxy(server.url);
  let begunAt = Date.now();
  const run = async (library: "durable-mcp" | "ai-sdk", program: string, args: string[]) => {
    const second = Math.round((Date.now() - begunAt) / 1_000);
    const before = count(proxy.counts);
    const report = await runToJson<TaskReport>(new URL(program, import.meta.url), args);
    const requests = count(proxy.counts) - before;
    const { pid, what, call } = report;
    if (json) console.log(JSON.stringify({ with: library, kind, program, requests, ...report }));
    row(`${second} s`, String(pid), what, call, `${requests}`);
    return report;
  };
  const place = join(folder, `${kind}.db`);
  const lab = [proxy.url, kind, place, key];
  const step = [...lab, "demo", join(folder, `${kind}.json`)];

  say(`\nWith durable-mcp: ${titles[kind]}.\n`);
  row("second", "process", "what happened", "the call", "HTTP requests");
  row("──────", "───────", "─".repeat(38), "────────", "─────────────");
  const asked = await run("durable-mcp", "step.ts", step);
  assert.equal(asked.call, "goes on");
  let looked = asked;
  // A cron job runs once a minute; this one is impatient.
  while (looked.call !== "settled") {
    await setTimeout(Number(workMs) / 4);
    looked = await run("durable-mcp", "cron.ts", lab);
  }
  const { text } = await run("durable-mcp", "step.ts", step);
  assert.match(text, /Yunnan/);
  assert.equal(proxy.counts["tools/call"], 1);

  say(`\nWith the AI SDK alone:\n`);
  begunAt = Date.now();
  const alone = await run("ai-sdk", "step-without.ts", [proxy.url]);
  assert.doesNotMatch(alone.text, /Yunnan/);
  await proxy.close();
  await endProgram(server.child, "SIGTERM");
}

function count(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, each) => sum + each, 0);
}
