import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { SharedState } from "../state/shared-state.ts";
import type { StateHold } from "../state/state-eras.ts";
import type { LoggedRequests } from "../streams/logged-requests.ts";
import { outcomeUnknown } from "../streams/request-record.ts";
import type { LiveContext } from "./handler-context.ts";
import type { ClientPost } from "./session-transport.ts";

/** The requests of one POST, from when they are logged until all are settled. */
interface SessionCall {
  readonly logged: LoggedRequests;
  readonly hold: StateHold;
  /** Those that are not settled. */
  readonly open: Set<RequestId>;
  /** Lets go of the replica's lease. */
  readonly release: () => void;
  /** A cancelled request gets no answer, for which the transport would keep the stream open. */
  hasCancelled?: boolean;
}

type CallState = Pick<SharedState<object>, "hold" | "release">;

/** Writes the requests of a POST down; `undefined` when one with the same id is in flight. */
async function logCall(
  context: LiveContext,
  state: CallState,
  post: ClientPost,
): Promise<SessionCall | undefined> {
  const [first, ...rest] = post.requests.map((request) => request.id);
  const ids = [first!, ...rest] as const;
  const release = await context.replica.hold();
  const logged = await context.log.open(context, ids).catch((error: unknown) => {
    release();
    throw error;
  });
  if (logged) return { logged, hold: state.hold(), open: new Set(ids), release };
  release();
  return undefined;
}

/** The requests that are in flight in one live session. */
// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createSessionCalls(
  context: LiveContext,
  state: CallState,
  transport: Pick<WebStandardStreamableHTTPServerTransport, "closeSSEStream"> &
    Pick<Transport, "send">,
) {
  const { instance, format, waker, settings } = context;
  const calls = new Map<RequestId, SessionCall>();
  const callOf = new WeakMap<object, SessionCall>();
  const answered: LoggedRequests[] = [];
  let beingLogged = 0;

  function finish(call: SessionCall): void {
    state.release(call.hold);
    call.release();
    if (calls.size === 0) waker.wake(instance);
  }

  async function settled(request: JSONRPCRequest): Promise<void> {
    const call = callOf.get(request);
    if (!call) return;
    if (calls.get(request.id) === call) calls.delete(request.id);
    call.open.delete(request.id);
    if (call.open.size > 0) return;
    if (call.hasCancelled && format === "sse") transport.closeSSEStream(request.id);
    finish(call);
    if (format === "json") return;
    answered.push(call.logged);
    if (answered.length > settings.events.maxAnswers) await answered.shift()?.discard();
  }

  /** The answer will not come; its HTTP request must end all the same. */
  async function cancelled(request: JSONRPCRequest): Promise<void> {
    const call = callOf.get(request);
    if (!call) return;
    call.hasCancelled = true;
    await call.logged.forget(request.id);
    if (format === "sse") return;
    const error = { code: -32603, message: "The request was cancelled." };
    await transport.send({ jsonrpc: "2.0", id: request.id, error });
  }

  /** Answers each request with an unknown outcome. */
  async function close(): Promise<void> {
    for (const [id, call] of calls) {
      const error = outcomeUnknown(id);
      callOf.set(error, call);
      await transport.send(error).catch(() => {});
      if (format === "json") await call.logged.forget(id).catch(() => {});
    }
    for (const call of new Set(calls.values())) finish(call);
    calls.clear();
  }

  function relate(call: SessionCall | undefined, message: object): void {
    if (call) callOf.set(message, call);
  }

  return {
    /** How many there are, including those that are being logged. */
    get count() {
      return calls.size + beingLogged;
    },
    /** Whether one is in flight. A request that is being logged is not, yet. */
    get isBusy() {
      return calls.size > 0;
    },
    has: (requestId: RequestId) => calls.has(requestId),
    /** `undefined` when a request with one of the ids is in flight. */
    open: async (post: ClientPost): Promise<SessionCall | undefined> => {
      beingLogged += post.requests.length;
      try {
        const call = await logCall(context, state, post);
        for (const id of call?.open ?? []) calls.set(id, call!);
        return call;
      } finally {
        beingLogged -= post.requests.length;
      }
    },
    /** The transport refused the POST, so that its requests were not begun. */
    abandon: async (call: SessionCall): Promise<void> => {
      for (const id of call.open) calls.delete(id);
      finish(call);
      await call.logged.discard().catch(() => {});
    },
    /** The call of a request, or of a message of its answer stream. */
    of: (message: object) => callOf.get(message),
    /** A request has reached the server. */
    arrived: (request: JSONRPCRequest) => relate(calls.get(request.id), request),
    /** `message` belongs to the answer stream of `request`. */
    related: (request: object, message: object) => relate(callOf.get(request), message),
    settled,
    cancelled,
    close,
  };
}
