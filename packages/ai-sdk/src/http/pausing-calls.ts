import { timeLimited } from "@durable-mcp/core/internal";
import type { WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import { once } from "../base/once.ts";
import { callTimeoutMs, pausingInput } from "../connection/define-connection.ts";
import type { PausingCalls } from "../connection/waiting-parts.ts";
import { createStoredCalls, type LoadedWaiting, loadWaiting } from "../waiting/stored-calls.ts";
import { withTraceContext } from "../events/connection-telemetry.ts";
import type { HttpParts } from "./http-parts.ts";

type Fetch = typeof globalThis.fetch;

/** The waiting calls of a connection over HTTP. */
export type HttpPausingCalls = NonNullable<ReturnType<typeof createPausingCalls>>;

/** `undefined` if the connection's calls do not wait. */
export function createPausingCalls(parts: HttpParts) {
  const { definition, waiting: source, connectionFetch, emit, trace, now } = parts;
  const { connection, principal } = parts.context;
  const limits = pausingInput(definition.options);
  if (limits === undefined || source === undefined) return undefined;
  const url = new URL(parts.url);
  const callMs = callTimeoutMs(definition);
  const fetch = withTraceContext(connectionFetch.fetch, parts.telemetry);
  const stored = createStoredCalls({
    ...{ source, principal, now, scrub: connectionFetch.scrub },
    limitsOf: () => limits,
    emit: (_, event) => emit({ ...event, connection }),
  });
  const pausing: PausingCalls = {
    contextOf: stored.contextOf,
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
