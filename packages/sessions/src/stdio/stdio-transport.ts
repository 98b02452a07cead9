import type { JsonRpcRequest } from "@durable-mcp/core";
import { isRecord, type JsonRpcMessage } from "@durable-mcp/core/internal";
import type { ClientTransport } from "../base/mcp-client.ts";
import { createLineReader } from "./message-lines.ts";
import {
  answeredId,
  type DropReason,
  dropReasons,
  isBlank,
  isTooComplex,
  parseLine,
  type ServerMessage,
} from "./server-message.ts";
import type { SupervisedProcess } from "./supervised-process.ts";

/** From the range of codes that JSON-RPC leaves to implementations. */
const failed = -32000;
/** How many bytes may wait for a server that does not read its stdin. */
const maxUnread = 64 * 1024 * 1024;
/** How many requests of the server may wait for an answer, and their length in bytes. */
const maxQuestions = { count: 1_000, bytes: 64 * 1024 * 1024 };

export interface TransportObserver {
  /**
   * The `data` of the JSON-RPC error that answers a request.
   * @param why why its answer is of no use; without it, the process ended
   */
  readonly failureData: (request: JsonRpcRequest, why?: string) => object;
  /** The error of a request that is not sent, because the server does not read. */
  readonly notReading: () => Error;
  /** Called for each answer, which shows that the server works. */
  readonly onAnswer: (request: JsonRpcRequest) => void;
  readonly onNotification: (method: string, params: unknown) => void;
  /** Called for a line on stdout that is dropped. Of a long line it gets the beginning. */
  readonly onDropped: (line: Buffer, reason: DropReason) => void;
  /** Gives a message as the server gets it. */
  readonly toServer: (message: JsonRpcMessage) => JsonRpcMessage;
  /** Gives the `error` of an answer as the client may see it. */
  readonly toClient: (error: object) => object;
}

export interface StdioTransport extends ClientTransport {
  /** Whether a request waits for its answer. */
  readonly isBusy: () => boolean;
  /** Whether it was closed here. */
  readonly isClosed: () => boolean;
}

/**
 * The stdio transport over a supervised process. It cancels aborted requests on the server, drops
 * lines that are not messages, and late answers. When the process ends, it answers the pending
 * requests with an error. Whatever the server writes, nothing is thrown.
 */
export function createStdioTransport(
  process: SupervisedProcess,
  observer: TransportObserver,
): StdioTransport {
  const pending = createPendingRequests(process);
  const questions = createOpenQuestions();
  const write = createWriter(process);
  let isOver = false;
  let isClosed = false;

  const deliver = (message: object) => {
    try {
      transport.onmessage?.(message);
    } catch (error) {
      transport.onerror?.(error as Error);
    }
  };
  const fail = (request: JsonRpcRequest, message: string, data: object) =>
    deliver({ jsonrpc: "2.0", id: request.id, error: { code: failed, message, data } });

  /** Cancels an aborted request on the server. A handshake cannot be cancelled. */
  const cancel = ({ id, method }: JsonRpcRequest) => {
    if (isOver || method === "initialize" || process.stdin.writableLength > maxUnread) return;
    const params = { requestId: id };
    void write({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  };

  const failPendingAtTheEnd = async () => {
    await process.ended;
    isOver = true;
    for (const request of pending.settleAll()) {
      fail(request, "The server's process ended.", observer.failureData(request));
    }
    // Later, because some clients forget on close why a request failed.
    setImmediate(() => transport.onclose?.());
  };

  const transport: StdioTransport = {
    isBusy: () => pending.size() > 0,
    isClosed: () => isClosed,
    supportsProtocolVersionDiscovery: true,
    waitsForProtocolVersionDiscovery: true,
    async start() {
      process.stdout.on("data", createReceiver({ pending, questions, deliver, fail, observer }));
      void failPendingAtTheEnd();
    },
    async send(given, { signal } = {}) {
      const message = observer.toServer(given);
      const isRequest = "method" in message && "id" in message;
      if (isOver) {
        const data = isRequest && observer.failureData(message);
        throw Object.assign(new Error("The server's process has ended."), { data });
      }
      if (!isRequest) return await write(message).finally(() => questions.close(message));
      signal?.throwIfAborted();
      if (process.stdin.writableLength > maxUnread) throw observer.notReading();
      await write(message, () => pending.add(message, signal, () => cancel(message)));
    },
    async close() {
      isClosed = true;
      await process.end();
    },
  };
  return transport;
}

/** Takes the chunks of stdout, and hands on the messages in them. Never throws. */
function createReceiver({
  pending,
  questions,
  deliver,
  fail,
  observer,
}: {
  readonly pending: ReturnType<typeof createPendingRequests>;
  readonly questions: ReturnType<typeof createOpenQuestions>;
  readonly deliver: (message: object) => void;
  readonly fail: (request: JsonRpcRequest, message: string, data: object) => void;
  readonly observer: TransportObserver;
}): (chunk: Buffer) => void {
  const refuse = (request: JsonRpcRequest | undefined, why: string) => {
    if (request) fail(request, `its answer ${why}`, observer.failureData(request, why));
  };
  const drop = (reason: DropReason, head: Buffer, tail = head) => {
    observer.onDropped(head, reason);
    refuse(pending.settle(answeredId(head, tail)), dropReasons[reason]);
  };
  /** The one place where all that a server prints is handled. */
  const guarded = (line: Buffer, handle: () => void) => {
    try {
      handle();
    } catch {
      drop("not-a-message", line);
    }
  };

  const receive = (message: ServerMessage, line: Buffer) => {
    const { id, method, params, result, error } = message;
    if (method !== undefined) {
      if (id === undefined) return observer.onNotification(method, params);
      if (questions.open(id, line.length)) return deliver(message);
      return drop("too-many", line);
    }
    const outcome = isError(error) ? { error: observer.toClient(error) } : { result };
    const request = pending.settle(id);
    // The request was aborted, so nobody waits for the answer.
    if (request === undefined) return;
    observer.onAnswer(request);
    // The client finds the request by a number, which the server may have made a text.
    if (outcome.error || isRecord(result)) deliver({ jsonrpc: "2.0", id: request.id, ...outcome });
    else refuse(request, "has neither a result nor an error");
  };
  const receiveLine = (line: Buffer) => {
    if (isBlank(line)) return;
    if (isTooComplex(line)) return drop("too-complex", line);
    const { messages, isWhole } = parseLine(line);
    if (!isWhole) drop("not-a-message", line);
    for (const message of messages) guarded(line, () => receive(message, line));
  };
  return createLineReader(
    (line) => guarded(line, () => receiveLine(line)),
    ({ head, tail }) => guarded(head, () => drop("too-long", head, tail)),
  );
}

/** The requests without an answer. This process stays alive for them. */
function createPendingRequests(process: SupervisedProcess) {
  const pending = new Map<string, { request: JsonRpcRequest; stopWatching: () => void }>();
  const settle = (id: string | number | undefined) => {
    const found = pending.get(String(id));
    if (found === undefined) return undefined;
    found.stopWatching();
    pending.delete(String(id));
    process.hold(pending.size > 0);
    return found.request;
  };
  return {
    size: () => pending.size,
    settle,
    settleAll: () => [...pending.keys()].map((id) => settle(id)!),
    /** @param onAbort called when the client aborts the request before its answer */
    add(request: JsonRpcRequest, signal: AbortSignal | undefined, onAbort: () => void) {
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

/** The server's requests whose answer was not written yet. */
function createOpenQuestions() {
  const lengths = new Map<string | number, number>();
  let bytes = 0;
  return {
    /** Returns whether the request may be answered. An id that is in use may not. */
    open(id: string | number, length: number): boolean {
      const isFull = lengths.size >= maxQuestions.count || bytes + length > maxQuestions.bytes;
      if (isFull || lengths.has(id)) return false;
      lengths.set(id, length);
      bytes += length;
      return true;
    },
    close(answer: JsonRpcMessage) {
      if (!("id" in answer) || answer.id == null) return;
      bytes -= lengths.get(answer.id) ?? 0;
      lengths.delete(answer.id);
    },
  };
}

/** Writes messages, and waits while the server has too many to read. */
function createWriter({ stdin, ended }: SupervisedProcess) {
  let drained: Promise<unknown> | undefined;
  return async (message: object, beforehand?: () => void): Promise<void> => {
    // It throws for what is no JSON, and then there is nothing to wait for.
    const line = `${JSON.stringify(message)}\n`;
    beforehand?.();
    if (stdin.write(line)) return;
    drained ??= Promise.race([
      new Promise((resolve) => {
        stdin.once("drain", resolve);
      }),
      ended,
    ]).then(() => (drained = undefined));
    await drained;
  };
}

function isError(value: unknown): value is object {
  return isRecord(value) && typeof value["message"] === "string";
}
