/**
 * `npm run lab -- openers --rounds 50 [--store sqlite|postgres|redis]`: six processes that open the same
 * agent session at once, on every store, first and after a loss. Fails when a round does not end
 * with exactly one MCP session on the server.
 */
import { parseArgs } from "node:util";
import { storeKinds, storeUnavailable } from "./store-place.ts";
import { faultsOf, runTwoOpeners } from "./two-openers.ts";

const { rounds, store } = parseArgs({
  options: { rounds: { type: "string", default: "50" }, store: { type: "string" } },
}).values;

console.log("store     rounds  sessions made  given up  with one session at the end  left behind");
for (const kind of storeKinds.filter((each) => store === undefined || store === each)) {
  const reason = storeUnavailable[kind];
  if (reason !== undefined) {
    console.log(`${kind.padEnd(9)} skipped: ${reason}`);
    continue;
  }
  const results = await runTwoOpeners({ store: kind, rounds: Number(rounds) });
  const adopted = results.reduce((sum, result) => sum + result.adopted, 0);
  const good = results.filter((result) => faultsOf(result).length === 0).length;
  const leftBehind = results.reduce((sum, result) => sum + result.leftBehind, 0);
  console.log(
    [
      kind.padEnd(9),
      String(results.length).padStart(6),
      String(results.length + adopted).padStart(14),
      String(adopted).padStart(9),
      String(good).padStart(28),
      String(leftBehind).padStart(12),
    ].join(" "),
  );
  for (const fault of results.flatMap(faultsOf)) {
    console.error(fault);
    process.exitCode = 1;
  }
}
