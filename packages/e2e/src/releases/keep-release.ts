/**
 * Keeps a commit of this project as the release that `two-releases.test.ts` runs beside the present code: a module with
 * all that it needs but its peers. It takes the dependencies that are installed, and no network.
 *
 *     node packages/e2e/src/releases/keep-release.ts <commit>
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const packages = fileURLToPath(new URL("../../../", import.meta.url));
const kept = ["core", "sessions", "ai-sdk", "stores"];
const entry = `
export {
  agentTool,
  createDurableSessions,
  defineMcpClientConnection,
  stopWhenWaiting,
} from "@durable-mcp/ai-sdk";
export { encryptStore } from "@durable-mcp/core/sealing";
export { createSqliteStore } from "@durable-mcp/stores/sqlite";
`;

const [given] = process.argv.slice(2);
if (given === undefined) {
  console.error("Usage: node packages/e2e/src/releases/keep-release.ts <commit>");
  process.exit(1);
}
const git = (...args: string[]) => execFileSync("git", args, { cwd: packages, encoding: "utf8" });
const [commit, date] = git("show", "-s", "--format=%h %cs", given).trim().split(" ");
const source = mkdtempSync(join(tmpdir(), "durable-mcp-release-"));
try {
  const archive = join(source, "source.tar");
  git("archive", "-o", archive, commit!, ...kept);
  execFileSync("tar", ["-xf", archive, "-C", source]);
  for (const name of kept)
    symlinkSync(join(packages, name, "node_modules"), join(source, name, "node_modules"));
  const file = join(source, "entry.js");
  writeFileSync(file, entry);
  await build({
    input: file,
    platform: "node",
    tsconfig: false,
    external: ["ai", "jose", /^(@ai-sdk|zod)\//],
    plugins: [{ name: "commit", resolveId: sourceOf }],
    output: {
      file: fileURLToPath(new URL(`${date}.mjs`, import.meta.url)),
      postBanner: `// Commit ${commit}, by packages/e2e/src/releases/keep-release.ts.`,
      minify: true,
      codeSplitting: false,
    },
  });
} finally {
  rmSync(source, { recursive: true });
}

/** The commit's own file for an entry of a package: `node_modules` has the present one. */
function sourceOf(id: string): string | undefined {
  const [, name, path = ""] = /^@durable-mcp\/([^/]+)(.*)$/.exec(id) ?? [];
  if (name === undefined) return undefined;
  const { exports } = JSON.parse(readFileSync(join(source, name, "package.json"), "utf8")) as {
    exports: Record<string, { "@durable-mcp/source": string }>;
  };
  return join(source, name, exports[`.${path}`]!["@durable-mcp/source"]);
}
