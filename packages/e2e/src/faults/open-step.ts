import {
  type ConnectionEvent,
  type ConnectionRun,
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import { principal } from "../durable/notebook-sessions.ts";
import type { ChatOptions, StepPlan } from "./chat.ts";
import { shortTimes } from "./waits.ts";

export interface OpenStep {
  readonly registry: ConnectionRun;
  readonly tools: object;
  readonly end: () => Promise<void>;
}

type OnEvent = Parameters<NonNullable<ChatOptions["sessionsOf"]>>[0];

export type Opener = (onEvent: OnEvent, on: StepPlan["on"]) => Promise<OpenStep>;

/** The sessions with the notebook, as each process of an application makes them. */
export function createSessions(options: Omit<ChatOptions, "id">, onEvent: OnEvent) {
  const { store, now } = options;
  const { connections, storeTimeoutMs, closeTimeoutMs } = settingsOf(options);
  const limits = { storeTimeoutMs, closeTimeoutMs };
  return createDurableSessions({
    connections,
    store: store!,
    ...limits,
    onEvent: onEvent && { every: onEvent },
    now,
  });
}

function settingsOf({ url, session = "stateful", required, times }: Omit<ChatOptions, "id">) {
  const { storeMs, closeMs, ...timeouts } = { ...shortTimes, ...times };
  const connections = {
    notes: defineMcpClientConnection({
      ...{ url, session, required, timeouts },
      description: "A notebook.",
    }),
  };
  return { connections, storeTimeoutMs: storeMs, closeTimeoutMs: closeMs };
}

/** Opens the steps of one chat, each with clients of its own. */
export function createOpener(options: ChatOptions): Opener {
  const { id, sessionsOf = (onEvent, on) => createSessions({ ...options, ...on }, onEvent) } =
    options;
  if (options.store !== undefined) {
    return async (onEvent, on) => {
      const lease = await sessionsOf(onEvent, on).open(id, { principal });
      return { registry: lease, tools: await lease.tools(), end: () => lease.dispose() };
    };
  }
  const { connections, closeTimeoutMs } = settingsOf(options);
  let saved: { state?: unknown } = {};
  return async (onEvent) => {
    const common = { closeTimeoutMs, onEvent: onEvent && { every: onEvent }, now: options.now };
    const provider = createConnectionProvider({ connections, ...common });
    // As a process reads it from where it was saved.
    const loaded = JSON.parse(JSON.stringify(saved)) as { state?: object };
    const registry = provider.create({ ...loaded, principal });
    const end = async () => {
      await registry.dispose();
      saved = provider.commit(registry, loaded);
    };
    return { registry, tools: await registry.tools(), end };
  };
}

/** Takes what is said on the console for events, for as long as nobody else says anything. */
export function listenToConsole(onEvent: (event: ConnectionEvent) => void) {
  const { warn, error } = console;
  const take = (...words: unknown[]) => {
    const said = { type: "unavailable", connection: "notes", error: { message: words.join(" ") } };
    onEvent(said as unknown as ConnectionEvent);
  };
  Object.assign(console, { warn: take, error: take });
  return { stop: () => void Object.assign(console, { warn, error }) };
}
