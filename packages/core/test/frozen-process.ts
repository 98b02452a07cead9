import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { selfSigned } from "./self-signed.ts";

/** The limits of the programs, in milliseconds, and how long they stand still. */
export const limitMs = 3_000;
const frozenMs = 4_500;

export interface FrozenProgram {
  /** Stops the process, does what others do meanwhile, and lets the process go on after its limits are over. */
  readonly freeze: (meanwhile: () => void) => Promise<void>;
  /** What the program printed. */
  readonly printed: Promise<string>;
}

/** Runs a program in a process that can stand still. */
export function startFrozenProgram(program: URL, ...args: readonly string[]): FrozenProgram {
  const child = spawn(
    process.execPath,
    ["--conditions=@durable-mcp/source", "--no-warnings", program.pathname, ...args],
    { env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: "0" } },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (piece: string) => (printed += piece));
  }
  return {
    async freeze(meanwhile) {
      child.kill("SIGSTOP");
      // The signal arrives on its own way.
      await pause(100);
      meanwhile();
      await pause(frozenMs);
      child.kill("SIGCONT");
    },
    printed: once(child, "close").then(() => printed),
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** An MCP server. While it answers the first request of `method`, `onAnswer` decides when the answer goes out. */
export async function startAnsweringServer(
  { protocol, method }: { readonly protocol: "http" | "https"; readonly method: string },
  onAnswer: (send: () => void) => void,
): Promise<string> {
  let isFirst = true;
  const receive = async (incoming: IncomingMessage, response: ServerResponse) => {
    const message = JSON.parse((await text(incoming)) || "{}");
    const send = () => answer(message, response);
    if (message.method !== method || !isFirst) return send();
    isFirst = false;
    onAnswer(send);
  };
  const listener = (...of: Parameters<typeof receive>) => void receive(...of);
  const server =
    protocol === "http" ? createServer(listener) : createSecureServer(selfSigned, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

function answer({ id, method }: { id?: unknown; method?: string }, response: ServerResponse): void {
  if (id === undefined) return void response.writeHead(202).end();
  const result = results[method ?? ""] ?? {};
  response.writeHead(200, {
    "content-type": method === "tools/call" ? "text/event-stream" : "application/json",
    ...(method === "initialize" && { "mcp-session-id": "a-session-of-this-test" }),
  });
  const message = JSON.stringify({ jsonrpc: "2.0", id, result });
  response.end(method === "tools/call" ? `data: ${message}\n\n` : message);
}

const results: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "frozen", version: "1" },
  },
  "tools/list": { tools: [{ name: "add", inputSchema: { type: "object" } }] },
  // More than is read at once.
  "tools/call": { content: [{ type: "text", text: "x".repeat(300_000) }] },
};
