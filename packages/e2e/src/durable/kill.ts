/**
 * `npm run kill -- --store sqlite|postgres|redis --times 1000`: kills a step with `kill -9`, as often
 * as said, evenly at each of its points, takes the next step, and prints what became of it. With `--freeze` the step is
 * stopped there instead, and goes on after the next; so with `kill:waiting` and `kill:sign-in`.
 */
import { printKills, readKillOptions } from "./kill-command.ts";
import { killedSteps } from "./kill-steps.ts";

await printKills(killedSteps, readKillOptions());
