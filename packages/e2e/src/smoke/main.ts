/**
 * `npm run smoke`: packs the published packages, installs them into empty projects under several releases of Node,
 * and uses them there as a reader of their documentation does: types, `import`, `require`, two steps in two
 * processes. `-- <name> …` runs the projects whose names hold one of these texts; `--keep` leaves them where they are;
 * `--registry <url>` takes the `latest` of our packages from there, and packs nothing. Ends with 1 when something failed.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { checkCommand } from "./check-command.ts";
import { checkEntries } from "./check-entries.ts";
import { checkTypes } from "./check-types.ts";
import type { Finding } from "./finding.ts";
import { type MadeProject, makeProject, type PackageSource } from "./make-project.ts";
import { installDeno, installNodeReleases, isAllowed, type NodeRelease } from "./node-releases.ts";
import { runTests } from "./run-tests.ts";
import { callOnce, takeSteps } from "./take-steps.ts";
import { type Project, projects } from "./projects.ts";

const repository = fileURLToPath(new URL("../../../../", import.meta.url));
const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: "boolean" }, registry: { type: "string" } },
});
const folder = mkdtempSync(join(tmpdir(), "durable-mcp-smoke-"));
process.once("exit", () => {
  if (options.keep) console.log(`The projects are in ${folder}`);
  else rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const chosen = projects.filter(
  ({ name }) => wanted.length === 0 || wanted.some((text) => name.includes(text)),
);
if (chosen.length === 0) throw new RangeError(`No project has a name with ${wanted.join(" or ")}.`);
const source = options.registry === undefined ? pack() : fromRegistry(options.registry);
const nodes = await installNodeReleases(folder);
const deno = chosen.some(({ onDeno }) => onDeno)
  ? await installDeno(folder, nodes.at(-1)!)
  : undefined;

let failures = 0;
const notes = new Set<string>();
for (const project of chosen) {
  for (const node of nodes.filter(({ version }) => isAllowed(version, enginesOf(project)))) {
    const started = Date.now();
    const findings = await tryProject(project, node);
    failures += findings.filter(({ kind }) => kind === "failure").length;
    const seconds = Math.round((Date.now() - started) / 1000);
    report(`${project.name}, Node ${node.version}`, findings, seconds);
  }
}
for (const note of [...notes].toSorted()) console.log(`note  ${note}`);
console.log(failures === 0 ? "\nEvery project works." : `\n${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;

function pack(): PackageSource {
  const packing = ["scripts/pack.mjs", join(folder, "tarballs")];
  const packed = execFileSync(process.execPath, packing, { cwd: repository, encoding: "utf8" });
  return JSON.parse(packed) as PackageSource;
}

function fromRegistry(registry: string): PackageSource {
  const names = new Set(chosen.flatMap(({ own }) => own));
  const dependencies = Object.fromEntries(
    [...names].map((name) => [`@durable-mcp/${name}`, "latest"]),
  );
  return { dependencies, registry };
}

async function tryProject(project: Project, node: NodeRelease): Promise<Finding[]> {
  const made = await makeProject(project, { node, source, under: folder });
  if ("kind" in made) return [made];
  if (project.isCommand) return await checkCommand(made, node);
  // Types are the same under every release of Node.
  const which = node === nodes.at(-1) ? "all" : "emitting";
  return [
    ...(await checkTypes(project, made, which)),
    ...(await checkEntries(made, node)),
    ...(await (project.testsIn ? runTests(made, node) : takeSteps(project, made, node))),
    ...(project.onDeno ? await callOnce(made, node) : []),
    ...(project.onDeno && deno && node === nodes.at(-1) ? await tryDeno(project, made, deno) : []),
  ];
}

async function tryDeno(
  project: Project,
  made: MadeProject,
  release: NodeRelease,
): Promise<Finding[]> {
  return [...(await takeSteps(project, made, release)), ...(await callOnce(made, release))];
}

function enginesOf({ own }: Project): string[] {
  return own.map((name) => {
    const manifest = readFileSync(join(repository, "packages", name, "package.json"), "utf8");
    return (JSON.parse(manifest) as { readonly engines: { readonly node: string } }).engines.node;
  });
}

function report(name: string, findings: readonly Finding[], seconds: number): void {
  const failed = findings.filter(({ kind }) => kind === "failure");
  console.log(`${failed.length === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
  for (const { mode, problem, fix } of failed) {
    const lines = problem.trim().split("\n").slice(0, 20).join("\n    ");
    console.log(`  ${mode}: ${lines}\n    Fix: ${fix}.`);
  }
  for (const { kind, mode, problem, fix } of findings) {
    if (kind === "note") notes.add(`${problem} (${mode}). A project needs: ${fix}.`);
  }
}
