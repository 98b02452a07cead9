import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "./run-command.ts";

/** A release of Node, with an npm that runs on it. */
export interface NodeRelease {
  readonly version: string;
  readonly program: string;
  /** What comes before a script. */
  readonly args?: readonly string[];
  /** The script of npm. */
  readonly npm: string;
}

/** The oldest that core says it runs on, the oldest that all packages run on, and the newest in long-term support. */
const versions = ["22.0.0", "22.19.0", "24.21.0"];
const npmVersion = "10.9.4"; // of Node 22; later ones do not run on 22.0

/** Installs the releases from npm, where `scripts/toolchain.mjs` has its own from. */
export async function installNodeReleases(under: string): Promise<NodeRelease[]> {
  const folder = join(under, "node");
  mkdirSync(folder, { recursive: true });
  const onLinux = process.platform === "linux" ? `node-linux-${process.arch}` : "node";
  const dependencies = Object.fromEntries([
    ...versions.map((version) => [`node-${version}`, `npm:${onLinux}@${version}`]),
    ["npm", npmVersion],
  ]) as Record<string, string>;
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  const { isDone, output } = await runCommand(folder, "npm", [
    "install",
    "--no-audit",
    "--no-fund",
  ]);
  if (!isDone) throw new Error(`The releases of Node could not be installed: ${output}`);
  const npm = join(folder, "node_modules/npm/bin/npm-cli.js");
  return versions.map((version) => ({
    version,
    program: join(folder, `node_modules/node-${version}/bin/node`),
    npm,
  }));
}

/** The newest Deno that npm has; what it runs was installed with `node`. */
export async function installDeno(under: string, node: NodeRelease): Promise<NodeRelease> {
  const folder = join(under, "deno");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  const install = [node.npm, "install", "--no-audit", "--no-fund", "deno"];
  const { isDone, output } = await runCommand(folder, node.program, install);
  if (!isDone) throw new Error(`Deno could not be installed: ${output}`);
  const program = join(folder, "node_modules/.bin/deno");
  return { version: "of Deno", program, args: ["run", "--allow-all"], npm: node.npm };
}

/** Whether the `engines` of the installed packages, each `>=` one release, allow it. */
export function isAllowed(version: string, engines: readonly string[]): boolean {
  return engines.every((range) => compare(version, range.replace(/^>=/, "")) >= 0);
}

/** Below 0 if the first release is the older one. */
export function compare(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}
