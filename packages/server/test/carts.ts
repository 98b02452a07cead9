import { createMemoryStore, type Principal, type SessionStore } from "@durable-mcp/core";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createMcpHandler } from "@modelcontextprotocol/server";
import {
  createSessionHandler,
  type ServerSessionEvent,
  type SessionHandlerOptions,
} from "../src/index.ts";
import { toNodeHandler } from "../src/node.ts";
import { type Cart, createCartServer } from "./cart-server.ts";
import { listen } from "./listen.ts";

const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

type Options = Partial<SessionHandlerOptions<Cart>>;

/** `Bearer ada` is the user ada; without a token the caller is anonymous. */
const principal = (request: Request): Principal => {
  const [, id] = request.headers.get("authorization")?.split(" ") ?? [];
  return id === undefined ? { type: "anonymous" } : { type: "user", issuer: "test", id };
};

const headersOf = (user: string | undefined): Record<string, string> =>
  user === undefined ? {} : { authorization: `Bearer ${user}` };

/** Sends one message of 2026-07-28, as a client does. */
async function send(
  url: string,
  { method, params, ...message }: { id?: number; method: string; params: Record<string, unknown> },
  { user = "ada", ...headers }: Record<string, string> = {},
  { signal, ...more }: { signal?: AbortSignal } & Record<string, unknown> = {},
): Promise<Response> {
  return await fetch(url, {
    method: "POST",
    signal: signal ?? null,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof params["name"] === "string" && { "mcp-name": params["name"] }),
      ...headersOf(user),
      ...headers,
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", ...message, method },
      params: { ...params, _meta: { ...envelope, ...more } },
    }),
  });
}

/** One request. */
const post = (
  url: string,
  method: string,
  params: Record<string, unknown>,
  headers: Record<string, string> = {},
  more: Record<string, unknown> = {},
) => send(url, { id: 1, method, params }, headers, more);

/** One notification. */
const notify = (url: string, method: string, params: Record<string, unknown>) =>
  send(url, { method, params });

/** A listening stream, until `signal` aborts. */
const subscribe = (url: string, signal: AbortSignal) => {
  const params = { notifications: { toolsListChanged: true } };
  return send(url, { id: 2, method: "subscriptions/listen", params }, {}, { signal });
};

/** Handlers for both eras on one store, and clients of both, until the test ends. */
export function startCarts(common: Options & { store?: SessionStore } = {}) {
  const store = common.store ?? createMemoryStore();
  const events: ServerSessionEvent[] = [];
  const stack = new AsyncDisposableStack();

  async function replica(options: Options = {}) {
    const handler = createSessionHandler<Cart>({
      store,
      principal,
      initialState: () => ({ items: [] }),
      createServer: ({ session }) => createCartServer(session),
      stateless: createMcpHandler,
      onEvent: (event) => void events.push(event),
      ...common,
      ...options,
      timeouts: { pollIntervalMs: 20, ...common.timeouts, ...options.timeouts },
    });
    const { url } = stack.use(await listen(toNodeHandler(handler)));
    return { handler, url };
  }

  async function connect(url: string, mode: "legacy" | "auto", user: string | undefined) {
    const client = new Client(
      { name: "client", version: "1" },
      { versionNegotiation: { mode }, capabilities: { elicitation: {} } },
    );
    const requestInit = { headers: headersOf(user) };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    stack.defer(() => client.close());
    return client;
  }

  async function connectOld(url: string, user: string | undefined) {
    const client = new OldClient({ name: "old client", version: "1" });
    const requestInit = { headers: headersOf(user) };
    await client.connect(new OldTransport(new URL(url), { requestInit }));
    stack.defer(() => client.close());
    return client;
  }

  return {
    ...{ store, events, replica, post, notify, listen: subscribe },
    /** Of `@modelcontextprotocol/client`, speaking 2026-07-28 where it can. */
    modern: (url: string, user: string | undefined = "ada") => connect(url, "auto", user),
    anonymous: (url: string) => connect(url, "auto", undefined),
    /** The same, with sessions. */
    older: (url: string, user: string | undefined = "ada") => connect(url, "legacy", user),
    /** Of `@modelcontextprotocol/sdk` 1. */
    old: (url: string, user: string | undefined = "ada") => connectOld(url, user),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function textOf(result: unknown): string {
  const { content } = result as { content: { text: string }[] };
  return content.map(({ text }) => text).join();
}

/** Calls a tool, and gives its text; whichever client it is. */
export async function call(
  client: { callTool: (params: never) => Promise<unknown> },
  name: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  return textOf(await client.callTool({ name, arguments: args } as never));
}
