/**
 * `npm run kill -- --store sqlite|postgres|redis --times 1000`: kills a step with `kill -9`, as often
 * as said, evenly at each of its points, takes the next step, and prints what became of it.
 */
import { parseArgs } from "node:util";
import { killSteps, killTable } from "./kill-steps.ts";
import { storeKinds, storeUnavailable } from "./store-place.ts";

const { store = "sqlite", times } = parseArgs({
  options: { store: { type: "string" }, times: { type: "string", default: "1000" } },
}).values;
const kind = storeKinds.find((each) => each === store);
if (kind === undefined) throw new RangeError(`--store must be one of ${storeKinds.join(", ")}.`);
const reason = storeUnavailable[kind];
if (reason !== undefined) throw new Error(`No ${kind}: ${reason}.`);

const startedAt = Date.now();
const rows = await killSteps({
  store: kind,
  times: Number(times),
  onKill(count) {
    if (count % 100 === 0) process.stderr.write(`${count} of ${times}\n`);
  },
});
const seconds = Math.round((Date.now() - startedAt) / 1_000);
console.log(`${kind}, ${times} kills in ${seconds} s\n\n${killTable(rows)}`);
for (const fault of rows.flatMap(({ faults }) => faults)) {
  console.error(fault);
  process.exitCode = 1;
}
