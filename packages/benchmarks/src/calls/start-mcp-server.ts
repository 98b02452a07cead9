import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts mcp-server.ts in a process of its own. */
export async function startMcpServer() {
  const program = fileURLToPath(new URL("../mcp-server.ts", import.meta.url));
  const server = fork(program, {
    // It runs from source, whatever is measured.
    execArgv: ["--conditions=@durable-mcp/source", "--disable-warning=ExperimentalWarning"],
  });
  const [port] = await once(server, "message");
  const stop = () => server.disconnect();
  return { origin: `http://127.0.0.1:${String(port)}`, stop };
}
