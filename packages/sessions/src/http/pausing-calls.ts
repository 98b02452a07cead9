import { timeLimited } from "@durable-mcp/core/internal";
import type { AskServer, KeptCalls, WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import { once } from "../base/once.ts";
import { isStoreFailure } from "../base/store-failure.ts";
import { callTimeoutMs, waitingLimits } from "../declare/define-connection.ts";
import type { PausingCalls } from "../connection/waiting-parts.ts";
import { createStoredCalls, loadWaiting } from "../waiting/stored-calls.ts";
import { providedTexts } from "../tools/provided-arguments.ts";
import { tellIfUnavailable, withoutCause } from "../events/connection-error.ts";
import { withTraceContext } from "../events/connection-telemetry.ts";
import type { HttpParts } from "./http-parts.ts";

type Fetch = typeof globalThis.fetch;

/** The waiting calls of a connection over HTTP. */
export type HttpPausingCalls = NonNullable<ReturnType<typeof createPausingCalls>>;

/**
 * `undefined` if the connection's calls do not wait.
 *
 * @param ask asks the server for what is watched
 */
export function createPausingCalls(parts: HttpParts, ask: AskServer | undefined) {
  const { definition, waiting: source, connectionFetch, secrets, emit, trace, now } = parts;
  const { connection, principal } = parts.context;
  const limits = waitingLimits(definition.options);
  if (limits === undefined || source === undefined) return undefined;
  const url = new URL(parts.url);
  const callMs = callTimeoutMs(definition);
  const fetch = withTraceContext(connectionFetch.fetch, parts.telemetry);
  const leaving = new Set<Promise<unknown>>();
  const stored = createStoredCalls({
    ...{ source, principal, now },
    scrubFor: ({ request: { params } }) =>
      secrets.scrubberWith(providedTexts(definition.options, params["arguments"])),
    limitsOf: () => limits,
    pausingOf: () => pausing,
    track: (work) => void leaving.add(work),
    emit: (_, event) => emit({ ...event, connection }),
  });
  const sendLimited = async <T>(
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ) => await (callMs === undefined ? send(signal) : timeLimited(callMs, signal, send));
  const pausing: PausingCalls = {
    callsOf: stored.callsOf,
    ...{ fetch, ask, url: url.href },
    async answer(call, responses, use) {
      const { describeWaiting } = await loadWaiting();
      const calls = await stored.callsOf(call);
      const { method, tool, round } = describeWaiting(call);
      // Of other methods it is a URI.
      const operation = { operation: "answer", ...(method === "tools/call" && { tool }) } as const;
      return await trace(operation, async (note) => {
        note({ protocolVersion: call.request.headers["mcp-protocol-version"] });
        const next = await sendLimited(use.signal, (signal) =>
          calls.answer(call.id, responses, { ...use, url, fetch, signal }),
        );
        note({ waiting: { round, state: next.state }, isToolError: isFailed(next.answer) });
        return next;
      });
    },
    async look(found, signal) {
      const { call } = found;
      // What its server says of it is only known there.
      if (call.url !== url.href) return found;
      const { describeWaiting } = await loadWaiting();
      const calls = await stored.callsOf(call);
      const { tool } = describeWaiting(call);
      let looked = found;
      await trace({ operation: "look", tool }, async (note) => {
        note({ protocolVersion: call.request.headers["mcp-protocol-version"] });
        const { failure, ...current } = await calls.look(found, { fetch, signal, ask });
        looked = current;
        const { round, state, answer } = looked.call;
        note({ waiting: { round, state }, isToolError: isFailed(answer) });
        // It waits on, and events tell why.
        if (failure && !signal?.aborted) tellUnlooked(parts, tool, failure.error);
        if (failure) throw failure.error;
      }).catch((error: unknown) => {
        if (looked === found) throw error;
      });
      return looked;
    },
  };
  return {
    ...pausing,
    /** Waits until the calls that the step has left are kept. */
    async settle(): Promise<void> {
      await Promise.allSettled(leaving);
    },
    /** The fetch of one client. */
    wrap(clientFetch: Fetch): ReturnType<KeptCalls["wrap"]> {
      const wrapped = once(async () => {
        const calls = await stored.callsOf({ connection });
        return calls.wrap(clientFetch, { url, connection, slot: parts.slot });
      });
      return async (...request) => await (await wrapped())(...request);
    },
  };
}

/** Tells why a call could not be looked at. A status of 409 is for now: another process reads the stream. */
function tellUnlooked({ emit, context, unavailable }: HttpParts, tool: string, cause: unknown) {
  const { connection } = context;
  const error = unavailable(cause);
  if (isStoreFailure(error))
    emit({ type: "store-failed", connection, operation: "keep", tool, error: withoutCause(error) });
  else if (error.data.status !== 409) tellIfUnavailable(emit, connection, error);
}

function isFailed(answer: WaitingAnswer | undefined): boolean {
  return answer !== undefined && (answer.error !== undefined || answer.result["isError"] === true);
}
