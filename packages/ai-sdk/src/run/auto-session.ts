import type { MCPClient } from "@ai-sdk/mcp";
import { type Principal, sessionKey } from "@durable-mcp/core";
import { invalid } from "@durable-mcp/core/internal";
import type { Track } from "../base/open-work.ts";
import type { Connections } from "../connection/mcp-connection.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionRun } from "./connection-registry.ts";
import { createIdleLoan, type OpenRegistry, type Successor } from "./idle-loan.ts";
import { createRegistryFacade } from "./registry-facade.ts";

/** Options of the registry that calls outside of a run share. */
export interface AutoSessionOptions {
  /** On whose behalf the script uses its connections. */
  readonly principal: Principal;
  /**
   * How long its sessions may be unused before they are ended, in milliseconds. @default 300000 (5
   * minutes)
   */
  readonly idleTimeoutMs?: number | undefined;
  /** Needs a store: an option of `createDurableSessions`. */
  readonly sessionId?: undefined;
}

/** On an agent session in a store. */
export interface StoredAutoSessionOptions extends Pick<AutoSessionOptions, "principal"> {
  /**
   * Your id of the script's agent session. A later process with the same id, store, agent and principal
   * goes on in its MCP sessions.
   */
  readonly sessionId: string;
  /**
   * How long it may be unused before its clients are closed and its stdio servers ended, in milliseconds.
   * The MCP sessions go on. @default 300000 (5 minutes)
   */
  readonly idleTimeoutMs?: number | undefined;
}

/** Methods of a client that do not return a promise. */
const notWatched: ReadonlySet<string | symbol> = new Set([
  "onElicitationRequest",
  "toolsFromDefinitions",
]);

/** The registries behind an implicit one. */
interface ImplicitRegistries {
  readonly declared: () => Connections;
  /** Opens the next registry. */
  readonly open: (successor: Successor) => Promise<OpenRegistry>;
  readonly emit: (event: ConnectionEvent) => void;
  /** Has the implicit registry closed, for good, with those that it belongs to. */
  readonly tracks: readonly Track[];
}

/** One for all copies of this package: bundlers like to make several. */
const holderKey = Symbol.for("durable-mcp.autoSession");
const holder = globalThis as { [holderKey]?: ConnectionRun<any> | undefined };

/** The implicit registry of this process, if a provider has one. */
export function currentAutoSession(): ConnectionRun<any> | undefined {
  return holder[holderKey];
}

/**
 * Makes the implicit registry of a script that opens nothing by hand. Opens nothing yet. A registry is
 * opened on first use, and again after its end.
 *
 * @returns the implicit registry
 * @throws {McpSessionError} `PRINCIPAL_REQUIRED`; `CONNECTION_INVALID`, also when the process has one
 */
export function startAutoSession(
  { principal, idleTimeoutMs = 300_000 }: Omit<AutoSessionOptions, "sessionId">,
  { declared, open, emit, tracks }: ImplicitRegistries,
): ConnectionRun<any> {
  sessionKey({ connection: "any", principal });
  if (holder[holderKey] !== undefined) {
    throw invalid(
      "autoSession",
      "There is a connection provider, or durable sessions, with autoSession in this process already. Give the option to one of them only, or shut the other down first.",
    );
  }
  const { lend, hold, whileHeld, end } = createIdleLoan(open, emit, idleTimeoutMs);
  /** The client outlives the loan; its requests are uses, too. */
  const watchedClient = (client: MCPClient): MCPClient =>
    new Proxy(client, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== "function") return value;
        const call = (args: unknown[]): unknown => value.apply(target, args);
        if (notWatched.has(property)) return (...args: unknown[]) => call(args);
        return (...args: unknown[]) => whileHeld(() => call(args));
      },
    });

  const registry = createRegistryFacade({
    lend,
    declared,
    client: (name) => lend(async (own) => watchedClient(await own.client(name))),
    fetch(name) {
      let own: { of: ConnectionRun; fetch: typeof globalThis.fetch } | undefined;
      return async (input, init) =>
        await lend(async (of) => {
          if (own?.of !== of) own = { of, fetch: of.fetch(name) };
          const response = await own.fetch(input, init);
          const method = init?.method ?? (input instanceof Request ? input.method : "GET");
          // A listening stream does not count as use.
          return method.toUpperCase() === "POST" ? heldResponse(response, hold()) : response;
        });
    },
    dispose: () => end("asked"),
  });
  holder[holderKey] = registry;
  const forgets = tracks.map((track) => track(close));
  async function close() {
    if (holder[holderKey] === registry) holder[holderKey] = undefined;
    for (const forget of forgets) forget();
    await end("asked");
  }
  return registry;
}

/**
 * Calls `release` when the response's body was read to its end, failed or was cancelled. It calls it at
 * once for a response without a body, and for a refusal.
 *
 * @returns the response to read
 */
function heldResponse(response: Response, release: () => void): Response {
  if (response.body === null || !response.ok) {
    release();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        release();
      },
      async cancel(reason) {
        release();
        await reader.cancel(reason);
      },
    },
    // Nothing is read before somebody asks for it.
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
