import { createSessionFetch, type SessionEvent } from "@durable-mcp/core";
import { refusingTasks } from "@durable-mcp/core/internal";
import { callTimeoutMs, isStateful } from "../connection/define-connection.ts";
import { createKeptAnswers } from "../connection/kept-answers.ts";
import { memoryOf } from "../connection/memory-options.ts";
import { authorizationSource } from "../connection/pending-sign-ins.ts";
import { pausingInput } from "../connection/input-options.ts";
import { withTraceContext } from "../events/connection-telemetry.ts";
import { createPausingCalls } from "./pausing-calls.ts";
import { createStatefulFetch, type HttpParts, withDefinedRetries } from "./stateful-fetch.ts";

/** What a connection's fetches do for calls that wait. */
export type WaitingParts = ReturnType<typeof createWaitingParts>;

export type TakeFetch = () => typeof globalThis.fetch;

/** Makes the fetch of each client: clients number their requests alike, and cancel by number. */
export function createFetchSource(
  parts: HttpParts,
  onEvent: (event: SessionEvent) => void,
  { pausing, keptAnswers }: WaitingParts,
): TakeFetch {
  const { slot, definition } = parts;
  const createOwn = () => {
    if (slot !== undefined && isStateful(definition)) {
      return createStatefulFetch(parts, slot, onEvent);
    }
    const plain = createPlainFetch(parts);
    const own = pausing?.wrap(plain) ?? plain;
    if (slot === undefined) return refusingTasks(own, new URL(parts.url), parts.deliverySlot, true);
    const { url, now } = parts;
    const memory = memoryOf(definition.options);
    return createSessionFetch({
      url,
      slot,
      fetch: own,
      session: "stateless",
      memory,
      onEvent,
      now,
    });
  };
  const create = () => keptAnswers?.wrap(createOwn()) ?? createOwn();
  // One is made at once, because it reports a saved snapshot of another URL even if it is not used.
  let unused: typeof globalThis.fetch | undefined = create();
  return () => {
    const fetch = unused ?? create();
    unused = undefined;
    return fetch;
  };
}

/** The fetch of a connection without a session. */
function createPlainFetch(parts: HttpParts): typeof fetch {
  const isAsked = parts.definition.options.maxRetries !== undefined;
  return isAsked ? withDefinedRetries(parts) : parts.connectionFetch.fetch;
}

export function createWaitingParts(parts: HttpParts) {
  const { definition, waiting } = parts;
  const pausing = createPausing(parts);
  // A pausing connection does more than that.
  const mayPark = waiting !== undefined && authorizationSource(definition) !== undefined;
  const keptAnswers = mayPark && pausing === undefined ? createKeptAnswers() : undefined;
  return { pausing, keptAnswers };
}

/** The waiting calls of a connection, if its calls wait. */
function createPausing(parts: HttpParts) {
  const { definition, context, waiting, telemetry, trace, url, emit, now } = parts;
  const limits = pausingInput(definition.options);
  if (limits === undefined || waiting === undefined) return undefined;
  return createPausingCalls({
    ...{ source: waiting, limits, emit, trace, now, url: new URL(url) },
    ...{ connection: context.connection, principal: context.principal! },
    callMs: callTimeoutMs(definition),
    scrub: parts.connectionFetch.scrub,
    fetch: withTraceContext(createPlainFetch(parts), telemetry),
  });
}
