import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { sessionEventIds } from "../streams/event-id.ts";
import type { Replica } from "../records/replica.ts";
import { outcomeUnknown } from "../streams/request-record.ts";
import type { LoggedRequests, RequestLog } from "../streams/request-log.ts";
import type { Answer } from "./server-link.ts";
import type { AnswerKind } from "./server-session.ts";
import type { StateHold } from "../state/state-eras.ts";
import type { ClientPost } from "./session-transport.ts";
import type { StoredSession } from "../records/stored-session.ts";
import type { Waker } from "../streams/waker.ts";

/** The requests of one POST, from when they are written down until all are settled. */
interface SessionCall {
  readonly logged: LoggedRequests;
  readonly hold: StateHold;
  /** Those that are not settled. */
  readonly open: Set<RequestId>;
  /** Lets go of the replica's lease. */
  readonly release: () => void;
  /** Some answer will not come, for which the transport would keep the stream open. */
  hasCancelled?: boolean;
}

interface SessionCallsOptions {
  readonly hash: string;
  readonly instance: string;
  readonly eventIds: Awaited<ReturnType<typeof sessionEventIds>>;
  readonly stored: StoredSession;
  readonly state: { hold(): StateHold; release(hold: StateHold): void };
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly answers: AnswerKind;
  readonly keptAnswers: number;
  readonly log: RequestLog;
  readonly replica: Replica;
  readonly waker: Waker;
}

/** The requests that are in flight in one live session. */
export interface SessionCalls {
  /** How many there are, those that are being written down included. */
  readonly count: number;
  /** Whether one is in flight. Those that are being written down are not, yet. */
  readonly isBusy: boolean;
  has(requestId: RequestId): boolean;
  /** `undefined` when a request with one of the ids is in flight. */
  open(post: ClientPost): Promise<SessionCall | undefined>;
  /** The transport refused the POST, so that its requests were not begun. */
  abandon(call: SessionCall): Promise<void>;
  /** The call that a request, or a message of its answer stream, is of. */
  of(message: object): SessionCall | undefined;
  /** A request has reached the server. */
  arrived(request: JSONRPCRequest): void;
  /** A message of the answer stream of a request. */
  related(request: object, message: object): void;
  settled(request: JSONRPCRequest): Promise<void>;
  /** The answer will not come; its HTTP request must end all the same. */
  cancelled(request: JSONRPCRequest): Promise<void>;
  /** Answers all of them, whose outcome nobody will know. */
  close(): Promise<void>;
}

export function createSessionCalls(options: SessionCallsOptions): SessionCalls {
  const { hash, instance, eventIds, stored, state, transport, answers, log } = options;
  const calls = new Map<RequestId, SessionCall>();
  const callOf = new WeakMap<object, SessionCall>();
  const answered: LoggedRequests[] = [];
  /** Requests that are being written down. */
  let opening = 0;

  function end(call: SessionCall): void {
    state.release(call.hold);
    call.release();
    if (calls.size === 0) options.waker.wake(instance);
  }

  async function open(post: ClientPost): Promise<SessionCall | undefined> {
    const [first, ...rest] = post.requests.map((request) => request.id);
    const ids = [first!, ...rest] as const;
    const release = await options.replica.hold();
    const owner = { eventIds, hash, owner: stored.record.owner, instance };
    const logged = await log.open(owner, ids).catch((error: unknown) => {
      release();
      throw error;
    });
    if (!logged) {
      release();
      return undefined;
    }
    const call: SessionCall = { logged, hold: state.hold(), open: new Set(ids), release };
    for (const id of ids) calls.set(id, call);
    return call;
  }

  return {
    get count() {
      return calls.size + opening;
    },
    get isBusy() {
      return calls.size > 0;
    },
    has: (requestId) => calls.has(requestId),
    open: async (post) => {
      opening += post.requests.length;
      return await open(post).finally(() => {
        opening -= post.requests.length;
      });
    },
    abandon: async (call) => {
      for (const id of call.open) calls.delete(id);
      end(call);
      await call.logged.discard().catch(() => {});
    },
    of: (message) => callOf.get(message),
    arrived: (request) => {
      const call = calls.get(request.id);
      if (call) callOf.set(request, call);
    },
    related: (request, message) => {
      const call = callOf.get(request);
      if (call) callOf.set(message, call);
    },
    settled: async (request) => {
      const call = callOf.get(request);
      if (!call) return;
      if (calls.get(request.id) === call) calls.delete(request.id);
      call.open.delete(request.id);
      if (call.open.size > 0) return;
      if (call.hasCancelled && answers === "sse") transport.closeSSEStream(request.id);
      end(call);
      if (answers === "json") return;
      answered.push(call.logged);
      if (answered.length > options.keptAnswers) await answered.shift()?.discard();
    },
    cancelled: async (request) => {
      const call = callOf.get(request);
      if (!call) return;
      call.hasCancelled = true;
      await call.logged.forget(request.id);
      if (answers === "sse") return;
      const error = { code: -32603, message: "The request was cancelled." };
      await transport.send({ jsonrpc: "2.0", id: request.id, error });
    },
    close: async () => {
      for (const [id, call] of calls) {
        const error = outcomeUnknown(id) as Answer;
        callOf.set(error, call);
        await transport.send(error).catch(() => {});
        if (answers === "json") await call.logged.forget(id).catch(() => {});
      }
      for (const call of new Set(calls.values())) end(call);
      calls.clear();
    },
  };
}
