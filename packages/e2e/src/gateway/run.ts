/**
 * Kills and freezes processes of a gateway at random while unmodified clients call tools through them, and has its server
 * forget. `--failing 7`: each seventh operation of the store fails, before or after it was done. `--events`: the server
 * gives event ids. The last line counts what took answers away.
 *
 *     npm run lab -- gateway [--store sqlite|postgres|redis] [--calls 2000] [--seed 7] [--failing 7] [--events]
 *
 * Exits with 1 for a call that was crossed, doubled, lost, told wrong or not at all, and for sessions of the server that
 * nobody has ended: at most one for each kill within a second after a session began, which no process may have kept.
 */
import { parseArgs } from "node:util";
import { storeNamed } from "../kill/command.ts";
import { runKilledGateway } from "./killed-gateway.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    calls: { type: "string", default: "2000" },
    seed: { type: "string", default: "7" },
    failing: { type: "string" },
    events: { type: "boolean" },
  },
});
const run = await runKilledGateway({
  store: storeNamed(values.store),
  calls: Number(values.calls),
  seed: Number(values.seed),
  freezes: true,
  failing: values.failing === undefined ? undefined : Number(values.failing),
  events: values.events,
});
console.log(run);
const reasons = [...run.unknown].map(([cause, count]) => `; unknown, for ${cause}: ${count}`);
console.log(`unexplained: ${run.unexplained.length}${reasons.join("")}`);
const faults = run.crossed + run.doubled + run.lost + run.untrue + run.unexplained.length;
const isWasteful = run.initializes > run.allowedInitializes || run.orphans > run.killsInHandshakes;
if (faults > 0 || isWasteful) process.exitCode = 1;
// Clients may still hold a stream.
process.exit();
