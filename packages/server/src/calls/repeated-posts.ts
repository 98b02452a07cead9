import { setBounded, textDigest } from "@durable-mcp/core/internal";
import { outcomeUnknown } from "../base/json-rpc.ts";
import type { JSONRPCRequest, RequestId } from "../base/mcp-types.ts";
import type { Reply } from "../base/reply.ts";
import type { CallName } from "../streams/event-id.ts";
import { eventStreamAnswer } from "../streams/event-stream-answer.ts";
import { canPrime } from "../streams/priming.ts";
import { resumeCall } from "../streams/resume-call.ts";
import type { LiveContext } from "../context/handler-context.ts";
import type { PostCall } from "./posted-call.ts";

/** Ids that nobody counts up to: those of our session fetch, and UUIDs. */
const random = /^(?:[\da-f]{24}\.\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i;

/** So many of the newest POSTs of a session are known again. */
const maxKnown = 100;

interface Arrival {
  readonly digest: Promise<string>;
  /** Set when it has begun. */
  call?: PostCall | undefined;
}

/**
 * Knows a POST that comes again, byte for byte: some runtimes and proxies repeat one whose connection broke, and its
 * client knows nothing of it. Three clients that count their ids may mean three calls.
 */
export function createRepeatedPosts({ settings }: LiveContext) {
  const known = new Map<RequestId, Arrival>();
  let streams = 0;
  return {
    /** Notes a POST. @returns `undefined` if it may be meant as another; `earlier` is what came under its id before */
    arrive([request, ...more]: readonly JSONRPCRequest[], text: string) {
      if (!request || more.length > 0 || !random.test(String(request.id))) return undefined;
      const own: Arrival = { digest: textDigest(text) };
      const earlier = known.get(request.id);
      if (!earlier) setBounded(known, request.id, own, maxKnown);
      return { own, earlier };
    },
    /** The answer of what came before; `undefined` before it has begun, and for too many streams of one session. */
    async replyOf({ call }: Arrival): Promise<Reply | undefined> {
      if (!call || streams >= settings.limits.streamsPerSession) return undefined;
      streams += 1;
      return await call.repeat(() => (streams -= 1));
    },
  };
}

/** The answer to a repeated POST: all that is stored of its call, and what follows. */
export function repeatedAnswer(context: LiveContext, call: CallName, onEnd: () => void): Reply {
  const { stored, eventIds, sessionId, closed, emit } = context;
  const { owner, protocolVersion } = stored.record;
  const broken = { hash: stored.hash, owner, eventIds, call, place: 0 };
  return eventStreamAnswer({
    ...{ sessionId, timeouts: context.settings.timeouts, signal: closed, onEnd },
    resumedFrom: canPrime(protocolVersion) ? eventIds.of(call)(0) : undefined,
    parts: (signal) => resumeCall(context, broken, signal),
    onError: (error) => emit({ type: "failed", error }),
  });
}

/** The same where the answer is not kept. The call is not made again all the same. */
export function forgottenAnswer({ sessionId }: LiveContext, id: RequestId): Reply {
  const headers = { "Content-Type": "application/json", "Mcp-Session-Id": sessionId };
  return { status: 200, headers, body: JSON.stringify(outcomeUnknown(id)) };
}
