/**
 * Calls at two replicas that are killed and restarted at random, on a store of your choice, and the
 * same with the official SDK's own example server beside it:
 *
 *     node --conditions=@durable-mcp/source packages/e2e/src/replicas/killed-replicas-program.ts \
 *       --store sqlite --calls 1000 [--seed 7] [--how drain]
 */
import { parseArgs } from "node:util";
import { type KilledReplicasRun, runWithKilledReplicas } from "./killed-replicas-run.ts";
import { notesServer, sdkExample } from "./notes-replicas.ts";
import { openTestStore } from "./test-store.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    how: { type: "string", default: "kill" },
    calls: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
  },
});
const calls = Number(values.calls);
const seed = Number(values.seed);
const store = await openTestStore(values.store);

console.log(`store ${values.store}, ${calls} calls, ${values.how}, seed ${seed}`);
try {
  const options = { calls, seed, how: values.how === "drain" ? "drain" : "kill" } as const;
  const ours = await runWithKilledReplicas(notesServer(store.location), options);
  const maxSeconds = ours.seconds;
  const theirs = await runWithKilledReplicas(sdkExample, { ...options, maxSeconds });
  print({ "@durable-mcp/server": ours, "SDK example": theirs });
  const { sessionErrors, lost, doubled, hung } = ours;
  if (sessionErrors + lost + doubled + hung > 0) process.exitCode = 1;
} finally {
  await store.close();
}

function print(runs: Record<string, KilledReplicasRun>): void {
  const names = Object.keys(runs);
  const rows = Object.keys(runs[names[0]!]!) as (keyof KilledReplicasRun)[];
  console.log(["".padEnd(14), ...names.map((name) => name.padStart(20))].join(" "));
  for (const row of rows) {
    const cells = names.map((name) => String(runs[name]![row]).padStart(20));
    console.log([row.padEnd(14), ...cells].join(" "));
  }
}
