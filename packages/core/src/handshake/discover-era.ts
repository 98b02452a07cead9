import { anySignal, within } from "../base/bounded-wait.ts";
import { LATEST_SESSION_VERSION } from "../session/session-snapshot.ts";
import { connectionFailure } from "../wire/connection-failure.ts";
import { methodNotFoundAnswer } from "../wire/json-rpc.ts";
import { letGo, readAnswer, rewriteRefusal } from "../wire/read-answer.ts";
import { asksFor, endNamed } from "../wire/safe-requests.ts";

type Fetch = typeof globalThis.fetch;
type Handle = (...request: Required<Parameters<Fetch>>) => Promise<Response>;

interface EraParts {
  /** The time for a handshake, in milliseconds. */
  readonly connectMs: number;
  /** Has other limits of time stand still during some work. */
  readonly paused: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called when the client goes on with sessions because `server/discover` met an outage. */
  readonly onUnsure: () => void;
}

/**
 * The fetch of one client, which takes neither an outage nor silence for a server's word on its revisions.
 * An outage is answered with 503, so that it goes out once more. After a fifth of the time for a handshake `initialize` goes out
 * beside it: a server that answers that, and not the other in all of the time, has sessions.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
 */
export function discoveringEra(fetch: Fetch, { connectMs, paused, onUnsure }: EraParts): Fetch {
  /** The outage that `server/discover` met, until the client's `initialize` has an answer. */
  let outage: Outcome | undefined;
  let isInitialized = false;

  const discover: Handle = async (input, init) => {
    const { id, params } = JSON.parse(init.body as string) as Discovery;
    const endsAt = performance.now() + connectMs;
    const over = new AbortController();
    const signal = anySignal(over.signal, init.signal ?? undefined);
    const before = outage;
    outage = undefined;
    const asking = ask(() => fetch(input, { ...init, signal }), id);
    const settled = asking.catch(() => undefined);
    if (!(await within(connectMs / 5, settled))) {
      const beside = begin((own) => fetch(input, { ...init, ...own }), init, params?.["_meta"]);
      const isOpen = (await Promise.race([settled, beside])) !== undefined;
      const inTime = () => within(endsAt - performance.now(), settled);
      if (isOpen && !(await paused(inTime))) {
        over.abort();
        return methodNotFoundAnswer(id);
      }
    }
    const found = await asking;
    if (found instanceof Response) return found;
    outage = found;
    if (before && isInitialized) onUnsure();
    // It goes out once more. Clients take any other status for the server's own word.
    const { headers } = "response" in found ? found.response : new Response();
    return new Response(null, { status: 503, headers });
  };

  const initialize: Handle = async (input, init) => {
    const response = await fetch(input, init);
    isInitialized ||= response.ok;
    const failed = outage;
    if (failed && response.ok) onUnsure();
    if (response.ok) outage = undefined;
    if (!failed || response.ok) return response;
    let text = "";
    const refused = await rewriteRefusal(response, (read) => (text = read));
    // It speaks only the revisions that it had no time to name.
    if (!/"code"\s*:\s*-32022\b/.test(text)) return refused;
    if ("error" in failed) throw failed.error;
    return failed.response.clone();
  };

  return async (input, init = {}) => {
    const { body } = init;
    if (asksFor("server/discover", body)) return await discover(input, init);
    return await (asksFor("initialize", body) ? initialize(input, init) : fetch(input, init));
  };
}

type Outcome = { readonly response: Response } | { readonly error: unknown };

interface Discovery {
  readonly id: string | number;
  readonly params?: { readonly _meta?: Meta };
}
type Meta = Readonly<Record<string, unknown>>;

/** @returns the client's answer, or an outage */
async function ask(
  send: () => Promise<Response>,
  id: Discovery["id"],
): Promise<Response | Outcome> {
  try {
    const response = await send();
    const { ok, status } = response;
    if (ok) {
      const answer = await readAnswer(response, id);
      return answer ? Response.json({ ...answer, id }) : methodNotFoundAnswer(id);
    }
    let body = "";
    const refused = await rewriteRefusal(response, (text) => (body = text));
    const isPage = status === 404 && /^\s*</.test(body);
    return isPage || [429, 502, 503, 504].includes(status) ? { response: refused } : refused;
  } catch (error) {
    if (connectionFailure(error)?.reason !== "reset") throw error;
    return { error };
  }
}

/**
 * Sends `initialize` for a client that has only asked which revisions there are, and ends the session that it makes:
 * the client makes its own.
 *
 * @returns the answer; `undefined` if the server refuses
 */
async function begin(
  send: (own: RequestInit) => Promise<Response>,
  init: RequestInit,
  meta: Meta = {},
): Promise<Response | undefined> {
  const params = {
    protocolVersion: LATEST_SESSION_VERSION,
    capabilities: meta["io.modelcontextprotocol/clientCapabilities"],
    clientInfo: meta["io.modelcontextprotocol/clientInfo"],
  };
  const headers = new Headers(init.headers);
  for (const name of ["mcp-method", "mcp-protocol-version"]) headers.delete(name);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const response = await send({ headers, body }).catch(() => undefined);
  letGo(response);
  if (!response?.ok) return undefined;
  endNamed({ response }, send);
  return response;
}
