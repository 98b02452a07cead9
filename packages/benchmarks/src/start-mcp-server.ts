import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

/** Starts mcp-server.ts in a process of its own and returns its origin. It ends with the test file. */
export async function startMcpServer(): Promise<string> {
  const program = fileURLToPath(new URL("./mcp-server.ts", import.meta.url));
  const server = fork(program, { execArgv: [] });
  afterAll(() => {
    server.kill();
  });
  const [port] = await once(server, "message");
  return `http://127.0.0.1:${String(port)}`;
}
