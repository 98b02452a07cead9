import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Finding } from "./finding.ts";
import type { NodeRelease } from "./node-releases.ts";
import type { Project } from "./projects.ts";
import { runCommand } from "./run-command.ts";

const packages = fileURLToPath(new URL("../../../", import.meta.url));

/** Where projects have our packages from. */
export interface PackageSource {
  /** By package: its tarball, or what to ask the registry for. */
  readonly dependencies: Readonly<Record<string, string>>;
  /** The tarballs again, for what the packages need of each other: what `scripts/pack.mjs` prints. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** Has our scope. @default the packages are tarballs */
  readonly registry?: string;
}

export interface MadeProject {
  readonly folder: string;
  /** Every entry point of our packages, as it is imported. */
  readonly entries: readonly string[];
}

/** Writes a project into an empty folder and installs it with a release of Node, as strictly as npm can. */
export async function makeProject(
  project: Project,
  { node, source, under }: { node: NodeRelease; source: PackageSource; under: string },
): Promise<MadeProject | Finding> {
  const folder = join(under, `${project.name}-${node.version}`);
  mkdirSync(folder, { recursive: true });
  const program = project.testsIn ?? `e2e/smoke/${project.folder ?? project.name}`;
  if (existsSync(join(packages, program))) {
    // As a clone has it: without what git ignores, or nobody has committed.
    const tree = `HEAD:packages/${program}`;
    const archive = `${folder}.tar`;
    execFileSync("git", ["archive", "--output", archive, tree], { cwd: join(packages, "..") });
    execFileSync("tar", ["-xf", archive, "-C", folder]);
  }
  const own = project.own.map((name) => `@durable-mcp/${name}`);
  const others = ["typescript", "@types/node", ...(project.others ?? [])];
  const manifest = {
    name: "consumer",
    private: true,
    type: project.type ?? "module",
    dependencies: Object.fromEntries([
      ...own.map((name) => [name, source.dependencies[name]]),
      ...others.map((name) => [name, releaseOf(project, name)]),
      // `@ai-sdk/provider` imports its types and does not bring them.
      ["@types/json-schema", "7.0.15"],
    ]),
    overrides: source.overrides,
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  if (source.registry !== undefined) {
    writeFileSync(join(folder, ".npmrc"), `@durable-mcp:registry=${source.registry}\n`);
  }
  const install = [node.npm, "install", "--engine-strict", "--no-audit", "--no-fund"];
  const { isDone, output } = await runCommand(folder, node.program, install);
  if (!isDone) {
    const fix = "make `engines`, `dependencies` and `peerDependencies` true of the packages";
    return { kind: "failure", mode: `npm install, Node ${node.version}`, problem: output, fix };
  }
  const entries = own
    .flatMap((name) => entriesOf(folder, name))
    .filter((entry) => !project.without?.includes(entry));
  return { folder, entries };
}

function entriesOf(folder: string, name: string): string[] {
  const manifest = readJson(join(folder, "node_modules", name, "package.json")) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  return Object.keys(manifest.exports)
    .filter((entry) => !entry.endsWith(".json"))
    .map((entry) => name + entry.slice(".".length));
}

/** The release that our own packages are developed with. */
function releaseOf({ own, releases }: Project, name: string): string {
  const installed = [...own, "core", "e2e"]
    .map((each) => join(packages, each, "node_modules", releases?.[name] ?? name, "package.json"))
    .find((path) => existsSync(path));
  if (installed === undefined) throw new Error(`None of our packages has ${name} installed.`);
  return (readJson(installed) as { version: string }).version;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
