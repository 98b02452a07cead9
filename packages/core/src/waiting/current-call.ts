import { randomToken } from "../base/random-token.ts";
import { callDigest, callId, type CallIdentity } from "./call-id.ts";
import { notWaiting } from "./waiting-failure.ts";
import { tellWaiting, type WaitingContext } from "./waiting-context.ts";
import { type WaitingKind, waitingKinds } from "./waiting-call.ts";
import { over, shows, unclaims } from "./waiting-life.ts";
import type { ShownRound, WaitingRecord } from "./waiting-record.ts";
import type { StoredCall } from "./waiting-store.ts";

/** @throws {McpSessionError} `NOT_WAITING` for an unknown id */
export async function readCall(context: WaitingContext, id: string): Promise<StoredCall> {
  const stored = await context.calls.read(id);
  if (stored === undefined) throw notWaiting(undefined);
  return await upToDate(context, stored);
}

/** The id of a call, and what `look` finds there. Models give ids again: calls that are delivered are passed over. */
export async function findTurn<T extends StoredCall | undefined>(
  { calls }: WaitingContext,
  identity: CallIdentity,
  look: (id: string) => Promise<T>,
): Promise<{ readonly id: string; readonly stored: T }> {
  let first: StoredCall | undefined;
  for (let turn = 0; ;) {
    const id = await callId(identity, turn);
    const stored = await look(id);
    const { nextTurn = 1 } = (first ?? stored)?.call ?? {};
    if (!stored?.call.isDelivered) {
      // From now on the first leads here: a chat may have many.
      const next = first && turn > nextTurn && { ...first.call, nextTurn: turn };
      if (next) await calls.replace(first!, next).catch(() => undefined);
      return { id, stored };
    }
    turn = first === undefined ? nextTurn : turn + 1;
    first ??= stored;
  }
}

/** A call that begins to wait, without the id under which it will be kept. */
export async function beginCall(
  { limits, now }: WaitingContext,
  kind: WaitingKind,
  identity: CallIdentity,
  { url, request }: { readonly url: URL; readonly request: WaitingRecord["request"] },
): Promise<WaitingRecord> {
  const { connection, toolCallId } = identity;
  const askedAt = now();
  return {
    ...{ version: 1, kind, id: "", state: "waiting", connection, url: url.href },
    ...(toolCallId !== undefined && { toolCallId }),
    ...{ digest: await callDigest(identity), request, round: 0, leg: randomToken() },
    ...{ requests: {}, askedAt, expiresAt: askedAt + limits.maxAgeMs },
  };
}

/** Keeps a new call, and tells of it. @returns the stored one, or another process's in its place */
export async function createCall(context: WaitingContext, call: WaitingRecord) {
  const { calls } = context;
  const stored = await calls.create(call).catch(async (error: unknown) => {
    // The store may have taken it all the same. Then a person would answer a call that nobody waits for.
    const current = await calls.read(call.id).catch(() => undefined);
    if (current?.call.leg !== call.leg) throw error;
    return { ...current, call };
  });
  if (stored.call === call) await tellWaiting(context, call);
  return stored;
}

/**
 * The call as it is by now: without the claim of a process that is gone, for then nobody knows whether it sent its
 * leg, and expired if it has waited for too long.
 */
export async function upToDate(context: WaitingContext, stored: StoredCall): Promise<StoredCall> {
  const { calls } = context;
  const next = await overdue(context, stored);
  if (next === undefined) return stored;
  const replaced = await calls.replace(stored, next);
  if (replaced === undefined) return (await calls.read(next.id)) ?? stored;
  await tellWaiting(context, next, stored.call);
  return replaced;
}

/** The change of a call that time has made; `undefined` for none. */
async function overdue(
  context: WaitingContext,
  stored: StoredCall,
): Promise<WaitingRecord | undefined> {
  const { call } = stored;
  const { calls, claimMs, limits, now } = context;
  if (call.state === "waiting") {
    const asksAgain = waitingKinds[call.kind].takesAnswers && limits.onExpired === "ask-again";
    const isOver = call.expiresAt <= now() && !asksAgain;
    return isOver ? over(call, "expired") : undefined;
  }
  if (call.state !== "answering") return undefined;
  const signs = [call.claim?.at, await calls.lastUse(stored)];
  // A clock that is ahead gives no claim a longer life.
  const isAlive = signs.some((at) => at !== undefined && Math.abs(now() - at) <= claimMs);
  if (isAlive) return undefined;
  return mayRunTwice(context, call) ? unclaims(call) : over(call, "outcome-unknown");
}

export function mayRunTwice(
  { limits: { safeTools = [] } }: WaitingContext,
  { request }: WaitingRecord,
): boolean {
  return request.method !== "tools/call" || safeTools.includes(String(request.params["name"]));
}

/**
 * Notes that a graph shows the questions of a call in an interrupt, before it does. The graph's answers have no
 * other sign of the question that they are for.
 *
 * @throws {McpSessionError} `NOT_WAITING` if the call does not wait for an answer to this round; `STORE_FAILED`
 */
export async function showCall(
  { calls }: WaitingContext,
  id: string,
  shown: ShownRound,
): Promise<void> {
  for (;;) {
    const stored = await calls.read(id);
    const isOpen = stored?.call.state === "waiting" && stored.call.round === shown.round;
    if (!isOpen) throw notWaiting(stored?.call.state);
    if (stored.call.shown?.some((each) => each.place === shown.place)) return;
    if ((await calls.replace(stored, shows(stored.call, shown))) !== undefined) return;
  }
}
