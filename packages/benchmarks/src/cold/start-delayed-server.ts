import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface DelayedServer {
  /** @param delayMs how much later than at once it answers each request */
  url(delayMs: number, tools: number): string;
  stop(): void;
}

/** Starts delayed-server-program.ts in a process of its own. */
export async function startDelayedServer(): Promise<DelayedServer> {
  const program = fileURLToPath(new URL("delayed-server-program.ts", import.meta.url));
  const server = fork(program, { execArgv: [] });
  const [port] = await once(server, "message");
  return {
    url: (delayMs, tools) => `http://127.0.0.1:${String(port)}/${delayMs}/${tools}`,
    stop: () => void server.kill(),
  };
}
