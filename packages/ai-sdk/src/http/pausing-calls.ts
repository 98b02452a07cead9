import type { Principal } from "@durable-mcp/core";
import { timeLimited } from "@durable-mcp/core/internal";
import type { WaitingLimits } from "@durable-mcp/core/waiting";
import type { WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import { once } from "../base/once.ts";
import type { PausingCalls } from "../connection/waiting-parts.ts";
import { createStoredCalls, type LoadedWaiting, loadWaiting } from "../waiting/stored-calls.ts";
import type { WaitingSource } from "../waiting/waiting-source.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { TraceOperation } from "../events/connection-telemetry.ts";

type Fetch = typeof globalThis.fetch;

interface PausingParts {
  readonly source: WaitingSource;
  readonly principal: Principal;
  readonly limits: WaitingLimits;
  readonly connection: string;
  readonly url: URL;
  /** The time limit for the server's answer, in milliseconds; `undefined` without a limit. */
  readonly callMs: number | undefined;
  /** Sends the answers, with the connection's headers and token. */
  readonly fetch: Fetch;
  /** Takes what the connection has sent for itself out of a text. */
  readonly scrub: (text: string) => string;
  readonly emit: (event: ConnectionEvent) => void;
  readonly trace: TraceOperation;
  readonly now: () => number;
}

/** The waiting calls of a connection over HTTP. */
export type HttpPausingCalls = ReturnType<typeof createPausingCalls>;

export function createPausingCalls(parts: PausingParts) {
  const { limits, connection, url, callMs, fetch, emit, trace, ...others } = parts;
  const stored = createStoredCalls({
    ...others,
    limitsOf: () => limits,
    emit: (_, event) => emit({ ...event, connection }),
  });
  const pausing: PausingCalls = {
    read: async (id) => (await stored.read(id))?.call,
    list: async () => await stored.all(),
    async show(...shown) {
      const { showCall } = await loadWaiting();
      await showCall(await stored.contextOf({ connection }), ...shown);
    },
    async answer(call, responses, use) {
      const { answerCall, describeWaiting } = await loadWaiting();
      const context = await stored.contextOf(call);
      const { method, tool, round } = describeWaiting(call);
      // Of other methods it is a URI.
      const operation = { operation: "answer", ...(method === "tools/call" && { tool }) } as const;
      return await trace(operation, async (note) => {
        note({ protocolVersion: call.request.headers["mcp-protocol-version"] });
        const send = async (signal: AbortSignal | undefined) =>
          await answerCall(context, call.id, responses, { ...use, url, fetch, signal });
        const next = await (callMs === undefined
          ? send(use.signal)
          : timeLimited(callMs, use.signal, send));
        note({ waiting: { round, state: next.state }, isToolError: isFailed(next.answer) });
        return next;
      });
    },
  };
  return {
    ...pausing,
    /** The fetch of one client. */
    wrap(clientFetch: Fetch): ReturnType<LoadedWaiting["createWaitingFetch"]> {
      const wrapped = once(async () => {
        const { createWaitingFetch } = await loadWaiting();
        const context = await stored.contextOf({ connection });
        return createWaitingFetch(context, clientFetch, { url, connection });
      });
      return async (...request) => await (await wrapped())(...request);
    },
  };
}

function isFailed(answer: WaitingAnswer | undefined): boolean {
  return answer !== undefined && (answer.error !== undefined || answer.result["isError"] === true);
}
