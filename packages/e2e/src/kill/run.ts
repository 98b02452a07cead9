/**
 * Kills processes with `kill -9`, evenly at each of their points, has others go on, and prints what became of it:
 *
 *     npm run lab -- kill         [--store sqlite|postgres|redis] [--times 1000] [--freeze]   steps
 *     npm run lab -- kill-waiting [… --races 1000]     that ask, answer or take a result; and two answers at once
 *     npm run lab -- kill-tasks   [… --times 500]      that make, look at, answer or end a call that its server keeps
 *     npm run lab -- kill-agents  [… --times 500]      in whose sub-agent a call waits, for an answer or a sign-in
 *     npm run lab -- kill-sign-in [… --times 500 --dpop]  in a sign-in or a refresh; and with calls that waited for one
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
  printFaults,
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
  case "waiting": {
    const { killedAnswers } = await import("./answers.ts");
    const { raceAnswers } = await import("../waiting/race-answers.ts");
    const { races, ...options } = readKillOptions({ races: 1_000 });
    await killAndPrint(killedAnswers, options);
    const { store } = options;
    const { legs, refused, faults } = await raceAnswers({ store, rounds: races });
    console.log(
      `\n${store}, two answers at once, ${races} times: ${legs} legs, ${refused} refused, ${faults.length} faults`,
    );
    printFaults(faults);
    break;
  }
  case "tasks": {
    const { killedTasks } = await import("./tasks.ts");
    await killAndPrint(killedTasks, readKillOptions());
    // Questions of servers in this process wait for minutes.
    process.exit();
  }
  case "sign-in": {
    const { killedResumes } = await import("./resumes.ts");
    const { killedSignIns } = await import("./sign-ins.ts");
    const options = readKillOptions();
    await killAndPrint(killedSignIns, options);
    await killAndPrint(killedResumes, options);
    break;
  }
  case "agents": {
    const { killedSignInsBelow, killedSubAgents } = await import("./sub-agents.ts");
    const options = readKillOptions();
    await killAndPrint(killedSubAgents, options);
    await killAndPrint(killedSignInsBelow, options);
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
