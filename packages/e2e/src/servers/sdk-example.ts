import { packageFile } from "../processes/package-bin.ts";
import { startServerProcess, type TestServer } from "./server-process.ts";

/** The official SDK's own example of a server with sessions. It keeps nothing in a session but the session. */
export function startSdkExampleServer(): Promise<TestServer> {
  const script = packageFile(
    "@modelcontextprotocol/sdk",
    "dist/esm/examples/server/simpleStreamableHttp.js",
  );
  return startServerProcess({
    name: "SDK v1 simpleStreamableHttp",
    args: () => [script],
    env: (port) => ({ MCP_PORT: String(port) }),
  });
}
