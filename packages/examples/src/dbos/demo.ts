/**
 * `npm run demo:dbos`: an agent as a DBOS workflow on PostgreSQL, killed twice in the middle of a
 * tool call, all of its processes in one MCP session. Starts a PostgreSQL of its own for it, or takes
 * `-- --database postgres://…` (DBOS makes its tables there); `-- --json` is for programs.
 */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { DBOSClient } from "@dbos-inc/dbos-sdk";
import { unsealState } from "@durable-mcp/core/sealing";
import { createFaultyProxy } from "@durable-mcp/testing";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { postgresUser } from "../../../stores/test/postgres-user.ts";
import { dbosTurns, issuer, userId, workflowId } from "./demo-runs.ts";
import { findInDatabase } from "./find-in-database.ts";
import { endProgram, startProgram } from "../programs/start-program.ts";
import { cartServer, startServer } from "../programs/start-server.ts";
import { describeCall } from "../steps/describe-call.ts";
import { findSessionId } from "../steps/step-runner.ts";

/** What a worker prints: a step, an event of the connection, or its answer; or that it was killed. */
interface WorkerLine {
  pid: number;
  run: number;
  step?: string;
  outcome?: string;
  event?: string;
  /** In the middle of which call it was killed. */
  killedIn?: string;
  /** How many steps of the run DBOS has in its log, those included that begin a call. */
  logged?: number;
  text?: string;
  sealed?: string;
}

const width = 100;

const { json, database } = parseArgs({
  options: { json: { type: "boolean" }, database: { type: "string" } },
}).values;
if (database === undefined && postgresUnavailable !== undefined) {
  console.error(`No PostgreSQL: ${postgresUnavailable}. Name one: -- --database postgres://…`);
  process.exit(1);
}
const say = json ? () => {} : (text: string) => console.log(text);
const row = (pid: number | string, step: string, outcome: string) => {
  const line = `${String(pid).padStart(7)}  ${step.padEnd(19)}  ${outcome}`.trimEnd();
  say(line.length < width ? line : `${line.slice(0, width - 2)}…`);
};

const postgres = database === undefined ? await startPostgres() : undefined;
const databaseUrl = database ?? `postgres://${postgresUser}@127.0.0.1:${postgres!.port}/agent`;
const cart = await startServer(cartServer);
// Counts what reaches the server, whichever process sends it.
const wire = await createFaultyProxy({ target: cart.url });
const chatId = `demo ${randomUUID()}`;
const keys = { current: randomBytes(32).toString("base64") };

say(`An agent as a DBOS workflow on PostgreSQL, its shopping cart in the memory of an MCP session.
Each line is a step, carried out by the process in front.\n`);
row("process", "step", "what came of it");
row("───────", "─".repeat(19), "─".repeat(50));

const lines: WorkerLine[] = [];
let result: Awaited<ReturnType<typeof summarize>>;
try {
  await runWorker(1, { tool: "add_item", after: 1 });
  await runWorker(1, { tool: "list_items", after: 0 });
  await runWorker(1);
  await runWorker(2);
  result = await summarize();
} finally {
  await wire.close();
  await endProgram(cart.child, "SIGTERM");
  await postgres?.remove();
}

if (json) for (const { sealed: _, ...line } of lines) console.log(JSON.stringify(line));
if (json) console.log(JSON.stringify(result));
assert.equal(result.initialize, 1, "one MCP session");
assert.deepEqual(result.calls, { add_item: 3, list_items: 2, remove_item: 1 }, "calls");
assert.deepEqual(result.sessionIdFoundIn, [], "no session id in DBOS's tables");
assert.notDeepEqual(result.sealedStateFoundIn, [], "the sealed state in DBOS's tables");
say(`${result.processes} processes, ${result.initialize} initialize. add_item(bread) changes something, so it was not sent again: the
model was told that its outcome is unknown, and looked. list_items is declared safe, so it was.
The MCP session id is in none of the ${result.searchedRows} rows of DBOS's tables. The sealed state is in some:
${result.sealedStateFoundIn.join(", ")}.`);

/**
 * Starts a process that runs, or goes on with, a run of the agent, and waits until it has an answer.
 *
 * @param kill where to end it instead, with `kill -9`: in the middle of a call of this tool, after
 *   so many. The server has answered by then, and the answer has not arrived
 */
async function runWorker(run: number, kill?: { tool: string; after: number }): Promise<void> {
  let passed = 0;
  const held =
    kill && wire.holdAnswer({ on: ({ tool }) => tool === kill.tool && passed++ === kill.after });
  const worker = startProgram(
    new URL("worker.ts", import.meta.url),
    [databaseUrl, wire.url, chatId, String(run)],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, SEALING_KEY: keys.current },
    },
  );
  const printing = (async () => {
    for await (const line of createInterface(worker.stdout!)) print(JSON.parse(line) as WorkerLine);
  })();
  if (held === undefined) return await printing;

  await Promise.race([held.reached, printing]);
  await endProgram(worker, "SIGKILL");
  held.drop();
  await printing;
  const calls = dbosTurns[run - 1]!.calls.filter(({ tool }) => tool === kill!.tool);
  const killedIn = describeCall(kill!.tool, calls[kill!.after]!.input);
  print({ pid: worker.pid!, run, killedIn, logged: await countLoggedSteps(run) });
}

async function countLoggedSteps(run: number): Promise<number> {
  const client = await DBOSClient.create({ systemDatabaseUrl: databaseUrl });
  try {
    return (await client.listWorkflowSteps(workflowId(chatId, run)))?.length ?? 0;
  } finally {
    await client.destroy();
  }
}

function print(line: WorkerLine): void {
  lines.push(line);
  const { pid, step, outcome = "", killedIn, logged, text } = line;
  if (killedIn !== undefined) {
    row(pid, killedIn, "✂ kill -9: the server has answered, the process has not heard it");
    row("", "", `  DBOS has ${logged} steps of the run in its log. Another process is started.`);
  }
  if (step !== undefined) row(pid, step, outcome);
  if (text !== undefined) row(pid, "", `The run has ended: “${text}”`);
  if (text !== undefined) say("");
}

/** What was on the wire, and what DBOS has in its tables. */
async function summarize() {
  const requests = wire.requests.splice(0);
  const calls: Record<string, number> = {};
  for (const { tool } of requests) {
    if (tool !== undefined) calls[tool] = (calls[tool] ?? 0) + 1;
  }
  const sealed = lines.findLast((line) => line.sealed !== undefined)?.sealed;
  if (sealed === undefined) throw new Error("No run has ended.");
  const principal = { type: "user", issuer, id: userId } as const;
  const { state } = await unsealState(sealed, { keys, sessionId: chatId, principal });
  const inClear = await findInDatabase(databaseUrl, findSessionId(state));
  // Found, so that it is known that the search finds.
  const asSealed = await findInDatabase(databaseUrl, sealed);
  return {
    processes: new Set(lines.map(({ pid }) => pid)).size,
    initialize: requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length,
    calls,
    searchedRows: inClear.rows,
    sessionIdFoundIn: inClear.found,
    sealedStateFoundIn: asSealed.found,
    answers: lines.flatMap(({ text }) => text ?? []),
  };
}
