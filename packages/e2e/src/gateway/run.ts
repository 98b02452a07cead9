/**
 * Kills processes of a gateway at random while unmodified clients call tools through them, and has its server forget:
 *
 *     npm run lab -- gateway [--store sqlite|postgres|redis] [--calls 2000] [--seed 7]
 */
import { parseArgs } from "node:util";
import { storeNamed } from "../kill/command.ts";
import { runKilledGateway } from "./killed-gateway.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    calls: { type: "string", default: "2000" },
    seed: { type: "string", default: "7" },
  },
});
const run = await runKilledGateway({
  store: storeNamed(values.store),
  calls: Number(values.calls),
  seed: Number(values.seed),
});
console.log(run);
const faults = run.crossed + run.doubled + run.lost + run.untrue + run.unexplained.length;
// A process that is killed between the answer to `initialize` and the save leaves a session that nobody knows.
const isWasteful = run.initializes > run.allowedInitializes || run.orphans > run.kills;
if (faults > 0 || isWasteful) process.exitCode = 1;
// Clients may still hold a stream.
process.exit();
