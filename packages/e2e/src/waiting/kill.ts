/**
 * `npm run kill:waiting -- --store sqlite|postgres|redis --times 1000`: kills processes that ask, answer or take a
 * result with `kill -9`, as often as said, evenly at each of their points, brings each call to its end, and prints
 * what became of it. Then two processes answer each of `--races` calls at once.
 */
import { parseArgs } from "node:util";
import { storeKinds, storeUnavailable } from "../durable/store-place.ts";
import { raceAnswers } from "./race-answers.ts";
import { answerKillTable, killAnswers } from "./kill-answers.ts";

const {
  store = "sqlite",
  times,
  races,
} = parseArgs({
  options: {
    store: { type: "string" },
    times: { type: "string", default: "1000" },
    races: { type: "string", default: "1000" },
  },
}).values;
const kind = storeKinds.find((each) => each === store);
if (kind === undefined) throw new RangeError(`--store must be one of ${storeKinds.join(", ")}.`);
const reason = storeUnavailable[kind];
if (reason !== undefined) throw new Error(`No ${kind}: ${reason}.`);

const startedAt = Date.now();
const rows = await killAnswers({
  store: kind,
  times: Number(times),
  onKill(count) {
    if (count % 100 === 0) process.stderr.write(`${count} of ${times}\n`);
  },
});
const seconds = Math.round((Date.now() - startedAt) / 1_000);
console.log(`${kind}, ${times} kills in ${seconds} s\n\n${answerKillTable(rows)}`);
const raced = await raceAnswers({ store: kind, rounds: Number(races) });
console.log(
  `\n${kind}, two answers at once, ${races} times: ${raced.legs} legs, ${raced.refused} refused, ${raced.faults.length} faults`,
);
for (const fault of [...rows.flatMap(({ faults }) => faults), ...raced.faults]) {
  console.error(fault);
  process.exitCode = 1;
}
