import type { JSONRPCMessage, JSONRPCRequest, MCPTransport } from "@ai-sdk/mcp";
import { createLineSplitter } from "./message-lines.ts";
import type { SupervisedProcess } from "./supervised-process.ts";

/** Parse error, in JSON-RPC. */
const malformed = -32700;
/** Of the range that JSON-RPC leaves to implementations. */
const ended = -32000;

/**
 * The stdio transport over a supervised process. Beside what a client asks of it, it cancels
 * aborted requests on the server, passes over what is no message, drops late answers, and answers
 * what is pending when the process ends.
 *
 * @param options.failureData the `data` of the JSON-RPC error that answers such a request
 * @param options.onAnswer told of each answer, as a sign that the server works
 * @param options.onStray told of a line on stdout that is no message
 */
export function createStdioTransport(
  process: SupervisedProcess,
  {
    failureData,
    onAnswer,
    onNotification,
    onStray,
  }: {
    failureData: (request: JSONRPCRequest) => object;
    onAnswer: (request: JSONRPCRequest) => void;
    onNotification: (method: string, params: Record<string, unknown> | undefined) => void;
    onStray: (line: string) => void;
  },
): MCPTransport {
  /** What was sent and is not answered. */
  const pending = new Map<string, { request: JSONRPCRequest; stopWatching: () => void }>();
  const splitLines = createLineSplitter();
  let isOver = false;

  const settle = (id: string) => {
    const { request, stopWatching } = pending.get(id) ?? {};
    stopWatching?.();
    pending.delete(id);
    process.hold(pending.size > 0);
    return request;
  };

  const deliver = (message: JSONRPCMessage) => {
    try {
      transport.onmessage?.(message);
    } catch (error) {
      transport.onerror?.(error as Error);
    }
  };

  const fail = (request: JSONRPCRequest, code: number, message: string, data?: object) =>
    deliver({ jsonrpc: "2.0", id: request.id, error: { code, message, ...(data && { data }) } });

  const receive = (message: unknown, line: string) => {
    if (!isMessage(message)) return onStray(line);
    if (typeof message.method === "string") {
      if ("id" in message) deliver(message as unknown as JSONRPCMessage);
      else onNotification(message.method, message.params as Record<string, unknown> | undefined);
      return;
    }
    const request = settle(String(message.id));
    // Nobody waits for it any more: it was aborted.
    if (request === undefined) return;
    onAnswer(request);
    if (isObject(message.result) || isError(message.error)) {
      deliver(message as unknown as JSONRPCMessage);
    } else {
      fail(request, malformed, "The server's answer has neither a result nor an error.");
    }
  };

  const write = async (message: object) => {
    if (process.stdin.write(`${JSON.stringify(message)}\n`)) return;
    await Promise.race([
      new Promise((resolve) => process.stdin.once("drain", resolve)),
      process.ended,
    ]);
  };

  /** Cancels on the server what the client has given up; a handshake cannot be cancelled. */
  const watch = (request: JSONRPCRequest, signal: AbortSignal | undefined) => {
    const { id, method } = request;
    const cancel = () => {
      settle(String(id));
      if (isOver || method === "initialize") return;
      void write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    };
    signal?.addEventListener("abort", cancel, { once: true });
    const stopWatching = () => signal?.removeEventListener("abort", cancel);
    pending.set(String(id), { request, stopWatching });
    process.hold(true);
  };

  const failPendingAtTheEnd = async () => {
    await process.ended;
    isOver = true;
    for (const id of [...pending.keys()]) {
      const request = settle(id)!;
      fail(request, ended, "The server's process ended.", failureData(request));
    }
    // Not at once: closing makes some clients forget why a request failed.
    setImmediate(() => transport.onclose?.());
  };

  const transport: MCPTransport = {
    supportsProtocolVersionDiscovery: true,
    waitsForProtocolVersionDiscovery: true,
    async start() {
      process.stdout.on("data", (chunk: Buffer) => {
        let lines: string[] = [];
        try {
          lines = splitLines(chunk);
        } catch (error) {
          onStray((error as Error).message);
          void process.end();
        }
        for (const line of lines) {
          if (line.trim() === "") continue;
          const parsed = parse(line);
          for (const message of Array.isArray(parsed) ? parsed : [parsed]) receive(message, line);
        }
      });
      void failPendingAtTheEnd();
    },
    async send(message, { signal } = {}) {
      const isRequest = "method" in message && "id" in message;
      if (isOver) {
        const data = isRequest && failureData(message);
        throw Object.assign(new Error("The server's process has ended."), { data });
      }
      if (isRequest) {
        signal?.throwIfAborted();
        watch(message, signal);
      }
      await write(message);
    },
    async close() {
      await process.end();
    },
  };
  return transport;
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

function isMessage(value: unknown): value is Message {
  if (!isObject(value) || (value as { jsonrpc?: unknown }).jsonrpc !== "2.0") return false;
  return "method" in value || "id" in value;
}

function isError(value: unknown): boolean {
  return isObject(value) && typeof (value as { message?: unknown }).message === "string";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
