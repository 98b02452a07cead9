import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "./finding.ts";
import type { MadeProject } from "./make-project.ts";
import type { Project } from "./projects.ts";
import { runCommand } from "./run-command.ts";

const strict = {
  ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
  // A project whose tests run as they are names its files as they are.
  rewriteRelativeImportExtensions: true,
};
const withoutBrowser = { lib: ["ES2024", "ESNext.Disposable"] };

/** The settings under which projects are compiled; the first gives the programs that are run. */
const modes: Readonly<Record<string, object>> = {
  "nodenext, exact optional properties": { module: "nodenext", outDir: "dist" },
  "node16, exact optional properties": { module: "node16", noEmit: true },
  "bundler, exact optional properties": {
    ...{ module: "preserve", moduleResolution: "bundler", noEmit: true },
  },
  "nodenext, strict": { module: "nodenext", exactOptionalPropertyTypes: false, noEmit: true },
  "nodenext, without the types of browsers": {
    module: "nodenext",
    ...withoutBrowser,
    noEmit: true,
  },
};

/** Compiles the project and every entry point, declarations included, in all modes or in the one that emits. */
export async function checkTypes(
  project: Project,
  { folder, entries }: MadeProject,
  which: "all" | "emitting",
): Promise<Finding[]> {
  writeFileSync(join(folder, "entries.ts"), entries.map(exportLine).join("\n"));
  const findings: Finding[] = [];
  for (const [mode, options] of Object.entries(modes).slice(0, which === "all" ? undefined : 1)) {
    const compilerOptions = { target: "ES2024", types: ["node"], ...strict, ...options };
    const config = { compilerOptions, include: ["*.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const { isDone, output } = await runCommand(folder, "node_modules/.bin/tsc", [
      "--pretty",
      "false",
    ]);
    const errors = output.split("\n").filter((line) => / error TS|^error TS/.test(line));
    if (!isDone && errors.length === 0) errors.push(output);
    findings.push(...judge(project, mode, errors));
  }
  return findings;
}

function exportLine(entry: string, index: number): string {
  return `export * as entry${index} from "${entry}";`;
}

/** Errors in the declarations of others are theirs; all others are ours. */
function judge(project: Project, mode: string, errors: readonly string[]): Finding[] {
  const findings = errors.map((error) => judgeError(project, mode, error));
  const seen = new Set<string>();
  return findings.filter(({ problem }) => !seen.has(problem) && seen.add(problem));
}

function judgeError(
  { name, type, knownTypeErrors }: Project,
  mode: string,
  error: string,
): Finding {
  const owner = /.*node_modules\/((@[^/]+\/)?[^/]+)/.exec(error)?.[1];
  if (type === "commonjs" && mode.startsWith("node16") && error.includes("TS1479")) {
    const problem = "TS1479: node16 does not know that Node 22.12 loads ES modules with `require`";
    return { kind: "note", mode, problem, fix: "nodenext, or `import()`" };
  }
  if (knownTypeErrors?.file.test(error)) {
    return { kind: "note", mode, problem: knownTypeErrors.why, fix: "skipLibCheck" };
  }
  if (owner !== undefined && !owner.startsWith("@durable-mcp/")) {
    return { kind: "note", mode, problem: `type errors in ${owner} itself`, fix: "skipLibCheck" };
  }
  const fix =
    owner === undefined
      ? `make packages/e2e/smoke/${name} compile: by the types of what it uses, or by itself`
      : `change the source of this declaration of ${owner}`;
  return { kind: "failure", mode, problem: error.trim(), fix };
}
