import { isRecord } from "../../base/json-values.ts";
import { randomToken } from "../../base/random-token.ts";
import { textDigest } from "../../base/text-digest.ts";
import { notWaiting } from "../record/waiting-failure.ts";
import { tellWaiting, type WaitingContext } from "./waiting-context.ts";
import { waitingTypes } from "../record/waiting-call.ts";
import { goesOn, isHeld, over, shows, unclaims } from "../record/waiting-life.ts";
import { describeWaiting } from "../record/describe-waiting.ts";
import type { CallOfStep, ShownRound, WaitingRecord } from "../record/waiting-record.ts";
import type { StoredCall } from "../record/waiting-store.ts";

/**
 * What a call is told apart by, beside its agent session and principal. Applications name their tools as they like, so a
 * tool in which agents run has no connection, method and tool.
 */
export interface CallIdentity {
  readonly connection?: string | undefined;
  readonly method?: string | undefined;
  /** The name of the tool or prompt, or the resource's URI. */
  readonly tool?: string | undefined;
  /** As the caller gave it. */
  readonly input: unknown;
  /** The model's id of the call; `undefined` for a call that is made once. */
  readonly toolCallId?: string | undefined;
  /** The tool calls of agents around it, the root's first. @default none */
  readonly path?: WaitingRecord["path"] | undefined;
  /** What else tells the call apart, such as the task of a graph that runs again. @default nothing */
  readonly scope?: string | undefined;
}

/** Whether the same call, made again, can be recognized. */
export function isNamed({ toolCallId, scope }: CallIdentity): boolean {
  return toolCallId !== undefined || scope !== undefined;
}

/** The digest of what is called, and with what. The order of members does not matter. */
async function callDigest({
  method = "tools/call",
  tool = "",
  input,
}: Pick<CallIdentity, "method" | "tool" | "input">): Promise<string> {
  // A tool's schema may make other values of the model's, such as dates, and messages keep their JSON.
  const [json] = JSON.parse(JSON.stringify([input])) as [unknown];
  return await textDigest(JSON.stringify([method, tool, ordered(json)]));
}

/** Whether a call was made with an input. That may come from a browser, and nest too deep for any call. */
export async function hasInput(call: WaitingRecord, input: unknown): Promise<boolean> {
  const { method, tool } = describeWaiting(call);
  const of = call.type === "sub-agent" ? { input } : { method, tool, input };
  return (await callDigest(of).catch(() => undefined)) === call.digest;
}

/**
 * The id of a call's record. The same call, made again by a step that is run again, has the same id.
 *
 * @param turn models reuse their ids: counts the calls that are alike
 */
export async function callId(call: CallIdentity, turn = 0): Promise<string> {
  if (!isNamed(call)) return randomToken();
  const { connection = "", toolCallId = null, scope, path = [] } = call;
  const parts: unknown[] = [connection, toolCallId, await callDigest(call)];
  if (scope !== undefined) parts.push(scope);
  if (path.length > 0) parts.push(path.map((each) => each.toolCallId));
  const id = (await textDigest(JSON.stringify(parts))).slice(0, 32);
  return turn === 0 ? id : `${id}.${turn}`;
}

/** A JSON value with the members of its objects in order, because databases change it. */
export function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isRecord(value)) return value;
  const sorted: Record<string, unknown> = Object.create(null);
  for (const name of Object.keys(value).toSorted()) sorted[name] = ordered(value[name]);
  return sorted;
}

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

/** A call that begins, without the id under which it will be kept. */
export async function beginCall(
  { calls, limits, now }: WaitingContext,
  identity: CallIdentity,
  { url, request }: { readonly url: URL; readonly request: WaitingRecord["request"] },
): Promise<CallOfStep> {
  const { connection = "", toolCallId, path } = identity;
  const askedAt = now();
  const due = await calls.reference();
  return {
    ...{ version: 1, type: "stream", id: "", state: "waiting", connection, url: url.href },
    ...(toolCallId !== undefined && { toolCallId }),
    ...(path !== undefined && { path }),
    ...(due !== undefined && { due }),
    ...{ digest: await callDigest(identity), request, round: 0, leg: randomToken() },
    ...{ requests: {}, askedAt, expiresAt: askedAt + limits.maxAgeMs },
  };
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
    // It is over when what it waits for is.
    if (call.type === "sub-agent" || isHeld(call)) return undefined;
    const asksAgain = call.type === "question" && limits.onExpired === "ask-again";
    const isOver = call.expiresAt <= now() && (!asksAgain || call.held);
    // What its server does with a question that it keeps is unknown.
    return isOver ? over(call, call.held ? "outcome-unknown" : "expired") : undefined;
  }
  if (call.state !== "answering") return undefined;
  const signs = [call.claim?.at, await calls.lastUse(stored)];
  // A clock that is ahead gives no claim a longer life.
  const isAlive = signs.some((at) => at !== undefined && Math.abs(now() - at) <= claimMs);
  if (isAlive) return undefined;
  // Its server keeps it: whether it has the answers, a look tells.
  const { held, unsure } = call;
  if (held) return goesOn(call, { held, unsure, pollMs: 0 }, now());
  // One whose server might have kept it has nothing to wait for.
  const mayWait = waitingTypes[call.type].worker !== "server" && mayRunTwice(context, call);
  return mayWait ? unclaims(call) : over(call, "outcome-unknown");
}

export function mayRunTwice(
  { limits: { safeTools = [] } }: WaitingContext,
  { type, request }: WaitingRecord,
): boolean {
  // Its agents go on from their histories.
  if (type === "sub-agent") return true;
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
