/** What a runtime's own fetch does that no connection can live with, put right where a request leaves us. */

type Fetch = typeof globalThis.fetch;

/** Fetches of our packages that read the bodies they pass on. Another last fetch lies beneath them. */
const inner = new WeakSet<Fetch>();

/** Says of a fetch that its requests pass `lastFetch` further down. */
export function innerFetch(fetch: Fetch): Fetch {
  inner.add(fetch);
  return fetch;
}

/**
 * The fetch that a connection's requests leave through: the application's, or the runtime's.
 *
 * @param silentMs how long a server may say nothing, in milliseconds; only the runtime's fetch has a limit of its own
 */
export function lastFetch(given?: Fetch, silentMs = 0): Fetch {
  if (given && inner.has(given)) return given;
  const own: Fetch = (input, init) => globalThis.fetch(input, withoutLimits(init, silentMs));
  const last = given ?? own;
  if (!("Deno" in globalThis)) return last;
  return async (input, init) => await last(input, await sentOnce(input, init));
}

/**
 * Deno sends a text or bytes again when a connection closes that it had kept, although the server may have done the
 * work, and tells nobody. It does not do that with a `Blob`. The headers name the type.
 */
async function sentOnce(input: unknown, init?: RequestInit): Promise<RequestInit | undefined> {
  const body = init?.body ?? (input instanceof Request ? input.clone().body : undefined);
  if (body == null || (body instanceof ReadableStream && body === init?.body)) return init;
  return { ...init, body: await new Response(body).blob() };
}

/** Node ends a silent answer after this time, in milliseconds, before its headers and between its bytes. */
const nodeLimitMs = 300_000;

interface Dispatcher {
  readonly dispatch: (options: object, handler: unknown) => boolean;
}

/** undici's own registration of what Node's fetch sends with: an `Agent`, or a proxy of the application. */
const dispatcherOfNode = (): Dispatcher | undefined => {
  const known = globalThis as unknown as Readonly<Record<symbol, Dispatcher | undefined>>;
  return known[Symbol.for("undici.globalDispatcher.1")];
};

const patient: Dispatcher = {
  dispatch: (options, handler) =>
    dispatcherOfNode()!.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
};

function withoutLimits(init: RequestInit | undefined, silentMs: number): RequestInit | undefined {
  const { process } = globalThis as { process?: { versions?: { undici?: string } } };
  if (silentMs <= nodeLimitMs || process?.versions?.undici === undefined) return init;
  return { dispatcher: patient, ...init } as RequestInit;
}
