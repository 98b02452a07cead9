import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { runCommand } from "../run-command.ts";

/** What the pages import or name beside our packages, and what their programs are tried with. */
const others = [
  ...["ai", "@ai-sdk/mcp", "@ai-sdk/react", "react", "react-dom", "happy-dom", "zod"],
  ...["hono", "@hono/node-server"],
  ...["langchain", "@langchain/core", "@langchain/langgraph", "@langchain/mcp-adapters"],
  ...["@openai/agents", "@langchain/anthropic", "@opentelemetry/api", "workflow", "eve"],
  ...["@modelcontextprotocol/sdk", "@modelcontextprotocol/server", "@modelcontextprotocol/client"],
  ...["pg", "postgres", "redis", "@neondatabase/serverless", "@aws-sdk/client-dynamodb"],
  ...["aws-cdk-lib", "constructs"],
];

/** Other releases for the pages about the Workflow SDK, whose agent is of AI SDK 6. */
const ofWorkflow = {
  ai: "ai-6",
  "@ai-sdk/react": "ai-sdk-react-3",
  "@workflow/ai": "@workflow/ai",
};

type Packed = Record<"dependencies" | "overrides", Record<string, string>>;

/** Packs the packages once for all projects. */
export function packPackages(root: string, folder: string): Packed {
  const packing = ["scripts/pack.mjs", join(folder, "tarballs")];
  return JSON.parse(
    execFileSync(process.execPath, packing, { cwd: root, encoding: "utf8" }),
  ) as Packed;
}

/** An empty folder in which npm installs the tarballs and what the registry has. */
export async function installProject(
  root: string,
  folder: string,
  { dependencies, overrides }: Packed,
  isOfWorkflow: boolean,
): Promise<void> {
  const releases: Record<string, string> = isOfWorkflow ? ofWorkflow : {};
  // eve has AI SDK 7 alone.
  const usable = others.filter((name) => !isOfWorkflow || name !== "eve");
  const names = new Set([...usable, ...Object.keys(releases)]);
  const versions = [...names].map(
    (name) => [name, versionOf(root, releases[name] ?? name)] as const,
  );
  const manifest = {
    ...{ private: true, type: "module", overrides },
    dependencies: { ...dependencies, ...Object.fromEntries(versions) },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  const install = ["install", "--no-audit", "--no-fund"];
  const { isDone, output } = await runCommand(folder, "npm", install, 600_000);
  if (!isDone) throw new Error(`npm install: ${output}`);
  copyPrograms(folder);
}

/** The tarballs of `npm run check:packages`, and for the rest what this workspace has installed: in a second. */
export function linkProject(root: string, folder: string): void {
  const tarballs = globSync("packages/*/package.tgz", { cwd: root });
  if (tarballs.length === 0) throw new Error("There are no tarballs: npm run check:packages");
  for (const tarball of tarballs) {
    const own = join(folder, "node_modules/@durable-mcp", tarball.split("/")[1]!);
    mkdirSync(own, { recursive: true });
    execFileSync("tar", ["-xzf", join(root, tarball), "-C", own, "--strip-components=1"]);
  }
  // Of two releases of a package that of packages/ai-sdk, which is first by name.
  for (const path of globSync("packages/*/node_modules/{@*/*,[!.@]*}", { cwd: root }).toSorted()) {
    const link = join(folder, path.slice(path.indexOf("node_modules")));
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(join(root, path), link);
  }
  copyPrograms(folder);
}

function copyPrograms(folder: string): void {
  cpSync(join(import.meta.dirname, "programs"), join(folder, "pages"), { recursive: true });
}

/** The release that our packages are developed with, or the newest. */
function versionOf(root: string, name: string): string {
  const path = `packages/{*,examples/*}/node_modules/${name}/package.json`;
  const [found] = globSync(path, { cwd: root }).toSorted();
  if (found === undefined) return "latest";
  return (JSON.parse(readFileSync(join(root, found), "utf8")) as { version: string }).version;
}
