import { parseArgs } from "node:util";
import {
  openTestStore,
  type StoreKind,
  storeKinds,
  storeUnavailable,
} from "../durable/store-place.ts";
import { bindTokens } from "../authorization/bound-tokens.ts";
import { runCallsInFlight } from "../replicas/calls-in-flight-run.ts";
import { type ReplicaEnd, replicaEnds } from "../replicas/ending-replicas.ts";
import { runEndingTasks } from "../replicas/ending-tasks-run.ts";
import { runWithKilledReplicas } from "../replicas/killed-replicas-run.ts";
import { notesServer, sdkExample } from "../replicas/notes-replicas.ts";
import { runTasks } from "../replicas/tasks-run.ts";
import { killAll, type KillTimes, type KillSubject, killTable } from "./harness.ts";

/**
 * Reads `--store sqlite|postgres|redis --times 1000 --freeze`, and further numbers with their defaults. `--dpop` binds the
 * tokens of sign-ins to keys.
 */
export function readKillOptions<NAME extends string = never>(
  numbers: Readonly<Record<NAME, number>> = {} as Record<NAME, number>,
): { store: StoreKind; freezes: boolean } & Record<NAME | "times", number> {
  const defaults: Record<string, number> = { times: 1_000, ...numbers };
  const { values } = parseArgs({
    options: {
      store: option("sqlite"),
      freeze: { type: "boolean", default: false },
      dpop: { type: "boolean", default: false },
      ...Object.fromEntries(
        Object.entries(defaults).map(([name, number]) => [name, option(String(number))]),
      ),
    },
  });
  const given: Record<string, unknown> = values;
  const store = storeNamed(given["store"]);
  if (given["dpop"] === true) bindTokens();
  const read = Object.keys(defaults).map((name) => [name, Number(given[name])]);
  return {
    store,
    freezes: given["freeze"] === true,
    ...(Object.fromEntries(read) as Record<NAME | "times", number>),
  };
}

export function storeNamed(name: unknown): StoreKind {
  const kind = storeKinds.find((each) => each === name);
  if (kind === undefined) throw new RangeError(`--store is one of ${storeKinds.join(", ")}.`);
  const reason = storeUnavailable[kind];
  if (reason !== undefined) throw new Error(`No ${kind}: ${reason}.`);
  return kind;
}

function option(value: string) {
  return { type: "string" as const, default: value };
}

/** Kills as often as said, and prints what became of it. A fault is the exit code 1. */
export async function killAndPrint<POINT extends string, TASK extends object, COUNT extends string>(
  subject: KillSubject<POINT, TASK, COUNT>,
  { store, times, freezes = false }: Pick<KillTimes, "store" | "times" | "freezes">,
): Promise<void> {
  const startedAt = Date.now();
  const rows = await killAll(subject, {
    ...{ store, times, freezes },
    onKill(count) {
      if (count % 100 === 0) process.stderr.write(`${count} of ${times}\n`);
    },
  });
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  console.log(
    `${store}, ${times} times ${freezes ? "frozen" : "killed"} in ${seconds} s\n\n${killTable(subject, rows)}`,
  );
  printFaults(rows.flatMap(({ faults }) => faults));
}

export function printFaults(faults: readonly string[]): void {
  for (const fault of faults) {
    console.error(fault);
    process.exitCode = 1;
  }
}

/** Calls at two replicas that end at random, and the same with the official SDK's own example server. */
export async function killReplicas(): Promise<void> {
  await withReplicaOptions(async ({ location, ...options }) => {
    const ours = await runWithKilledReplicas(notesServer(location), options);
    const limits = { ...options, maxSeconds: ours.seconds };
    const theirs = await runWithKilledReplicas(sdkExample, limits);
    printColumns({ "@durable-mcp/server": ours, "SDK example": theirs });
    const { sessionErrors, lost, doubled, hung } = ours;
    return sessionErrors + lost + doubled + hung === 0;
  });
}

/** Calls in flight at two replicas that end at random, made by clients that come back for their answers. */
export async function killCalls(): Promise<void> {
  await withReplicaOptions(async ({ location, ...options }) => {
    const run = await runCallsInFlight({ store: location, ...options });
    printColumns({ calls: run });
    const { hung, other, foreign, disordered, lost, doubled, askedTwice } = run;
    return hung + other + foreign + disordered + lost + doubled + askedTwice === 0;
  });
}

/** Tasks of 2026-07-28 at two replicas that end at random, half of which ask. */
export async function killServerTasks(): Promise<void> {
  await withReplicaOptions(async ({ location, ...options }) => {
    const run = await runEndingTasks({ store: location, ...options });
    printColumns({ tasks: run });
    const { hung, other, foreign, lost, doubled, askedTwice, givenUp } = run;
    return hung + other + foreign + lost + doubled + askedTwice + givenUp === 0;
  });
}

/** Tasks of SDK v1 at two replicas that end at random. */
export async function killSessionTasks(): Promise<void> {
  await withReplicaOptions(async ({ location, ...options }) => {
    const run = await runTasks({ store: location, ...options });
    printColumns({ tasks: run });
    const { hung, other, foreign, lost, doubled, askedAgain } = run;
    return hung + other + foreign + lost + doubled + askedAgain === 0;
  });
}

interface ReplicaOptions {
  readonly location: string;
  readonly calls: number;
  readonly seed: number;
  readonly how: ReplicaEnd;
  readonly asks: boolean;
}

async function withReplicaOptions(
  run: (options: ReplicaOptions) => Promise<boolean>,
): Promise<void> {
  const { values } = parseArgs({
    options: {
      store: option("sqlite"),
      how: option("kill"),
      ask: { type: "boolean", default: false },
      calls: option("1000"),
      seed: option(String(Math.floor(Math.random() * 1e6))),
    },
  });
  const how = replicaEnds.find((each) => each === values.how);
  if (how === undefined) throw new RangeError(`--how is one of ${replicaEnds.join(", ")}.`);
  const [calls, seed] = [Number(values.calls), Number(values.seed)];
  const { location, close } = await openTestStore(storeNamed(values.store));
  console.log(`store ${values.store}, ${calls} calls, ${how}, seed ${seed}`);
  try {
    if (!(await run({ location, calls, seed, how, asks: values.ask }))) process.exitCode = 1;
  } finally {
    await close();
  }
}

function printColumns(runs: Readonly<Record<string, object>>): void {
  const columns = Object.values(runs);
  console.log(columnLine("", Object.keys(runs)));
  for (const row of Object.keys(columns[0]!)) {
    const cells = columns.map((column) => (column as Record<string, unknown>)[row]);
    console.log(columnLine(row, cells));
  }
}

function columnLine(label: string, cells: readonly unknown[]): string {
  return [label.padEnd(18), ...cells.map((cell) => String(cell).padStart(20))].join(" ");
}
