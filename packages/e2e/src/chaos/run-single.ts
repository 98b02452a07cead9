/**
 * `npm run lab -- single-faults [--store sqlite|postgres|redis] [--scenario text] [--every 10] [--at 7] [--from 5000] [--lanes 8]`: fails each
 * operation of the store and each request in the life of a waiting call once, before and after it was done, and kills
 * its process there. `--every 10` tries a tenth, `--at 7` the seventh operation, `--from 5000`
 * the cases from the 5000th on. Exits with 1 when a call was lost,
 * doubled, crossed or told wrong, or a chat did not go on.
 */
import { parseArgs } from "node:util";
import { storeNamed } from "../kill/command.ts";
import { failEachOperation } from "./single-faults.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    scenario: { type: "string" },
    every: { type: "string", default: "1" },
    at: { type: "string" },
    from: { type: "string", default: "1" },
    lanes: { type: "string", default: "8" },
  },
});
const startedAt = Date.now();
const { violations, scenarios, cases, tried } = await failEachOperation({
  store: storeNamed(values.store),
  only: values.scenario,
  every: Number(values.every),
  at: values.at === undefined ? undefined : Number(values.at),
  from: Number(values.from),
  lanes: Number(values.lanes),
  onCase: (name, faults) => faults.length > 0 && console.error(`${name}: ${faults.join("; ")}`),
});
const seconds = Math.round((Date.now() - startedAt) / 1_000);
console.log(
  `${values.store}: ${scenarios} scenarios, ${tried} of ${cases} cases, ${violations.length} violations, ${seconds} s`,
);
// Questions of servers in this process wait for minutes.
process.exit(violations.length === 0 ? 0 : 1);
