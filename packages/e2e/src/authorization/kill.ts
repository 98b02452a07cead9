/**
 * `npm run kill:sign-in -- --store sqlite|postgres|redis --times 500`: kills processes that begin or end a sign-in, or
 * refresh, with `kill -9`, as often as said, evenly at each of their points, goes on in others, and prints what became
 * of it. Then the same with processes that carry out a call which has waited for a sign-in.
 */
import { printKills, readKillOptions } from "../durable/kill-command.ts";
import { killedResumes } from "./kill-resumes.ts";
import { killedSignIns } from "./kill-sign-ins.ts";

const options = readKillOptions();
await printKills(killedSignIns, options);
await printKills(killedResumes, options);
