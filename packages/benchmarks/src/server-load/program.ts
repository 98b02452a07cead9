/**
 * Measures servers on `@durable-mcp/server` beside the official SDK's own transport, in one run, and fails when a target
 * is missed:
 *
 *     npm run load [-- --markdown] [--parts calls,operations,streams,sessions] [--servers sdk,memory] [--callers 1,16,64]
 *                  [--formats sse,json] [--processes 2] [--rounds 4] [--seconds 0.5] [--warm-up 5000] [--windows 6] [--sessions 10000]
 */
import { parseArgs } from "node:util";
import { measureCalls, type MeasuredCalls } from "./measure-calls.ts";
import { measureOperations } from "./measure-operations.ts";
import { measureSessions } from "./measure-sessions.ts";
import { measureStreams } from "./measure-streams.ts";
import type { BenchTable } from "../report/part.ts";
import { printTable } from "../report/text-table.ts";
import * as tables from "./result-tables.ts";
import type { AnswerFormat } from "./running-servers.ts";
import { serverKinds, type ServerName } from "./server-kinds.ts";
import { createStorePlaces, unavailable } from "./store-places.ts";
import { targetRows } from "./targets.ts";

const parts = ["calls", "operations", "streams", "sessions"];
const formats: readonly AnswerFormat[] = ["sse", "json"];
const allNames = Object.keys(serverKinds) as ServerName[];

/** `count` writes to the state of the session: measured with so many callers, and the first format. */
const callersThatCount = 16;
const titles = { greet: "Calls", count: "Calls that change `session.state`" };

const { values } = parseArgs({
  options: {
    parts: { type: "string", default: parts.join() },
    servers: { type: "string", default: allNames.join() },
    callers: { type: "string", default: "1,16,64" },
    formats: { type: "string", default: formats.join() },
    processes: { type: "string", default: "2" },
    rounds: { type: "string", default: "4" },
    seconds: { type: "string", default: "0.5" },
    "warm-up": { type: "string", default: "5000" },
    windows: { type: "string", default: "6" },
    sessions: { type: "string", default: "10000" },
    markdown: { type: "boolean", default: false },
  },
});

const callers = values.callers.split(",").map(Number);
const wantedParts = chosen("parts", parts);
const wantedFormats = chosen("formats", formats);
const names = chosen("servers", allNames).filter((name) => {
  const reason = unavailable(serverKinds[name]);
  if (reason !== undefined) console.error(`Skipped: ${name}, for ${reason}.`);
  return reason === undefined;
});
/** Those of the further figures. */
const distinct = names.filter((name) => !serverKinds[name].isVariant);
/** A session takes as much memory with one store as with another. */
const inOneProcess = distinct.filter((name) =>
  [undefined, "file"].includes(serverKinds[name].place),
);
const withStore = distinct.filter((name) => !serverKinds[name].isSdk);

// Databases end with this process, in its `exit`, which a signal alone does not bring about.
process.once("SIGINT", () => process.exit(130));
const places = createStorePlaces();
try {
  await measure();
} finally {
  await places.remove();
}

async function measure(): Promise<void> {
  print(tables.machineTable(["npm run load --", ...process.argv.slice(2)].join(" ")));
  const calls = wantedParts.includes("calls") ? await measureAllCalls() : [];
  const operations = wantedParts.includes("operations")
    ? await measureOperations(withStore, wantedFormats, places)
    : [];
  print(tables.operationsTable(operations));
  const { progress, idle } = wantedParts.includes("streams")
    ? await measureStreams(distinct, places)
    : { progress: [], idle: [] };
  print(tables.progressTable(progress));
  print(tables.idleTable(idle));
  const count = Number(values.sessions);
  const sessions = wantedParts.includes("sessions")
    ? await measureSessions(inOneProcess, count, places)
    : [];
  print(tables.sessionsTable(sessions, count));
  const targets = targetRows({ calls, operations, progress, idle, sessions });
  print(tables.targetsTable(targets));
  if (targets.some(({ isMet }) => !isMet)) process.exitCode = 1;
}

async function measureAllCalls(): Promise<MeasuredCalls[]> {
  const seconds = Number(values.seconds);
  const greetings = callers.map((count) => ({ tool: "greet", callers: count, seconds }));
  const counting = { tool: "count", callers: callersThatCount, seconds };
  const measured: MeasuredCalls[] = [];
  for (const format of wantedFormats) {
    const { calls, warmUps } = await measureCalls({
      ...{ names, format, places },
      series: format === wantedFormats[0] ? [...greetings, counting] : greetings,
      processes: Number(values.processes),
      rounds: Number(values.rounds),
      warmUp: {
        calls: Number(values["warm-up"]),
        fewest: Number(values.windows),
        most: 4 * Number(values.windows),
      },
    });
    measured.push(...calls);
    print(tables.notFlatTable(`Before, ${format === "sse" ? "SSE" : "JSON"} answers`, warmUps));
    for (const [tool, title] of Object.entries(titles)) {
      const ofTool = calls.filter((one) => one.tool === tool);
      print(tables.callsTable(`${title}, ${format === "sse" ? "SSE" : "JSON"} answers`, ofTool));
    }
  }
  return measured;
}

function print(table: BenchTable): void {
  printTable(table, values.markdown);
}

/** The names that an option lists. */
function chosen<Name extends string>(
  option: "parts" | "servers" | "formats",
  known: readonly Name[],
): Name[] {
  return values[option].split(",").map((text) => {
    const name = known.find((one) => one === text);
    if (name === undefined) throw new Error(`--${option}: ${text} is none of ${known.join()}.`);
    return name;
  });
}
