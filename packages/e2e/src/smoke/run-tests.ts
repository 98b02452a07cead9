import type { Finding } from "./finding.ts";
import type { MadeProject } from "./make-project.ts";
import type { NodeRelease } from "./node-releases.ts";
import { runCommand } from "./run-command.ts";

const runners = {
  Vitest: ["node_modules/vitest/vitest.mjs", "run", "--exclude=dist/**", "--testTimeout=60000"],
  "node:test": ["--test", "agent.node-test.ts"],
};

/** Runs the project's own tests, as its author does. */
export async function runTests({ folder }: MadeProject, node: NodeRelease): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [runner, args] of Object.entries(runners)) {
    const { isDone, output } = await runCommand(folder, node.program, args);
    const mode = `${runner}, Node ${node.version}`;
    const fix = "run the tests by hand in the project (`--keep`)";
    if (!isDone) findings.push({ kind: "failure", mode, problem: output, fix });
  }
  return findings;
}
