import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { waitForPort } from "../../../examples/src/programs/wait-for-port.ts";
import { plainEnvironment } from "./run-command.ts";

/** A stateful server on the official SDK: each MCP session has a cart of its own, in memory. */
const cartServer = fileURLToPath(
  new URL("../../../examples/src/servers/cart-server.ts", import.meta.url),
);

/** A Node program that is a server. */
export interface ServerProgram {
  readonly node: string;
  readonly script: string;
  readonly folder: string;
}

/** Starts a server, by default that of the cart, and waits until it listens. Disposing of it kills it. */
export async function serve(
  port: number,
  { node, script, folder }: Partial<ServerProgram> = {},
): Promise<AsyncDisposable> {
  const args = script === undefined ? [...process.execArgv, cartServer] : [script];
  const server = spawn(node ?? process.execPath, [...args, String(port)], {
    cwd: folder,
    env: plainEnvironment(),
    stdio: ["ignore", "ignore", "inherit"],
  });
  const stop = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, "exit");
    server.kill("SIGKILL");
    await gone;
  };
  try {
    await waitForPort(port);
  } catch (error) {
    await stop();
    throw error;
  }
  return { [Symbol.asyncDispose]: stop };
}
