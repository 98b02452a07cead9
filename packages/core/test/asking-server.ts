import { vi } from "vitest";
import { abortable } from "../src/base/bounded-wait.ts";
import { createSessionFetch, createSessionSlot, createMemoryStore } from "../src/index.ts";
import type { SessionStore } from "../src/index.ts";
import {
  answerWaitingCall,
  createWaitingCalls,
  type InputResponses,
  type WaitingCallsOptions,
} from "../src/waiting/index.ts";
import { readMessages } from "./rpc-client.ts";
import { confirm, yes } from "./yes-or-no.ts";

export { confirm, yes };

/** A request that may be answered with questions, as it came. */
export interface Leg {
  readonly id: unknown;
  readonly method: string;
  readonly params: any;
  readonly headers: Headers;
}

export interface AskingServer {
  readonly url: string;
  /** What came, in order. */
  readonly legs: Leg[];
  readonly fetch: typeof globalThis.fetch;
}

export const url = "https://shop.example/mcp";

/**
 * A server of revision 2026-07-28 in this process.
 *
 * @param answer gives the result of each leg, or its whole answer; legs count from 1
 */
export function createAskingServer(
  answer: (leg: Leg, number: number) => object | Promise<object>,
): AskingServer {
  const legs: Leg[] = [];
  return {
    url,
    legs,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      request.signal.throwIfAborted();
      const { id, method, params } = JSON.parse(await request.text()) as Leg;
      const leg = { id, method, params, headers: request.headers };
      legs.push(leg);
      const work = (async () => await answer(leg, legs.length))();
      const given = await abortable(work, request.signal);
      return given instanceof Response ? given : Response.json(resultOf(leg, given));
    },
  };
}

export function resultOf({ id }: Leg, result: object) {
  return { jsonrpc: "2.0", id, result };
}

/** A result that asks. */
export function asks(requestState?: string, inputRequests: object | null = { confirm }) {
  return {
    resultType: "input_required",
    ...(inputRequests && { inputRequests }),
    ...(requestState !== undefined && { requestState }),
  };
}

export function done(text = "Ordered.") {
  return { resultType: "complete", content: [{ type: "text", text }] };
}

/** Asks in the first leg, and orders in each later one. */
export const orders = (_leg: Leg, number: number) => (number === 1 ? asks("state 1") : done());

const prefix = "io.modelcontextprotocol/";

/** A request of revision 2026-07-28. */
export function askingRequest({
  id = 1,
  method = "tools/call",
  params = { name: "order", arguments: { item: "tea" } },
  meta = {},
}: {
  readonly id?: string | number | undefined;
  readonly method?: string | undefined;
  readonly params?: object | undefined;
  readonly meta?: object | undefined;
} = {}) {
  const own = {
    [`${prefix}protocolVersion`]: "2026-07-28",
    [`${prefix}clientInfo`]: { name: "test", version: "1" },
    [`${prefix}clientCapabilities`]: { sampling: {} },
    ...meta,
  };
  return { jsonrpc: "2.0" as const, id, method, params: { ...params, _meta: own } };
}

/** Sends a request as a client does, and gives its JSON-RPC answer. */
export async function send(
  fetch: typeof globalThis.fetch,
  request: Parameters<typeof askingRequest>[0] = {},
  { headers, ...init }: RequestInit = {},
): Promise<any> {
  const message = askingRequest(request);
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": message.method,
      ...Object.fromEntries(new Headers(headers)),
    },
    body: JSON.stringify(message),
    ...init,
  });
  const messages = await readMessages(response);
  return messages.find(({ id }) => id === message.id) ?? messages.at(-1);
}

export const principal = { type: "user", issuer: "https://idp.example", id: "1" } as const;

/** A process of an application: its waiting calls, and a fetch for its client. */
export function startProcess(
  server: AskingServer,
  options: Partial<WaitingCallsOptions> & { store?: SessionStore } = {},
) {
  const store = options.store ?? createMemoryStore(options.now && { now: options.now });
  const waiting = createWaitingCalls({
    ...{ sessionId: "chat", principal, connection: "shop", url, store },
    ...options,
  });
  const slot = createSessionSlot();
  const fetch = createSessionFetch({ url, slot, waiting, fetch: server.fetch });
  return {
    store,
    waiting,
    fetch,
    answer: (
      id: string,
      responses: InputResponses = yes,
      use: Parameters<typeof answerWaitingCall>[3] = {},
    ) => answerWaitingCall(waiting, id, responses, { fetch: server.fetch, ...use }),
  };
}

/** A call that waits, in a process whose time stands still. */
export async function startWaiting(
  answer: Parameters<typeof createAskingServer>[0] = orders,
  options: Partial<WaitingCallsOptions> = {},
) {
  const time = { now: 1_000 };
  const server = createAskingServer(answer);
  const own = startProcess(server, { now: () => time.now, ...options });
  await send(own.fetch);
  const [call] = await own.waiting.list();
  return { ...own, time, server, call: call!, id: call!.id };
}

/** A store that calls `before` ahead of each operation, and counts them. */
export function watchStore(
  store: SessionStore,
  before: (operation: keyof SessionStore, ...args: any[]) => unknown = () => undefined,
): SessionStore & { readonly operations: string[] } {
  const operations: string[] = [];
  const watched =
    (name: keyof SessionStore) =>
    async (...args: unknown[]) => {
      operations.push(name);
      await before(name, ...args);
      return await (store[name] as (...args: unknown[]) => Promise<any>)(...args);
    };
  return {
    operations,
    ...{ get: watched("get"), put: watched("put"), touch: watched("touch") },
    ...{ delete: watched("delete"), list: watched("list") },
  };
}

/** Opens, and lets go whoever waits for it. */
export function createGate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** Lets time pass until `work` is done. For fake timers. */
export async function passTime<T>(work: Promise<T>): Promise<T> {
  const progress = { isOver: false };
  const over = () => void (progress.isOver = true);
  work.then(over, over);
  while (!progress.isOver) {
    await vi.advanceTimersByTimeAsync(100);
    await new Promise((resolve) => void setImmediate(resolve));
  }
  return await work;
}
