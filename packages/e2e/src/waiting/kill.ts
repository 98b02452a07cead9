/**
 * `npm run kill:waiting -- --store sqlite|postgres|redis --times 1000`: kills processes that ask, answer or take a
 * result with `kill -9`, as often as said, evenly at each of their points, brings each call to its end, and prints
 * what became of it. Then two processes answer each of `--races` calls at once.
 */
import { printFaults, printKills, readKillOptions } from "../durable/kill-command.ts";
import { killedAnswers } from "./kill-answers.ts";
import { raceAnswers } from "./race-answers.ts";

const { store, times, races, freezes } = readKillOptions({ races: 1_000 });
await printKills(killedAnswers, { store, times, freezes });
const { legs, refused, faults } = await raceAnswers({ store, rounds: races });
console.log(
  `\n${store}, two answers at once, ${races} times: ${legs} legs, ${refused} refused, ${faults.length} faults`,
);
printFaults(faults);
