import type { JSONRPCMessage, JSONRPCRequest, MCPTransport } from "@ai-sdk/mcp";
import { isRecord } from "@durable-mcp/core/internal";
import { StringDecoder } from "node:string_decoder";
import type { SupervisedProcess } from "./supervised-process.ts";

/** Parse error, in JSON-RPC. */
const malformed = -32700;
/** From the range of codes that JSON-RPC leaves to implementations. */
const ended = -32000;

export interface TransportObserver {
  /** The `data` of the JSON-RPC error that answers a request which met the end of the process. */
  readonly failureData: (request: JSONRPCRequest) => object;
  /** Called for each answer, which shows that the server works. */
  readonly onAnswer: (request: JSONRPCRequest) => void;
  readonly onNotification: (method: string, params: Record<string, unknown> | undefined) => void;
  /** Called for a line on stdout that is not a message. */
  readonly onStray: (line: string) => void;
}

/**
 * The stdio transport over a supervised process. It cancels aborted requests on the server, skips
 * lines that are not messages, and drops late answers. When the process ends, it answers the pending
 * requests with an error.
 */
export function createStdioTransport(
  process: SupervisedProcess,
  { failureData, onAnswer, onNotification, onStray }: TransportObserver,
): MCPTransport {
  const pending = createPendingRequests(process);
  let isOver = false;

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
    const request = pending.settle(message.id);
    // The request was aborted, so nobody waits for the answer.
    if (request === undefined) return;
    onAnswer(request);
    if (isRecord(message.result) || isError(message.error)) {
      deliver(message as unknown as JSONRPCMessage);
    } else {
      fail(request, malformed, "The server's answer has neither a result nor an error.");
    }
  };

  /** Cancels an aborted request on the server. A handshake cannot be cancelled. */
  const cancel = ({ id, method }: JSONRPCRequest) => {
    if (isOver || method === "initialize") return;
    const params = { requestId: id };
    void write(process, { jsonrpc: "2.0", method: "notifications/cancelled", params });
  };

  const failPendingAtTheEnd = async () => {
    await process.ended;
    isOver = true;
    for (const request of pending.settleAll()) {
      fail(request, ended, "The server's process ended.", failureData(request));
    }
    // Later, because some clients forget on close why a request failed.
    setImmediate(() => transport.onclose?.());
  };

  const transport: MCPTransport = {
    supportsProtocolVersionDiscovery: true,
    waitsForProtocolVersionDiscovery: true,
    async start() {
      readLines(process, onStray, (line) => {
        const parsed = parse(line);
        for (const message of Array.isArray(parsed) ? parsed : [parsed]) receive(message, line);
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
        pending.add(message, signal, () => cancel(message));
      }
      await write(process, message);
    },
    async close() {
      await process.end();
    },
  };
  return transport;
}

/** The requests without an answer. This process stays alive for them. */
function createPendingRequests(process: SupervisedProcess) {
  const pending = new Map<string, { request: JSONRPCRequest; stopWatching: () => void }>();
  const settle = (id: unknown) => {
    const { request, stopWatching } = pending.get(String(id)) ?? {};
    stopWatching?.();
    pending.delete(String(id));
    process.hold(pending.size > 0);
    return request;
  };
  return {
    settle,
    settleAll: () => [...pending.keys()].map((id) => settle(id)!),
    /** @param onAbort called when the client aborts the request before its answer */
    add(request: JSONRPCRequest, signal: AbortSignal | undefined, onAbort: () => void) {
      const giveUp = () => {
        settle(request.id);
        onAbort();
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      const stopWatching = () => signal?.removeEventListener("abort", giveUp);
      pending.set(String(request.id), { request, stopWatching });
      process.hold(true);
    },
  };
}

function readLines(
  process: SupervisedProcess,
  onStray: (line: string) => void,
  onLine: (line: string) => void,
): void {
  const splitLines = createLineSplitter();
  process.stdout.on("data", (chunk: Buffer) => {
    let lines: string[] = [];
    try {
      lines = splitLines(chunk);
    } catch (error) {
      onStray((error as Error).message);
      void process.end();
    }
    for (const line of lines) if (line.trim() !== "") onLine(line);
  });
}

async function write({ stdin, ended: over }: SupervisedProcess, message: object): Promise<void> {
  if (stdin.write(`${JSON.stringify(message)}\n`)) return;
  await Promise.race([new Promise((resolve) => stdin.once("drain", resolve)), over]);
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

function isMessage(value: unknown): value is Message {
  if (!isRecord(value) || (value as { jsonrpc?: unknown }).jsonrpc !== "2.0") return false;
  return "method" in value || "id" in value;
}

function isError(value: unknown): boolean {
  return isRecord(value) && typeof (value as { message?: unknown }).message === "string";
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** More than any model could read, in characters. */
const maxLength = 64 * 1024 * 1024;

/**
 * Splits a byte stream into lines.
 *
 * @returns takes the next chunk and returns the lines that it completes, without line ends
 * @throws {RangeError} when a line gets longer than 64 Mi characters
 */
export function createLineSplitter(): (chunk: Buffer) => string[] {
  const decoder = new StringDecoder("utf8");
  let parts: string[] = [];
  let length = 0;
  return (chunk) => {
    const [first = "", ...others] = decoder.write(chunk).split("\n");
    parts.push(first);
    length += first.length;
    if (length > maxLength) throw new RangeError(`a line of more than ${maxLength} characters`);
    if (others.length === 0) return [];
    const last = others.pop() ?? "";
    const lines = [parts.join(""), ...others];
    parts = [last];
    length = last.length;
    return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  };
}
