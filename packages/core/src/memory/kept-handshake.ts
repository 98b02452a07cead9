import type { KeptResult } from "../session/kept-result.ts";
import { asInitializeResult, type InitializeResult } from "../session/session-snapshot.ts";
import type { LiveSession } from "../session/slot-state.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import type { KeptResults } from "./kept-results.ts";
import type { MemoryContext } from "./memory-context.ts";
import { observeAnswer } from "./observe-answer.ts";

/** The handshake with a server that keeps no sessions, from the answer to `initialize` to its end. */
export interface KeptHandshake {
  /** The result that answers clients, while it is fresh. */
  readonly result: InitializeResult | undefined;
  /** The same, as what requests go out on. */
  readonly session: LiveSession | undefined;
  /** Whether the server is known to refuse `server/discover`. */
  readonly refusesProbe: boolean;
  /** The result whose acknowledgement is still to come. */
  readonly opened: InitializeResult | undefined;
  /** Reads an answer to `initialize`. */
  observeInitialize(response: Response, id: JsonRpcRequest["id"]): Response;
  /** Reads an answer to `server/discover`. */
  observeProbe(response: Response, id: JsonRpcRequest["id"]): Response;
  /** The server took `notifications/initialized`: from now on the handshake is kept. */
  acknowledge(): void;
  /** Drops all of it if the answer names a session, which is the client's own. */
  checkSession(response: Response): boolean;
  /** Drops the handshake and its lists. Gives whether there were any. */
  evict(): boolean;
}

export function createKeptHandshake(context: MemoryContext, results: KeptResults): KeptHandshake {
  const { maxAgeMs, now } = context;
  let opened: { readonly result: InitializeResult; readonly length: number } | undefined;
  let refusesProbe = false;
  let session: LiveSession | undefined;

  const find = () => results.find({ method: "initialize" });
  const keep = (result: Record<string, unknown>, forMs: number, length: number) => {
    const own = { method: "initialize", result, scope: "private" } as const;
    results.keep({ ...own, ...(refusesProbe && { refusesProbe }) }, forMs, length);
  };
  const evict = () => results.evict(({ client }: KeptResult) => client === undefined);
  const noteProbe = (isRefused: boolean) => {
    refusesProbe = isRefused;
    const kept = isRefused ? find() : undefined;
    if (kept) keep(kept.result, kept.until - now(), 0);
  };
  const checkSession = (response: Response) => {
    const isNamed = response.headers.has("mcp-session-id");
    if (isNamed) evict();
    return isNamed;
  };

  const resultOf = () => asInitializeResult(find()?.result);

  return {
    get result() {
      return resultOf();
    },
    get session() {
      const initializeResult = resultOf();
      if (initializeResult === undefined) return undefined;
      const isSame = session?.initializeResult === initializeResult;
      session = isSame ? session : { kind: "sessionless", initializeResult };
      return session;
    },
    get refusesProbe() {
      return find()?.refusesProbe === true;
    },
    get opened() {
      return opened?.result;
    },
    observeInitialize(response, id) {
      opened = undefined;
      if (checkSession(response) || !response.ok || response.redirected) return response;
      return observeAnswer(response, (message, length) => {
        if (message === undefined || "method" in message || message.id !== id) return;
        const result = asInitializeResult(message.result);
        opened = result && { result, length };
      });
    },
    observeProbe(response, id) {
      const { ok, status } = response;
      if (!ok && status < 500 && ![401, 403, 408, 429].includes(status)) noteProbe(true);
      if (!ok) return response;
      return observeAnswer(response, (message) => {
        if (message === undefined || "method" in message || message.id !== id) return;
        noteProbe(message.error !== undefined);
      });
    },
    acknowledge() {
      if (opened === undefined) return;
      // Lists after another handshake may be other lists.
      evict();
      keep(opened.result, maxAgeMs, opened.length);
      opened = undefined;
    },
    checkSession,
    evict,
  };
}
