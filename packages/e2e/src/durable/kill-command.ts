import { parseArgs } from "node:util";
import { killAll, type KillTimes, type KillSubject, killTable } from "./kill-harness.ts";
import { type StoreKind, storeKinds, storeUnavailable } from "./store-place.ts";

/** Reads `--store sqlite|postgres|redis --times 1000 --freeze`, and further numbers with their defaults. */
export function readKillOptions<NAME extends string = never>(
  numbers: Readonly<Record<NAME, number>> = {} as Record<NAME, number>,
): { store: StoreKind; freezes: boolean } & Record<NAME | "times", number> {
  const defaults: Record<string, number> = { times: 1_000, ...numbers };
  const { values } = parseArgs({
    options: {
      store: option("sqlite"),
      freeze: { type: "boolean", default: false },
      ...Object.fromEntries(
        Object.entries(defaults).map(([name, number]) => [name, option(String(number))]),
      ),
    },
  });
  const given: Record<string, unknown> = values;
  const store = storeKinds.find((each) => each === given["store"]);
  if (store === undefined) {
    throw new RangeError(`--store must be one of ${storeKinds.join(", ")}.`);
  }
  const reason = storeUnavailable[store];
  if (reason !== undefined) throw new Error(`No ${store}: ${reason}.`);
  const read = Object.keys(defaults).map((name) => [name, Number(given[name])]);
  return {
    store,
    freezes: given["freeze"] === true,
    ...(Object.fromEntries(read) as Record<NAME | "times", number>),
  };
}

function option(value: string) {
  return { type: "string" as const, default: value };
}

/** Kills as often as said, and prints what became of it. A fault is the exit code 1. */
export async function printKills<POINT extends string, TASK extends object, COUNT extends string>(
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
