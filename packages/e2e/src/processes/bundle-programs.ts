import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import type { TestProject } from "vitest/node";
import { bundleName, bundlesVariable } from "./programs.ts";

const packages = fileURLToPath(new URL("../../../", import.meta.url));

/** What the tests of this package run in processes of their own, in patterns under `packages`. */
const programs = [
  "e2e/src/{steps,runs,stdio,durable,faults,gateway,kill,chat,chaos,authorization,deploy,sub-agents}/*-program.ts",
  "e2e/src/conformance/program/*-program.ts",
  "e2e/src/compatibility/{asking,cold-step,lasting}-program.ts",
  "e2e/src/waiting/*-program.ts",
  "e2e/src/fixtures/*-server.ts",
  "e2e/src/processes/keep-compiled.ts",
  "examples/src/servers/notes-server.ts",
  "cli/src/main.ts",
];

/** Looked for by `@durable-mcp/sessions` beside the file that starts it. */
const supervisor = "sessions/src/stdio/supervisor.ts";

/**
 * Bundles the programs once for a run of the tests, in a folder that is gone afterwards: hundreds of
 * processes then load two or three files each, which are compiled once.
 */
export default async function bundlePrograms({
  vitest,
}: TestProject): Promise<(() => void) | undefined> {
  // A bundle would not see what changes.
  if (vitest.config.watch) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-bundles-"));
  // As in a package, whose command reads its version.
  const dist = join(folder, "dist");
  const paths = globSync(programs, { cwd: packages }).map((path) => join(packages, path));
  await build({
    input: {
      ...Object.fromEntries(paths.map((path) => [bundleName(path), path])),
      supervisor: join(packages, supervisor),
    },
    platform: "node",
    plugins: [
      {
        name: "supervisor",
        transform: (code) => code.replace(`URL("./supervisor.ts"`, `URL("./supervisor.js"`),
      },
    ],
    // What the packages load only where it is there.
    external: ["pg-native"],
    // The modules of `jsonc-parser`: its main file asks for others by a function that is given to it.
    resolve: { conditionNames: ["@durable-mcp/source", "node"], mainFields: ["module", "main"] },
    output: {
      dir: dist,
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: "[name]-[hash].js",
    },
    logLevel: "silent",
  });
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "version": "0.0.0" }\n');
  process.env[bundlesVariable] = dist;
  return () => {
    delete process.env[bundlesVariable];
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
