import type { ChildProcess } from "node:child_process";
import { startProgram } from "./start-program.ts";
import { findFreePort, waitForPort } from "./wait-for-port.ts";

/** A program that listens on a port. */
export interface ServerProgram {
  readonly child: ChildProcess;
  readonly port: number;
  /** Of its MCP server. */
  readonly url: string;
}

/**
 * Starts a server that is told its port as the first argument, and waits until it listens.
 *
 * @param port @default one that is free
 * @param args further arguments
 */
export async function startServer(
  program: URL,
  port?: number,
  ...args: readonly string[]
): Promise<ServerProgram> {
  port ??= await findFreePort();
  const child = startProgram(program, [String(port), ...args], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  await waitForPort(port);
  return { child, port, url: `http://127.0.0.1:${port}/mcp` };
}

export const cartServer = new URL("../servers/cart-server.ts", import.meta.url);
