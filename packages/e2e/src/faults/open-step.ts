import {
  type ConnectionEvent,
  type ConnectionRegistry,
  createConnectionProvider,
  createDurableSessions,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import { principal } from "../durable/notebook-sessions.ts";
import type { ChatOptions, StepPlan } from "./chat.ts";
import { shortTimes } from "./waits.ts";

export interface OpenStep {
  readonly registry: ConnectionRegistry;
  readonly tools: object;
  readonly end: () => Promise<void>;
}

type OnEvent = ((event: ConnectionEvent) => void) | undefined;

export type Opener = (onEvent: OnEvent, on: StepPlan["on"]) => Promise<OpenStep>;

/** Opens the steps of one chat, each with clients of its own. */
export function createOpener(options: ChatOptions): Opener {
  const { id, url, session = "stateful", required } = options;
  const times = { ...shortTimes, ...options.times };
  const { storeMs: storeTimeoutMs, closeMs: closeTimeoutMs, ...timeouts } = times;
  const connections = {
    notes: defineMcpClientConnection({
      ...{ url, session, required, timeouts },
      description: "A notebook.",
    }),
  };
  if (options.store !== undefined) {
    return async (onEvent, { store = options.store!, now = options.now } = {}) => {
      const limits = { storeTimeoutMs, closeTimeoutMs };
      const sessions = createDurableSessions({ connections, store, ...limits, onEvent, now });
      const lease = await sessions.open(id, { principal });
      const { registry, tools } = lease;
      return { registry, tools, end: () => lease.dispose() };
    };
  }
  let saved: { state?: unknown } = {};
  return async (onEvent) => {
    const common = { closeTimeoutMs, onEvent, now: options.now };
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
