import { createLineReader, type SupervisedProcess } from "@durable-mcp/ai-sdk/stdio/internal";
import { isRecord, timeLimited } from "@durable-mcp/core/internal";
import { answerTo } from "./answer-to.ts";
import { type Answer, type RpcResponse, responseIn, type Wire } from "./wire.ts";

/** Plain requests to a program. */
export interface StdioWire extends Wire {
  /** The lines on stdout that were no messages. */
  readonly noise: () => readonly string[];
  readonly until: (signal: AbortSignal) => StdioWire;
  /** The same wire, with another time limit. */
  readonly limitedTo: (timeoutMs: number) => StdioWire;
}

/** What became of lines and requests, shared by all views of the wire. */
interface Pipe {
  readonly server: SupervisedProcess;
  readonly noise: string[];
  readonly pending: Map<unknown, (response: RpcResponse) => void>;
  readonly ended: Promise<never>;
}

const keptNoise = 3;

/** @param ended rejects, in words, when the program has ended */
export function createStdioWire(
  server: SupervisedProcess,
  timeoutMs: number,
  ended: Promise<never>,
): StdioWire {
  const pipe: Pipe = { server, noise: [], pending: new Map(), ended };
  const take = (line: string) => {
    if (line.trim() === "") return;
    const response = responseIn(line, String);
    const settle = pipe.pending.get(response?.id);
    if (response !== undefined && settle !== undefined) return settle(response);
    const answer = answerTo(line);
    if (answer !== undefined) {
      server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...answer })}\n`);
    } else if (!isMessage(line) && pipe.noise.length < keptNoise)
      pipe.noise.push(line.slice(0, 80));
  };
  server.stdout.on(
    "data",
    createLineReader(
      (line) => take(line.toString()),
      () => pipe.noise.push("a line of more than 64 MiB"),
    ),
  );
  return viewOf(pipe, timeoutMs, undefined);
}

function viewOf(pipe: Pipe, usualMs: number, signal: AbortSignal | undefined): StdioWire {
  const { server, pending, noise, ended } = pipe;
  let requests = 0;
  return {
    url: new URL("stdio:"),
    async post({ id, ...message }, { timeoutMs = usualMs } = {}) {
      requests += 1;
      const wireId = id === undefined ? undefined : `${id}-${requests}-${pending.size}`;
      const line = { jsonrpc: "2.0", ...(wireId !== undefined && { id: wireId }), ...message };
      server.stdin.write(`${JSON.stringify(line)}\n`);
      if (wireId === undefined) return answerOf(undefined);
      const answer = new Promise<RpcResponse>((resolve) => pending.set(wireId, resolve));
      return await timeLimited(timeoutMs, signal, (limit) => {
        const over = new Promise<never>((_, reject) => {
          limit.addEventListener("abort", () => reject(limit.reason as Error), { once: true });
        });
        return Promise.race([answer.then(answerOf), over, ended]);
      })
        .catch((error: unknown) => {
          signal?.throwIfAborted();
          const isLate = error instanceof DOMException && error.name === "TimeoutError";
          throw isLate ? new Error(`No answer within ${timeoutMs / 1_000} s.`) : error;
        })
        .finally(() => pending.delete(wireId));
    },
    get: noSuchRequest,
    delete: noSuchRequest,
    noise: () => noise,
    until: (next) => viewOf(pipe, usualMs, next),
    limitedTo: (timeoutMs) => viewOf(pipe, timeoutMs, signal),
  };
}

const noSuchRequest = () => Promise.reject(new Error("A program has no such requests."));

function answerOf(response: RpcResponse | undefined): Answer {
  const common = { headers: new Headers(), contentType: "stdio", body: "", eventIds: [] };
  return { ...common, status: response === undefined ? 202 : 200, response };
}

function isMessage(line: string): boolean {
  try {
    const message: unknown = JSON.parse(line);
    return isRecord(message) && message["jsonrpc"] === "2.0";
  } catch {
    return false;
  }
}
