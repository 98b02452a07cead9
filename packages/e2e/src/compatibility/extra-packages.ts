import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** `packages/e2e/compatibility`: servers that only the matrix needs, pinned by a lock file of their own. */
const folder = new URL("../../compatibility/", import.meta.url);

/** The folder they are installed into. */
export const extraPackages = new URL("node_modules/", folder);

/** Beside those, servers that ask a person. They find the others in the folder above. */
export const askingFolder = new URL("asking/", folder);

/** The folder that these are installed into. */
export const askingPackages = new URL("node_modules/", askingFolder);

/** Frameworks of public reports. */
const frameworksFolder = new URL("frameworks/", folder);

/** Installs these. */
export const installFrameworks = () => install(frameworksFolder);

/** A client of a framework on a fetch. */
interface FrameworkClient {
  readonly call: (tool: string, input: object) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** Connects a framework, by the name of its file in `clients`, which docs/clients shows. */
export async function connectFramework(
  name: string,
  url: string,
  fetch: typeof globalThis.fetch,
): Promise<FrameworkClient> {
  const { uses } = await import(new URL("uses.mjs", frameworksFolder).href);
  const { connect } = await import(new URL(`clients/${name}.mjs`, frameworksFolder).href);
  return uses[name](await connect(url, fetch));
}

/** Servers of frameworks, by name, once they are installed. */
export const frameworkServers = async (): Promise<any> =>
  (await import(new URL("servers.mjs", frameworksFolder).href)).servers;

/** Installs all of them, without running any of their install scripts. */
export async function installExtraPackages(): Promise<void> {
  await Promise.all([install(folder), install(askingFolder)]);
}

async function install(into: URL): Promise<void> {
  const npm = spawn("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: fileURLToPath(into),
    stdio: ["ignore", process.stderr, process.stderr],
  });
  const [status] = (await once(npm, "close")) as [number | null];
  if (status !== 0) throw new Error(`npm ci in ${into.pathname} ended with ${status}`);
}

/** Path of one of the server programs beside the lock file. */
export function extraProgram(file: string): string {
  return fileURLToPath(new URL(`servers/${file}`, folder));
}
