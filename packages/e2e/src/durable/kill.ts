/**
 * `npm run kill -- --store sqlite|postgres|redis --times 1000`: kills a step with `kill -9`, as often
 * as said, evenly at each of its points, takes the next step, and prints what became of it.
 */
import { printKills, readKillOptions } from "./kill-command.ts";
import { killedSteps } from "./kill-steps.ts";

await printKills(killedSteps, readKillOptions());
