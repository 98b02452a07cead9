/**
 * Kills processes with `kill -9`, evenly at each of their points, has others go on, and prints what became of it:
 *
 *     npm run lab -- kill         [--store sqlite|postgres|redis] [--times 1000] [--freeze]   steps
 *     npm run lab -- kill-sign-in [… --times 500 --dpop]  in a sign-in or a refresh
 *
 * With `--freeze` a process is stopped at its point instead, and goes on after the others. Replicas end at random:
 *
 *     npm run lab -- kill-replicas [--store …] [--calls 1000] [--seed 7] [--how kill|drain]   beside the SDK's example
 *     npm run lab -- kill-calls    [--store …] [--calls 1000] [--seed 7] [--how kill|drain|none] [--ask]   calls in flight
 *     npm run lab -- kill-session-tasks [--store …] [--calls 500] [--seed 7] [--how kill|drain|none]   tasks of SDK v1
 *     npm run lab -- kill-server-tasks [--store …] [--calls 1000] [--seed 7] [--how kill|drain|none]   tasks, and questions
 */
import {
  killAndPrint,
  killCalls,
  killReplicas,
  killServerTasks,
  killSessionTasks,
  readKillOptions,
} from "./command.ts";

const what = process.argv[2];
process.argv.splice(2, 1);

switch (what) {
  case "steps": {
    const { killedSteps } = await import("./steps.ts");
    await killAndPrint(killedSteps, readKillOptions());
    break;
  }
  case "sign-in": {
    const { killedSignIns } = await import("./sign-ins.ts");
    await killAndPrint(killedSignIns, readKillOptions());
    break;
  }
  case "replicas":
    await killReplicas();
    break;
  case "calls":
    await killCalls();
    break;
  case "session-tasks":
    await killSessionTasks();
    break;
  case "server-tasks":
    await killServerTasks();
    break;
  default:
    throw new RangeError(`Nothing named ${what} is killed here.`);
}
