// Builds the package in the working directory: its declarations, file by file, then one module for each of its entry
// points, and chunks for what they share: what a package keeps in a module then exists once, whatever is imported.
//
//     node ../../scripts/build-package.mjs
//
// A file that is found by its address is `new URL("./step-program.ts", import.meta.url)` in the source, written so and
// in no other way: it is built too, and the address is that of what was built. scripts/found-files.mjs looks at the end.

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { relative, resolve } from "node:path";
import { rolldown } from "rolldown";
import { wrongAddresses } from "./found-files.mjs";

const { name, bin, publishConfig, dependencies, peerDependencies } = JSON.parse(
  readFileSync("package.json", "utf8"),
);

/** The paths of the JavaScript that the package says it has. */
function builtPaths(entries) {
  if (typeof entries !== "object") return [];
  return Object.entries(entries).flatMap(([condition, entry]) =>
    condition === "default" && typeof entry === "string" ? [entry] : builtPaths(entry),
  );
}

const built = new Set([
  ...builtPaths({ ...publishConfig.exports, ...publishConfig.imports }),
  ...Object.values(bin ?? {}),
]);
const sources = [...built].map((path) => path.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
const nameOf = (path) => relative("src", path).replace(/\.ts$/, "");
const input = Object.fromEntries(sources.map((path) => [nameOf(path), path]));

/** Builds the programs that modules find by their address, each as a file of its own name. */
const findPrograms = {
  name: "find-programs",
  transform(code, id) {
    const address = /new URL\("(\.{1,2}\/[^"]+\.ts)", import\.meta\.url\)/g;
    if (!address.test(code)) return undefined;
    const found = code.replaceAll(address, (_, path) => {
      const program = resolve(id, "..", path);
      const fileName = `${nameOf(program)}.js`;
      return `import.meta.ROLLUP_FILE_URL_${this.emitFile({ type: "chunk", id: program, fileName })}`;
    });
    return { code: found, map: null };
  },
  // Not as bundlers of applications know it: they would copy the program without what it imports.
  resolveFileUrl: ({ relativePath }) => `new URL(String("${relativePath}"), import.meta.url)`,
};

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
  plugins: [findPrograms, collectMain],
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
for (const problem of wrongAddresses(".")) {
  console.error(problem);
  process.exitCode = 1;
}
