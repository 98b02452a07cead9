import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "./finding.ts";
import type { MadeProject } from "./make-project.ts";
import { compare, type NodeRelease } from "./node-releases.ts";
import { runCommand } from "./run-command.ts";

/** From this release on, `require` loads ES modules. */
const requireLoadsModules = "22.12.0";

/** Loads the modules that it is given, and prints the name of each that fails or prints, with what it says. */
const program = (load: string) => `
(async () => {
  for (const entry of process.argv.slice(2)) {
    try {
      ${load};
    } catch (error) {
      console.log(entry + ": " + (error.code ?? "") + " " + error.message);
    }
  }
})();
`;

/** Loads every entry point: with `import`, and with `require` from CommonJS. */
export async function checkEntries(
  { folder, entries }: MadeProject,
  node: NodeRelease,
): Promise<Finding[]> {
  writeFileSync(join(folder, "import-all.mjs"), program("await import(entry)"));
  writeFileSync(join(folder, "require-all.cjs"), program("require(entry)"));
  const imported = await runCommand(folder, node.program, ["import-all.mjs", ...entries]);
  const required = await runCommand(folder, node.program, ["require-all.cjs", ...entries]);
  const findings: Finding[] = [];
  if (imported.output !== "") {
    const mode = `import, Node ${node.version}`;
    const fix = "an import loads on every release in `engines`, and prints nothing";
    findings.push({ kind: "failure", mode, problem: imported.output, fix });
  }
  const mode = `require, Node ${node.version}`;
  if (compare(node.version, requireLoadsModules) >= 0) {
    const fix = "an entry point has the condition `default`, and no `await` outside of functions";
    if (required.output === "") return findings;
    return [...findings, { kind: "failure", mode, problem: required.output, fix }];
  }
  const refused = required.output.split("ERR_REQUIRE_ESM").length - 1;
  const fix = "`import()`, or Node 22.12";
  const problem = "ERR_REQUIRE_ESM, as of every ES module before Node 22.12";
  if (refused === entries.length) return [...findings, { kind: "note", mode, problem, fix }];
  return [...findings, { kind: "failure", mode, problem: required.output, fix: problem }];
}
