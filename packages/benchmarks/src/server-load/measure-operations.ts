import type { ProcessFigures } from "./serve-and-report.ts";
import type { ServerName } from "./server-kinds.ts";
import { type AnswerFormat, type RunningServer, withServers } from "./running-servers.ts";
import type { StorePlaces } from "./store-places.ts";

/** What a number of calls asked of the store and of HTTP, for each call. */
export interface OperationFigures {
  readonly server: ServerName;
  readonly format: AnswerFormat;
  readonly tool: string;
  readonly reads: number;
  /** Transactions: a batch is one. */
  readonly writes: number;
  /** By the method's name. */
  readonly operations: Readonly<Record<string, number>>;
  readonly requests: number;
}

const callers = 8;
/** Of each caller: a session that has had some calls removes the answers of old ones. */
const callsBefore = 32;
const callsCounted = 50;

export async function measureOperations(
  names: readonly ServerName[],
  formats: readonly AnswerFormat[],
  places: StorePlaces,
): Promise<OperationFigures[]> {
  const measured: OperationFigures[] = [];
  for (const format of formats) {
    await withServers({ names, format, callers, places, isCounted: true }, async (servers) => {
      for (const server of servers) {
        for (const tool of ["greet", "count"]) {
          await callAll(server, tool, callsBefore);
          const counted = await countDuring(server, () => callAll(server, tool, callsCounted));
          const figures = perUnit(counted, callers * callsCounted);
          measured.push({ server: server.name, format, tool, ...figures });
        }
      }
    });
  }
  return measured;
}

/** What was asked while `work` ran. */
export async function countDuring(
  server: RunningServer,
  work: () => Promise<unknown>,
): Promise<Pick<ProcessFigures, "operations" | "requests" | "cpuMicroseconds">> {
  const before = await server.figures();
  await work();
  const after = await server.figures();
  const operations = Object.entries(after.operations).map(
    ([name, count]) => [name, count - (before.operations[name] ?? 0)] as const,
  );
  return {
    operations: Object.fromEntries(operations.filter(([, count]) => count > 0)),
    requests: after.requests - before.requests,
    cpuMicroseconds: after.cpuMicroseconds - before.cpuMicroseconds,
  };
}

/** Counts for one of so many units. */
export function perUnit(
  { operations, requests }: Pick<ProcessFigures, "operations" | "requests">,
  units: number,
): Pick<OperationFigures, "reads" | "writes" | "operations" | "requests"> {
  const count = (...names: string[]) =>
    names.reduce((total, name) => total + (operations[name] ?? 0), 0) / units;
  return {
    reads: count("get", "list"),
    writes: count("put", "touch", "delete", "batch"),
    operations: Object.fromEntries(
      Object.entries(operations).map(([name, all]) => [name, all / units]),
    ),
    requests: requests / units,
  };
}

async function callAll({ callers: all }: RunningServer, tool: string, calls: number) {
  const callOneAfterAnother = async (caller: RunningServer["callers"][number]) => {
    for (let n = 0; n < calls; n++) await caller.call(tool);
  };
  await Promise.all(all.map(callOneAfterAnother));
}
