/**
 * Calls in flight at two replicas that are killed, and over connections that break, made by clients that
 * come back for their answers:
 *
 *     node --conditions=@durable-mcp/source packages/e2e/src/replicas/calls-in-flight-program.ts \
 *       --store redis --calls 2000 [--seed 7] [--how drain|none]
 */
import { parseArgs } from "node:util";
import { runCallsInFlight } from "./calls-in-flight-run.ts";
import { openTestStore } from "./test-store.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    how: { type: "string", default: "kill" },
    calls: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
  },
});
const store = await openTestStore(values.store);
console.log(`store ${values.store}, ${values.calls} calls, ${values.how}, seed ${values.seed}`);
try {
  const run = await runCallsInFlight({
    store: store.location,
    calls: Number(values.calls),
    seed: Number(values.seed),
    how: values.how as "kill" | "drain" | "none",
  });
  for (const [name, count] of Object.entries(run)) {
    console.log(name.padEnd(18), String(count).padStart(8));
  }
  const { hung, other, foreign, disordered, lost, doubled } = run;
  if (hung + other + foreign + disordered + lost + doubled > 0) process.exitCode = 1;
} finally {
  await store.close();
}
