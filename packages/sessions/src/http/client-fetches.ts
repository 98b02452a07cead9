import type {
  JsonRpcRequest,
  SessionEvent,
  SessionFetchOptions,
  SessionSlot,
  SessionSnapshot,
  SessionStart,
} from "@durable-mcp/core";
import type { createServerMemory as CreateServerMemory } from "@durable-mcp/core/memory";
import {
  abortable,
  anySignal,
  createSessionPipe,
  innerFetch,
  toolsIn,
  refusingTasks,
  discoveringEra,
  sendingSafeAgain,
} from "@durable-mcp/core/internal";
import { once } from "../base/once.ts";
import { answerRefusals, needsListening } from "../connection/client-capabilities.ts";
import type { ConnectionResend, StatefulSessionOptions } from "../declare/connection-options.ts";
import {
  connectTimeoutMs,
  isStateful,
  mayRunTwice,
  sessionOptions,
  startTimeoutMs,
} from "../declare/define-connection.ts";
import { withSessionErrors } from "../events/client-errors.ts";
import type { ClientPipe, HttpParts } from "./http-parts.ts";
import { openClient } from "./open-client.ts";
import { openingEnvelopes, readingEnvelopes } from "./open-envelopes.ts";
import type { HttpPausingCalls } from "./pausing-calls.ts";

/** Makes the way of each client: clients number their requests alike, and cancel by number. */
export function createPipeSource(
  parts: HttpParts,
  onEvent: (event: SessionEvent) => void,
  pausing: HttpPausingCalls | undefined,
): () => ClientPipe {
  const { slot, definition, connectionFetch, url, now } = parts;
  const keepsSession = isStateful(definition);
  const { memory } = definition.options;
  // Of the calls on a session the session fetch tells.
  const isPassed = () => {
    const { snapshot } = slot ?? {};
    const isKept = snapshot?.kind === "sessionless" && snapshot.initializeResult !== undefined;
    return keepsSession ? snapshot?.kind === "stateless" : !isKept;
  };
  const createOwn = (memoryOf?: typeof CreateServerMemory): ClientPipe => {
    const { fetch } = connectionFetch;
    const discovering = discoveringEra(fetch, {
      ...{ connectMs: connectTimeoutMs(definition), paused: parts.paused },
      onUnsure: () => parts.emit({ type: "era-unknown", connection: parts.context.connection }),
    });
    const beneath = pausing?.wrap(discovering) ?? discovering;
    const own = innerFetch(openingEnvelopes(beneath, parts.toolNow));
    if (slot === undefined) {
      const sending = sendingSafeAgain(own, connectTimeoutMs(definition));
      return { fetch: refusingTasks(sending, new URL(url), parts.deliverySlot, true) };
    }
    return createSessionPipe({
      ...{ url, slot, fetch: own, onEvent, now },
      memory: memoryOf?.({
        ...(memory !== "server" && memory),
        session: keepsSession ? "stateful" : "stateless",
      }),
      ...(keepsSession && sessionParts(parts, slot)),
    });
  };
  const { beforeUse } = parts;
  const ready =
    <REQUEST extends unknown[], T>(send: (...request: REQUEST) => Promise<T>) =>
    async (...request: REQUEST) => {
      if (beforeUse) await beforeUse();
      return await send(...request);
    };
  return () => {
    const own = memory === undefined ? createOwn() : onceLoaded(createOwn);
    const fetch = readingEnvelopes(own.fetch, {
      scrub: parts.secrets.scrub,
      reads: (isFollowed) => isFollowed && isPassed(),
    });
    return { fetch: ready(fetch), ...(own.send && { send: ready(own.send) }) };
  };
}

const loadMemory = once(async () => await import("@durable-mcp/core/memory"));

/** A way with memory: few connections have one, so its code is loaded for them. */
function onceLoaded(create: (memoryOf: typeof CreateServerMemory) => ClientPipe): ClientPipe {
  const creating = loadMemory().then(({ createServerMemory }) => create(createServerMemory));
  // Who sends the first request gets the failure.
  creating.catch(() => undefined);
  return {
    fetch: async (...request) => await (await creating).fetch(...request),
    send: async (...request) => await (await creating).send!(...request),
  };
}

/** The definition's options of a session. */
function sessionParts(parts: HttpParts, slot: SessionSlot): Partial<SessionFetchOptions> {
  const { definition, exceptSlot, trace, onSession, findSession, maxListLength } = parts;
  const { timeouts } = definition.options;
  const {
    except = [],
    onStart,
    toolList,
    resend,
    onLoss,
    classifyLoss,
  } = sessionOptions(definition);
  return {
    ...{ onSession, findSession },
    // A new session and its tools are one write of the store then.
    toolList: { maxLength: maxListLength, ...toolList, beforeSave: parts.listsTools },
    listening: needsListening(definition.options),
    statelessIfUnnamed: definition.options.waiting !== undefined,
    cancelOnAbort: parts.isActive,
    recovery: {
      ...{ onLoss, classifyLoss },
      resend:
        resend === undefined || typeof resend === "string"
          ? resend
          : (request) => mayCallTwice(request, resend, slot.snapshot),
      around: (recovery) =>
        trace({ operation: "recover" }, async (note) => {
          note({ refusedStatus: (await recovery()).status });
        }),
    },
    except: exceptSlot && {
      slot: exceptSlot,
      matches: ({ method, params }) =>
        method === "tools/call" && except.some((tool) => tool === params?.["name"]),
    },
    onStart: onStart && ((start) => prepare(parts, onStart, start)),
    timeouts: {
      initializeMs: connectTimeoutMs(definition),
      answerMs: timeouts?.answerMs,
      startMs: startTimeoutMs(definition),
    },
  };
}

/** Whether the application allows that a tool call runs twice, of a tool as the server has listed it. */
function mayCallTwice(
  { method, params }: JsonRpcRequest,
  resend: ConnectionResend,
  snapshot: SessionSnapshot | undefined,
): boolean {
  const name = params?.["name"];
  if (method !== "tools/call" || typeof name !== "string") return false;
  const { tools = [] } = { ...(snapshot && toolsIn(snapshot).current) };
  return mayRunTwice(tools.find((tool) => tool.name === name) ?? { name }, resend);
}

/** Runs `session.onStart` with a client on the new session. */
async function prepare(
  parts: HttpParts,
  onStart: NonNullable<StatefulSessionOptions["onStart"]>,
  { reason, fetch, abortSignal: startSignal }: SessionStart,
): Promise<void> {
  const abortSignal = anySignal(startSignal, parts.context.abortSignal);
  const context = { ...parts.context, abortSignal };
  const client = await openClient(parts, "http", { context, fetch });
  try {
    const answer = answerRefusals(parts.definition.options, context, parts.callLimits);
    const own = withSessionErrors(client, parts.restoreError, parts.secrets, answer);
    const start = { ...context, reason, client: own };
    // Some hooks ignore their signal, and nobody would save their work after the step.
    await abortable(Promise.resolve(onStart(start)), abortSignal);
  } finally {
    await client.close();
  }
}
