// Builds the published packages and packs them, as they would be published:
//
//     node scripts/pack.mjs <folder>
//
// It prints what a project's package.json needs to install them without a registry: `dependencies`, and `overrides`
// for what the packages need of each other. Both name the tarballs by their full paths. A folder without a project
// takes them all with `npm install <folder>/*.tgz`.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

if (process.argv[2] === undefined) {
  console.error("Usage: node scripts/pack.mjs <folder for the tarballs>");
  process.exit(2);
}
const folder = resolve(process.argv[2]);
process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/** Runs a command with the Node and the pnpm of the workspace, and gives what it wrote to stdout. */
function run(command, ...args) {
  return execFileSync(process.execPath, ["scripts/toolchain.mjs", command, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 64 * 1024 * 1024,
  });
}

process.env.PATH = run("printenv", "PATH").trim();
process.env.DURABLE_MCP_TOOLCHAIN = "ready";
run("pnpm", "exec", "turbo", "run", "build", "--output-logs=errors-only");

// A tarball of an earlier run may belong to a package that has gone.
mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) {
  if (/^durable-mcp-.*\.tgz$/.test(name)) rmSync(join(folder, name));
}

const listed = JSON.parse(run("pnpm", "ls", "--recursive", "--depth=-1", "--json"));
const published = listed.filter((each) => !each.private).map((each) => each.name);
const filters = published.flatMap((name) => ["--filter", name]);
const packed = JSON.parse(
  run("pnpm", ...filters, "--recursive", "pack", "--pack-destination", folder, "--json"),
);
const tarballs = Object.fromEntries(
  packed.map(({ name, filename }) => [name, `file:${resolve(folder, filename)}`]),
);
console.log(JSON.stringify({ dependencies: tarballs, overrides: tarballs }, null, 2));
