import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The one form of an address, as it is written and as scripts/build-package.mjs writes it; or something else. */
const address =
  /new URL\((?:String\()?"([^"]+)"\)?, import\.meta\.url\)|import\.meta\b\S*|\b__dirname\b/g;

/** @returns what is wrong with the files that the built modules of a package find by their own address */
export function wrongAddresses(folder) {
  const problems = [];
  for (const module of globSync("dist/**/*.js", { cwd: folder })) {
    const path = join(folder, module);
    const code = readFileSync(path, "utf8").replaceAll(/^\s*(?:\/\/|\*).*$/gm, "");
    for (const [use, target] of code.matchAll(address)) {
      if (target === undefined)
        problems.push(`${module}: ${use} is for new URL("…", import.meta.url) alone.`);
      else if (!existsSync(new URL(target, pathToFileURL(path))))
        problems.push(`${module}: There is no ${target}.`);
    }
  }
  return problems;
}
