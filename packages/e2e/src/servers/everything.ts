import { packageBin } from "../processes/package-bin.ts";
import { startServerProcess, type TestServer } from "./server-process.ts";

/** The reference server `@modelcontextprotocol/server-everything`. It answers 400 to an unknown id. */
export function startEverythingServer(): Promise<TestServer> {
  return startServerProcess({
    name: "server-everything",
    args: () => [packageBin("@modelcontextprotocol/server-everything"), "streamableHttp"],
    env: (port) => ({ PORT: String(port) }),
  });
}
