import { outcomeUnknown } from "../base/json-rpc.ts";
import type { Answer, JSONRPCMessage, JSONRPCRequest, RequestId } from "../base/mcp-types.ts";
import type { ClaimedCall } from "../records/stored-question.ts";
import type { CallLog } from "../streams/call-log.ts";
import type { LiveContext } from "../context/handler-context.ts";
import { createPostCall } from "./post-call.ts";
import type { PostCall, PostCallOptions } from "./posted-call.ts";
import type { RaisedQuestions } from "../asked/legacy-shim.ts";
import { endState, type RequestState } from "../context/request-state.ts";
import { runningCall } from "../context/running-call.ts";
import type { CallEffects } from "./settle-call.ts";

interface OpenRequest {
  readonly request: JSONRPCRequest;
  readonly call: PostCall;
  readonly state: RequestState;
  /** Its answer is being stored; it cannot be cancelled any more. */
  isAnswered?: boolean;
  /** What its handler asks its client, in place of an answer. */
  raised?: RaisedQuestions;
}

/** One POST with requests. */
export interface CallPost {
  readonly requests: readonly JSONRPCRequest[];
  readonly isBatch: boolean;
  /** One for each request. */
  readonly states: readonly RequestState[];
}

export interface SessionCallsOptions {
  /** The settings that a request changed. @throws {McpSessionError} when they cannot be kept */
  readonly editOf: (request: JSONRPCRequest, answer: Answer) => CallEffects["edit"];
  /** The first call runs, or the last has ended. */
  readonly onBusy: (isBusy: boolean) => void;
}

/** The requests that are in flight in one live session. */
export function createSessionCalls(context: LiveContext, { editOf, onBusy }: SessionCallsOptions) {
  const kept = createKeptAnswers(context.settings.events.maxAnswers);
  const open = createOpenRequests(onBusy);
  let begun = 0;

  return {
    count: open.count,
    has: (requestId: RequestId) => open.of(requestId) !== undefined,
    of: open.of,
    ...createEnds(open, editOf),
    /** Holds the call in whose handler code runs; `undefined` when it is over. */
    holdRunning: () => {
      const running = runningCall.getStore();
      const found = running && open.of(running.request.id);
      return found?.state === running?.state ? found?.call.hold() : undefined;
    },
    /** `undefined` when a request with one of the ids is in flight. */
    begin: ({ requests, isBatch, states }: CallPost): PostCall | undefined => {
      const ids = new Set(requests.map(({ id }) => id));
      if (ids.size < requests.length || requests.some(({ id }) => open.of(id))) return undefined;
      const call = createPostCall(context, { requests, isBatch, number: begun++, ...kept });
      for (const [index, request] of requests.entries()) {
        open.add({ request, call, state: states[index]! });
      }
      return call;
    },
    /**
     * A claimed call begins again. Its client's streams get what follows.
     * @returns whether it runs; not when another request of its client has its id here, so that it ends
     */
    repeat: (claimed: ClaimedCall, request: JSONRPCRequest, state: RequestState): boolean => {
      const post = { requests: [request], isBatch: false, claimed };
      const call = createPostCall(context, { ...post, number: begun++, ...kept });
      if (open.of(request.id)) {
        const message =
          "A request with this id is in flight. The call was not made again with its answers.";
        const error = { code: -32600, message };
        void call.answer(request, { jsonrpc: "2.0", id: request.id, error }, () => ({}));
        return false;
      }
      open.add({ request, call, state });
      return true;
    },
    roundsOf: async (requestId: RequestId) => await open.of(requestId)?.call.rounds(),
    raise: (requestId: RequestId, raised: RaisedQuestions): void => {
      const found = open.of(requestId);
      if (found) found.raised = raised;
    },
    /** @returns whether the message can go to the answer stream of a request */
    related: (requestId: RequestId, message: JSONRPCMessage): boolean => {
      const found = open.of(requestId);
      // After its answer nothing can follow there.
      if (!found || found.isAnswered || context.format === "json") return false;
      found.call.related(message);
      return true;
    },
  };
}

export type SessionCalls = ReturnType<typeof createSessionCalls>;

/** How a request ends: once, by the first of these. */
function createEnds(open: OpenRequests, editOf: SessionCallsOptions["editOf"]) {
  return {
    answer: async (requestId: RequestId, message: Answer): Promise<void> => {
      const found = open.of(requestId);
      // Cancelled meanwhile.
      if (!found || found.isAnswered) return;
      found.isAnswered = true;
      const { request, call, state, raised } = found;
      try {
        if (raised) await call.ask(request, raised, () => ({ state }));
        else await call.answer(request, message, () => ({ edit: editOf(request, message), state }));
      } finally {
        open.remove(found);
      }
    },
    cancel: (requestId: RequestId): void => {
      const found = open.of(requestId);
      if (!found || found.isAnswered) return;
      found.call.cancel(requestId);
      open.remove(found);
    },
    /** Those that were cancelled at another replica, after they began. */
    cancelledElsewhere: (cancelled: readonly { id: RequestId; change: number }[]): RequestId[] =>
      cancelled.flatMap(({ id, change }) => {
        const found = open.of(id);
        return found && change > found.call.change ? [id] : [];
      }),
    /** Answers each request with an unknown outcome. */
    close: async (): Promise<void> => {
      await Promise.all(
        open.all().map(async (found) => {
          if (found.isAnswered) return;
          found.isAnswered = true;
          const { request, call } = found;
          await call.answer(request, outcomeUnknown(request.id), () => ({}));
          open.remove(found);
        }),
      );
    },
  };
}

function createOpenRequests(onBusy: SessionCallsOptions["onBusy"]) {
  const open = new Map<RequestId, OpenRequest>();
  return {
    count: () => open.size,
    of: (requestId: RequestId) => open.get(requestId),
    all: () => [...open.values()],
    add: (request: OpenRequest): void => {
      if (open.size === 0) onBusy(true);
      open.set(request.request.id, request);
    },
    remove: ({ request, state }: OpenRequest): void => {
      if (!open.delete(request.id)) return;
      endState(state);
      if (open.size === 0) onBusy(false);
    },
  };
}

type OpenRequests = ReturnType<typeof createOpenRequests>;

/** The calls whose answers are kept, the oldest first. */
function createKeptAnswers(maxAnswers: number): Pick<PostCallOptions, "keep" | "spare"> {
  const answered: CallLog[] = [];
  return {
    keep: (log) => {
      answered.push(log);
      // Some at once: to delete one with each answer costs a store about as much as the answer.
      return answered.length > maxAnswers * 1.5
        ? answered.splice(0, answered.length - maxAnswers)
        : [];
    },
    spare: (log) => {
      const oldest = answered.shift();
      return oldest === log ? undefined : oldest;
    },
  };
}
