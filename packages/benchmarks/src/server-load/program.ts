/**
 * Measures servers on `@durable-mcp/server` beside the official SDK's own transport, in one run:
 *
 *     npm run load [-- --markdown] [--parts calls,operations,streams,sessions] [--servers sdk,memory] [--callers 1,16,64]
 *                  [--formats sse,json] [--rounds 8] [--seconds 0.25] [--warm-up 1.5] [--sessions 10000] [--profile folder]
 */
import { parseArgs } from "node:util";
import { measureCalls, type MeasuredCalls } from "./measure-calls.ts";
import { measureOperations } from "./measure-operations.ts";
import { measureSessions } from "./measure-sessions.ts";
import { measureStreams } from "./measure-streams.ts";
import { printTable, type ResultTable } from "./print-table.ts";
import * as tables from "./result-tables.ts";
import type { AnswerFormat } from "./running-servers.ts";
import { serverKinds, type ServerName } from "./server-kinds.ts";
import { createStorePlaces, unavailable } from "./store-places.ts";
import { targetRows } from "./targets.ts";

const parts = ["calls", "operations", "streams", "sessions"];
const formats: readonly AnswerFormat[] = ["sse", "json"];
const allNames = Object.keys(serverKinds) as ServerName[];

const { values } = parseArgs({
  options: {
    parts: { type: "string", default: parts.join() },
    servers: { type: "string", default: allNames.join() },
    callers: { type: "string", default: "1,16,64" },
    formats: { type: "string", default: formats.join() },
    rounds: { type: "string", default: "8" },
    seconds: { type: "string", default: "0.25" },
    "warm-up": { type: "string", default: "1.5" },
    sessions: { type: "string", default: "10000" },
    profile: { type: "string" },
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
  if (wantedParts.includes("sessions")) {
    const sessions = Number(values.sessions);
    print(tables.sessionsTable(await measureSessions(inOneProcess, sessions, places), sessions));
  }
  print(tables.targetsTable(targetRows({ calls, operations, progress, idle })));
}

async function measureAllCalls(): Promise<MeasuredCalls[]> {
  const rounds = Number(values.rounds);
  const calls = await measureCalls({
    ...{ names, formats: wantedFormats, callers, rounds, places },
    seconds: Number(values.seconds),
    warmUpSeconds: Number(values["warm-up"]),
    profileFolder: values.profile,
  });
  for (const format of wantedFormats) {
    const greetings = calls.filter((one) => one.format === format && one.tool === "greet");
    print(tables.callsTable(`Calls, ${format === "sse" ? "SSE" : "JSON"} answers`, greetings));
  }
  const counting = calls.filter((one) => one.tool === "count");
  print(tables.callsTable("Calls that change `session.state`", counting));
  return calls;
}

function print(table: ResultTable): void {
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
