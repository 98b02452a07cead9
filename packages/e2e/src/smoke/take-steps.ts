import { rmSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../processes/free-port.ts";
import { serve } from "./cart-server.ts";
import type { Finding } from "./finding.ts";
import type { MadeProject } from "./make-project.ts";
import type { NodeRelease } from "./node-releases.ts";
import type { Project } from "./projects.ts";
import { type CommandResult, runCommand } from "./run-command.ts";

/**
 * Takes two steps in two processes, each of which adds an item to the cart. The second sees both only if it has the
 * session of the first.
 */
export async function takeSteps(
  project: Project,
  { folder }: MadeProject,
  node: NodeRelease,
): Promise<Finding[]> {
  const port = await freePort();
  for (const file of ["sessions.db", "server.db", "snapshot.json"]) {
    rmSync(join(folder, file), { force: true });
  }
  const own = { node: node.program, script: "dist/server.js", folder };
  const start = () => serve(port, project.hasServer ? own : {});
  const step = (item: string) => {
    const args = [...(node.args ?? []), "dist/step.js", `http://127.0.0.1:${port}/mcp`, item];
    return runCommand(folder, node.program, args);
  };
  const goesOn = project.answer ?? /apples.*bread/s;
  const answers: CommandResult[] = [];
  const fix = "start the project's programs by hand (`--keep` leaves it where it is)";
  const mode = `two steps, Node ${node.version}`;
  try {
    if (project.hasServer) {
      for (const item of ["apples", "bread"]) {
        // Killed between the steps.
        await during(start, async () => void answers.push(await step(item)));
      }
    } else {
      await during(start, async () => {
        answers.push(await step("apples"), await step("bread"));
      });
    }
  } catch (error) {
    return [{ kind: "failure", mode, problem: String(error), fix }];
  }
  const isRight =
    answers.every(({ isDone }) => isDone) && goesOn.test(answers.at(-1)?.output ?? "");
  const problem = answers.map(({ output }, index) => `step ${index + 1} says ${output}`).join("; ");
  return isRight ? [] : [{ kind: "failure", mode, problem, fix }];
}

/** Calls a tool of a server that closes the connection without a byte: the call must not arrive twice. */
export async function callOnce(
  { folder }: MadeProject,
  { program, args = [], version }: NodeRelease,
): Promise<Finding[]> {
  const { isDone, output } = await runCommand(folder, program, [...args, "dist/once.js"]);
  const fix = "look at `lastFetch` of core";
  return isDone ? [] : [{ kind: "failure", mode: `a call, Node ${version}`, problem: output, fix }];
}

/** Does something while a program runs. (Not `await using`: the check of the imports cannot parse it.) */
async function during(
  start: () => Promise<AsyncDisposable>,
  work: () => Promise<void>,
): Promise<void> {
  const running = await start();
  try {
    await work();
  } finally {
    await running[Symbol.asyncDispose]();
  }
}
