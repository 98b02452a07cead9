import { programArguments } from "../processes/programs.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";

const script = new URL("../fixtures/conformance-server.ts", import.meta.url);

/** The server that the suite wants, on `@durable-mcp/server`. */
export function startConformanceServer(...args: string[]): Promise<TestServer> {
  return startServerProcess({
    name: "conformance server",
    args: (port) => [...programArguments(script), "--port", String(port), ...args],
  });
}
