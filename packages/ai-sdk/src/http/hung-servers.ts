import { McpSessionError, type Principal, principalParts } from "@durable-mcp/core";
import { endpointName } from "@durable-mcp/core/internal";
import type { ConnectionContext } from "../connection/connection-context.ts";
import { handshakeMethod } from "./handshake-method.ts";

type Fetch = typeof globalThis.fetch;

/** How long a server is not asked again that was silent for the whole time of a handshake, in milliseconds. */
const hungMs = 5_000;
/** The servers that are remembered. The oldest one is forgotten first. */
const maxHung = 1_000;

/** The servers of one provider that hung a moment ago, by URL and principal, in this process. */
export interface HungServers {
  /**
   * The fetch of one connection. While its server is remembered, requests of a handshake fail at once, with
   * `CONNECTION_UNAVAILABLE`.
   *
   * @param connectMs the time of a handshake, in milliseconds
   */
  watch(fetch: Fetch, use: { url: URL; connectMs: number; context: ConnectionContext }): Fetch;
  /** Lets the next handshake go out. */
  forget(url: URL, principal: Principal | undefined): void;
}

export function createHungServers(now: () => number): HungServers {
  const hung = new Map<string, { readonly since: number; readonly silentMs: number }>();
  return {
    forget: (url, principal) => void hung.delete(keyOf(url, principal)),
    watch(fetch, { url, connectMs, context: { connection, principal, abortSignal } }) {
      const key = keyOf(url, principal);
      const throwIfHung = () => {
        const known = hung.get(key);
        const leftMs = known === undefined ? 0 : known.since + hungMs - now();
        // A clock that was set back must not make the time longer.
        if (known !== undefined && leftMs > 0 && leftMs <= hungMs) {
          throw isHung(connection, url, known.silentMs, leftMs);
        }
        hung.delete(key);
      };
      const remember = (silentMs: number) => {
        hung.delete(key);
        hung.set(key, { since: now(), silentMs });
        const [oldest] = hung.keys();
        if (hung.size > maxHung && oldest !== undefined) hung.delete(oldest);
      };
      return async (input, init) => {
        if (handshakeMethod(init?.body) === undefined) return await fetch(input, init);
        throwIfHung();
        const { signal } = init ?? {};
        const startedAt = performance.now();
        const onAbort = () => {
          const silentMs = Math.round(performance.now() - startedAt);
          // A caller with a shorter limit, or one that left, knows less.
          const isLate = isTimeout(signal?.reason) && silentMs >= connectMs / 2;
          if (isLate && !abortSignal.aborted) remember(silentMs);
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        const heard = () => signal?.removeEventListener("abort", onAbort);
        try {
          return untilHeard(await fetch(input, init), heard);
        } catch (error) {
          heard();
          throw error;
        }
      };
    },
  };
}

/** Principals may meet different servers behind one URL, and none may make another one's tools disappear. */
function keyOf(url: URL, principal: Principal | undefined): string {
  return JSON.stringify([url.href, ...(principal ? principalParts(principal) : [])]);
}

function isTimeout(reason: unknown): boolean {
  return (reason as { name?: unknown } | null | undefined)?.name === "TimeoutError";
}

/** Many servers send the headers of an event stream at once. So the first bytes of it count. */
function untilHeard(response: Response, heard: () => void): Response {
  if (!response.ok || response.body === null) {
    heard();
    return response;
  }
  const watched = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        heard();
        controller.enqueue(chunk);
      },
      flush: heard,
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(watched, { status, statusText, headers });
}

function isHung(connection: string, url: URL, silentMs: number, leftMs: number): McpSessionError {
  const seconds = Math.ceil(leftMs / 1_000);
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: the server at ${endpointName(url)} was silent for ${silentMs} ms a moment ago, so this use did not wait for it. It is asked again after ${seconds} s.`,
    { data: { connection, origin: url.origin, reason: "timeout" } },
  );
}
