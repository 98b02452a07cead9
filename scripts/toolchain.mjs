// Runs one command of this workspace on any machine that has Node 20 and npm:
//
//     node scripts/toolchain.mjs <command> [arguments]
//
// It installs the dependencies, then runs the command at the workspace root. Where Node is too old for the
// workspace or pnpm is missing, npx fetches the versions below and this file starts again under them.
// Only the command itself writes to stdout; everything else goes to stderr. With `DURABLE_MCP_TOOLCHAIN=ready` it
// runs the command and nothing else.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const NODE = "24.21.0";
const PNPM = "12.21.0";
const OLDEST_PNPM = 11;

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
process.env.TURBO_TELEMETRY_DISABLED = "1";

if (process.env.DURABLE_MCP_TOOLCHAIN === "ready") {
  run(process.argv[2], process.argv.slice(3));
} else if (
  process.env.DURABLE_MCP_TOOLCHAIN ||
  (nodeRunsTheWorkspace() && pnpmRunsTheWorkspace())
) {
  const installed = install();
  if (installed !== 0) process.exit(installed);
  run(process.argv[2], process.argv.slice(3));
} else {
  const node = process.platform === "linux" ? `node-linux-${process.arch}` : "node";
  const self = ["node", fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  // npm's own errors must show here, although .npmrc silences `npm run`.
  const npx = [
    "--yes",
    "--loglevel=error",
    "-p",
    `${node}@${NODE}`,
    "-p",
    `pnpm@${PNPM}`,
    "--",
    ...self,
  ];
  run("npx", npx, { ...process.env, DURABLE_MCP_TOOLCHAIN: "npx" });
}

/** Development needs Node 22.19 (the strictest of the tools) with type stripping, for it runs the TypeScript sources. */
function nodeRunsTheWorkspace() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  return (major > 22 || (major === 22 && minor >= 19)) && Boolean(process.features.typescript);
}

function pnpmRunsTheWorkspace() {
  const { status, stdout } = spawnSync("pnpm", ["--version"], { encoding: "utf8" });
  return status === 0 && Number.parseInt(stdout, 10) >= OLDEST_PNPM;
}

function install() {
  const args = ["install", ...(process.env.CI ? ["--frozen-lockfile"] : [])];
  // The first install shows its progress; later ones take a second and speak up only when they fail.
  const output = existsSync("node_modules/.modules.yaml") ? "pipe" : process.stderr;
  const { error, status, stdout, stderr } = spawnSync("pnpm", args, {
    stdio: ["ignore", output, output],
  });
  if (error) throw error;
  if (status !== 0 && output === "pipe") process.stderr.write(Buffer.concat([stdout, stderr]));
  return status ?? 1;
}

/** Runs a program and ends with its exit code. */
function run(program, args, env = process.env) {
  const child = spawn(program, args, { env, stdio: "inherit" });
  process.on("SIGINT", () => {}); // Ctrl-C reaches the program too; let it finish
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("error", (error) => {
    throw error;
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
