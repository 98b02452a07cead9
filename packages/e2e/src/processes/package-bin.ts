import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ownPackages = new URL("../../node_modules/", import.meta.url);

/** Path of a file inside a package that this package depends on, whatever its `exports` allow. */
export function packageFile(name: string, path: string, packages = ownPackages): string {
  return fileURLToPath(new URL(`${name}/${path}`, packages));
}

/** Path of the script behind a package's only command. */
export function packageBin(name: string, packages = ownPackages): string {
  const { bin } = packageManifest(name, packages);
  const script = typeof bin === "string" ? bin : Object.values(bin ?? {})[0];
  if (!script) throw new Error(`${name} has no command`);
  return packageFile(name, script, packages);
}

/** The `package.json` of a package. */
export function packageManifest(
  name: string,
  packages = ownPackages,
): { version: string; bin?: string | Record<string, string> } {
  return JSON.parse(readFileSync(packageFile(name, "package.json", packages), "utf8")) as never;
}
