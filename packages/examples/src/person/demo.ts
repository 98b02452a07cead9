/**
 * `npm run demo:person`: an agent orders, the shop asks a person twice, and each of the three processes ends. Then
 * the same with the AI SDK alone. `-- --json` is for programs. `-- --events FILE` writes an event log, which
 * `durable-mcp timeline FILE` draws.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runToJson } from "../programs/run-to-json.ts";
import { endProgram } from "../programs/start-program.ts";
import { startServer } from "../programs/start-server.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { startCountingProxy } from "../servers/counting-proxy.ts";
import type { PersonReport } from "./person-report.ts";

const folder = createTemporaryFolder();
const place = join(folder, "calls.db");
const { json, events = "" } = parseArgs({
  options: { json: { type: "boolean" }, events: { type: "string" } },
}).values;

const server = await startServer(new URL("../servers/delivery-server.ts", import.meta.url));
const proxy = await startCountingProxy(server.url);
const chatId = "demo";

interface StepResult extends PersonReport {
  with: "durable-mcp" | "ai-sdk";
  step: number;
  /** HTTP requests to the MCP server. */
  requests: number;
  /** Those of them that call a tool. */
  calls: number;
}

const say = (line: string) => json || console.log(line);
const row = (step: string, pid: string, what: string, call = "", requests = "") =>
  say(
    `${step.padStart(4)}  ${pid.padStart(7)}  ${what.padEnd(38)}  ${call.padEnd(14)}  ${requests}`.trimEnd(),
  );

const model = process.env["DURABLE_MCP_MODEL"] || "scripted (DURABLE_MCP_MODEL names a real one)";
say(`
An agent orders, and the shop wants a person's yes and a time. Each step is a process that ends.
Language model: ${model}

With durable-mcp: the call waits in the store.
`);
row("step", "process", "what happened", "the call", "HTTP requests");
row("────", "───────", "─".repeat(38), "─".repeat(14), "─────────────");
const file = join(folder, "messages.json");
const agent = () => ["step.ts", proxy.url, place, chatId, events, file];
const ordered = await runStep("durable-mcp", 1, agent());
const answered = await runStep("durable-mcp", 2, ["answer.ts", proxy.url, place, chatId, events]);
const finished = await runStep("durable-mcp", 3, agent());

say(`
With the AI SDK alone: its client wants the answer in the process that called.
`);
const alone = (step: number) => [
  "step-without.ts",
  String(step),
  proxy.url,
  join(folder, "alone.json"),
];
const asked = await runStep("ai-sdk", 1, alone(1));
const askedAgain = await runStep("ai-sdk", 2, alone(2));
await proxy.close();
await endProgram(server.child, "SIGTERM");

const inBrief = ({ waiting, round, calls }: StepResult) => ({ waiting, round, calls });
assert.deepEqual([ordered, answered, finished].map(inBrief), [
  { waiting: true, round: 1, calls: 1 },
  { waiting: false, round: 2, calls: 2 },
  { waiting: false, round: 0, calls: 0 },
]);
assert.match(finished.text, /09:00|nine|9/i);
for (const { waiting, text: saidAlone } of [asked, askedAgain]) {
  assert.equal(waiting, false);
  assert.doesNotMatch(saidAlone, /09:00/);
}
say(`
Process 2 had the question, the call and the server's state from the store, and sent each answer once.
The AI SDK's client threw them away with process 1. All that process 2 could do was to call again, and
the shop began again with its first question. Nothing was ordered.
`);

async function runStep(
  library: StepResult["with"],
  step: number,
  [program = "", ...args]: string[],
): Promise<StepResult> {
  const before = { ...proxy.counts };
  const report = await runToJson<PersonReport>(new URL(program, import.meta.url), args);
  const sent = Object.entries(proxy.counts).map(
    ([method, count]) => [method, count - (before[method] ?? 0)] as const,
  );
  const requests = sent.reduce((sum, [, count]) => sum + count, 0);
  const calls = new Map(sent).get("tools/call") ?? 0;
  const result: StepResult = { with: library, step, requests, calls, ...report };
  show(result);
  return result;
}

function show({ lines, ...result }: StepResult): void {
  const { with: library, step, pid, requests, calls, ...rest } = result;
  if (json) console.log(JSON.stringify({ with: library, step, pid, requests, calls, ...rest }));
  const sent = `${requests} for ${calls === 1 ? "1 call" : `${calls} calls`}`;
  for (const [index, { what, call }] of lines.entries()) {
    const isFirst = index === 0;
    const [number, process] = isFirst ? [String(step), String(pid)] : ["", ""];
    row(number, process, what, call, isFirst ? sent : "");
  }
}
