import { createSessionFetch, type SessionEvent } from "@durable-mcp/core";
import { refusingTasks } from "@durable-mcp/core/internal";
import {
  callTimeoutMs,
  isStateful,
  memoryOf,
  pausingInput,
} from "../connection/define-connection.ts";
import { withTraceContext } from "../events/connection-telemetry.ts";
import { openingEnvelopes, readingEnvelopes } from "./open-envelopes.ts";
import { createPausingCalls, type HttpPausingCalls } from "./pausing-calls.ts";
import { createStatefulFetch, type HttpParts } from "./stateful-fetch.ts";

export type TakeFetch = () => typeof globalThis.fetch;

/** Makes the fetch of each client: clients number their requests alike, and cancel by number. */
export function createFetchSource(
  parts: HttpParts,
  onEvent: (event: SessionEvent) => void,
  pausing: HttpPausingCalls | undefined,
): TakeFetch {
  const { slot, definition, connectionFetch } = parts;
  // Of the calls on a session the session fetch tells.
  const isPassed = () => {
    const { snapshot } = slot ?? {};
    const isKept = snapshot?.kind === "sessionless" && snapshot.initializeResult !== undefined;
    return isStateful(definition) ? snapshot?.kind === "stateless" : !isKept;
  };
  const createOwn = () => {
    if (slot !== undefined && isStateful(definition)) {
      return createStatefulFetch(parts, slot, onEvent);
    }
    const plain = connectionFetch.fetch;
    const own = openingEnvelopes(pausing?.wrap(plain) ?? plain, parts.toolNow);
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
  const create = () =>
    readingEnvelopes(createOwn(), {
      scrub: connectionFetch.scrub,
      reads: (isFollowed) => isFollowed && isPassed(),
    });
  // One is made at once, because it reports a saved snapshot of another URL even if it is not used.
  let unused: typeof globalThis.fetch | undefined = create();
  return () => {
    const fetch = unused ?? create();
    unused = undefined;
    return fetch;
  };
}

/** The waiting calls of a connection, if its calls wait. */
export function createPausing(parts: HttpParts): HttpPausingCalls | undefined {
  const { definition, context, waiting, telemetry, trace, url, emit, now } = parts;
  const limits = pausingInput(definition.options);
  if (limits === undefined || waiting === undefined) return undefined;
  return createPausingCalls({
    ...{ source: waiting, limits, emit, trace, now, url: new URL(url) },
    ...{ connection: context.connection, principal: context.principal! },
    callMs: callTimeoutMs(definition),
    scrub: parts.connectionFetch.scrub,
    fetch: withTraceContext(parts.connectionFetch.fetch, telemetry),
  });
}
