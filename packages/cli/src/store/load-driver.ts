import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandFailure } from "../output/command-failure.ts";

/** Loads the driver of a database: one that is installed with this program, or in the folder where it runs. */
export async function loadDriver<DRIVER>(name: "pg" | "redis", what: string): Promise<DRIVER> {
  const imported = (await importFrom(name, () => name)) ?? (await importFrom(name, hereOf));
  if (imported !== undefined) return imported as DRIVER;
  throw new CommandFailure(
    `--store: the driver for ${what} is missing. Run this where your application is installed, run "npm install ${name}", or with npx: npx -p @durable-mcp/cli -p ${name} durable-mcp …`,
  );
}

async function importFrom(name: string, locate: (name: string) => string): Promise<unknown> {
  try {
    return await import(locate(name));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

function hereOf(name: string): string {
  const require = createRequire(join(process.cwd(), "package.json"));
  return pathToFileURL(require.resolve(name)).href;
}
