import { existsSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const packages = fileURLToPath(new URL("../../../", import.meta.url));

/** Environment variable with the folder that `bundle-programs.ts` has filled, as long as tests run. */
export const bundlesVariable = "DURABLE_MCP_BUNDLES";

/** What a program's bundle is called: its path under `packages`, in one word. */
export function bundleName(path: string): string {
  return relative(packages, path).replaceAll(sep, "-").replace(/\.ts$/, "");
}

/** A module of ours for a process of its own: its bundle while tests run, otherwise its source. */
export function builtModule(source: URL): URL {
  const folder = process.env[bundlesVariable];
  if (folder === undefined) return source;
  const bundle = join(folder, `${bundleName(fileURLToPath(source))}.js`);
  if (!existsSync(bundle)) throw new Error(`Name ${source.pathname} in bundle-programs.ts.`);
  return pathToFileURL(bundle);
}

/** Arguments for Node that run a program of ours. */
export function programArguments(source: URL): string[] {
  const path = fileURLToPath(builtModule(source));
  if (path.endsWith(".js")) return [path];
  const strip = process.features.typescript ? [] : ["--experimental-strip-types"];
  return [...strip, "--conditions=@durable-mcp/source", path];
}
