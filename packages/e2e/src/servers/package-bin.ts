import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Path of a file inside a package that this package depends on, whatever its `exports` allow. */
export function packageFile(name: string, path: string): string {
  return fileURLToPath(new URL(`../../node_modules/${name}/${path}`, import.meta.url));
}

/** Path of the script behind a package's only command. */
export function packageBin(name: string): string {
  const manifest = JSON.parse(readFileSync(packageFile(name, "package.json"), "utf8")) as {
    bin: string | Record<string, string>;
  };
  const script = typeof manifest.bin === "string" ? manifest.bin : Object.values(manifest.bin)[0];
  if (!script) throw new Error(`${name} has no command`);
  return packageFile(name, script);
}
