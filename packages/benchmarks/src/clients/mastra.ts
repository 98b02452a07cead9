import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Mastra is large, so it has a lock file of its own, which the example of moving over from it uses as well. */
const folder = new URL("../../../examples/mastra/", import.meta.url);

interface MastraPackage {
  readonly MCPClient: new (options: { servers: Record<string, { url: URL }> }) => {
    listTools(): Promise<
      Record<string, { execute(input: object, context: object): Promise<unknown> }>
    >;
    disconnect(): Promise<void>;
  };
}

/** Mastra's package, which is installed where it is not there. */
export async function loadMastra(): Promise<MastraPackage> {
  if (!existsSync(new URL("node_modules/@mastra/mcp/package.json", folder))) {
    const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
      cwd: fileURLToPath(folder),
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (status !== 0) throw new Error("npm ci in packages/examples/mastra failed.");
  }
  const path = createRequire(new URL("package.json", folder)).resolve("@mastra/mcp");
  return (await import(pathToFileURL(path).href)) as MastraPackage;
}
