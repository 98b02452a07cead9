// Builds the package in the working directory: its declarations, file by file, then one module for each of its entry
// points, and chunks for what they share: what a package keeps in a module then exists once, whatever is imported.
//
//     node ../../scripts/build-package.mjs [<program that is started by its file name> ...]

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { rolldown } from "rolldown";

const { name, publishConfig, dependencies, peerDependencies } = JSON.parse(
  readFileSync("package.json", "utf8"),
);

/** The paths of the JavaScript that the package says it has. */
function builtPaths(entries) {
  if (typeof entries !== "object") return [];
  return Object.entries(entries).flatMap(([condition, entry]) =>
    condition === "default" && typeof entry === "string" ? [entry] : builtPaths(entry),
  );
}

const programs = process.argv.slice(2);
const built = new Set(builtPaths({ ...publishConfig.exports, ...publishConfig.imports }));
const sources = [...built].map((path) => path.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
const input = Object.fromEntries(
  [...sources, ...programs].map((path) => [path.slice("src/".length, -".ts".length), path]),
);

/** What the main entry needs: one chunk, because each module costs a process that starts its time. */
const ofMain = new Set();
const collectMain = {
  name: "collect-main",
  buildEnd() {
    const visit = (id) => {
      if (ofMain.has(id)) return;
      ofMain.add(id);
      this.getModuleInfo(id)?.importedIds.forEach(visit);
    };
    [...this.getModuleIds()].filter((id) => id.endsWith("/src/index.ts")).forEach(visit);
  },
};

rmSync("dist", { recursive: true, force: true });
execFileSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
const bundle = await rolldown({
  input,
  // Everything that is not a file of the package.
  external: /^[^./]/,
  plugins: [collectMain],
  onLog(level, log, report) {
    // `"use client"` is kept where it counts: in the entry.
    if (log.code !== "MODULE_LEVEL_DIRECTIVE") report(level, log);
  },
});
const { output } = await bundle.write({
  dir: "dist",
  chunkFileNames: "chunks/[name].js",
  codeSplitting: { groups: [{ name: "main", test: (id) => ofMain.has(id) }] },
  sourcemap: true,
  // They are in the source map, and in the declarations.
  comments: { jsdoc: false, legal: true, annotation: true },
});
await bundle.close();

// An import that no source has: the bundler may add a helper of its own, which nobody would have installed.
const installed = { [name]: "", ...dependencies, ...peerDependencies };
const missing = output
  .flatMap(({ imports = [], dynamicImports = [] }) => [...imports, ...dynamicImports])
  .filter((specifier) => /^[^./#]/.test(specifier) && !specifier.startsWith("node:"))
  .filter((specifier) => !output.some(({ fileName }) => fileName === specifier))
  .filter((specifier) => !((/^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "") in installed));
if (missing.length > 0) {
  console.error(`${name} imports what it does not depend on: ${[...new Set(missing)].join(", ")}`);
  process.exitCode = 1;
}
