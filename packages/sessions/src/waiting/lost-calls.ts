/** With `record: "first"`: calls of steps that have died, so that perhaps no conversation has them. */

import { sameJson, waitingResult } from "@durable-mcp/core/internal";
import type { WaitingResult } from "@durable-mcp/core/waiting";
import type { KeptCalls, StoredCall, WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { inParallel } from "../base/in-parallel.ts";
import type { CallPlace, Repeated } from "../connection/waiting-parts.ts";
import { ownField } from "../base/own-field.ts";
import { isOpen, loadWaiting, type StoredCalls } from "./stored-calls.ts";

export type LostCall = WaitingRecord & {
  readonly step: string;
  /** Whether it was made by an agent in a tool call that waits: that goes on from messages of its own. */
  readonly isBelow: boolean;
};

/** The ids of the tool calls that have a result in a conversation; `waiting` are those for which it is a placeholder. */
export interface ToldCalls {
  readonly results: ReadonlySet<unknown>;
  readonly waiting: ReadonlySet<unknown>;
}

/** The tool call ids that have a result in messages, or a placeholder. Messages come from browsers. */
export function resultsIn(messages: readonly unknown[]): ReadonlySet<unknown> {
  const parts = messages.flatMap((message) => [
    ownField(message, "content"),
    ownField(message, "parts"),
  ]);
  const results = parts.flat().filter((part) => {
    const isOfPage = String(ownField(part, "state")).startsWith("output-");
    return isOfPage || ownField(part, "type") === "tool-result";
  });
  return new Set(results.map((part) => ownField(part, "toolCallId")));
}

/** Finds those of a connection: one list of the store. @param told by the root agent's conversation */
export async function findLost(
  stored: StoredCalls,
  connection: string,
  told: ToldCalls,
): Promise<Set<LostCall>> {
  const calls = await stored.callsOf({ connection });
  const found = await inParallel(await calls.lost(), async ([step, id]): Promise<LostCall[]> => {
    const read = await calls.records.read(id);
    const isOfStep = read?.call.step === step && read.call.connection === connection;
    if (!isOfStep || read.call.isDelivered) return [];
    const { call } = await calls.upToDate(read);
    if (call.state === "answering") return [];
    const made = rootsOf(call);
    const isBelow = call.path !== undefined && made.some((each) => told.waiting.has(each));
    if (isBelow || !made.some((each) => told.results.has(each)))
      return [{ ...call, step, isBelow }];
    calls.forgetStep(step);
    return [];
  });
  return new Set(found.flat());
}

/** The ids of the root agent's calls that have a call, or have it below them. */
const rootsOf = ({ path, toolCallId, repeatedBy = [] }: WaitingRecord) => [
  path?.[0]?.toolCallId ?? toolCallId,
  ...repeatedBy,
];

/** Whether a call is one of the same agent, and is not told where another is made. */
function isLostAt(lost: LostCall, { path, messages = [] }: CallPlace): boolean {
  const names = [lost.path, path].map((each) => each?.map(({ toolName }) => toolName));
  if (!sameJson(...(names as [unknown, unknown]))) return false;
  if (!lost.isBelow) return true;
  const told = resultsIn(messages);
  const isTold = [lost.toolCallId, ...(lost.repeatedBy ?? [])].some((each) => told.has(each));
  return !isTold && rootsOf(lost).includes(path?.[0]?.toolCallId);
}

/**
 * Has a call of the model join one of these, which it repeats.
 *
 * @param lost each that is over is told once: a model that has its outcome may make the call again
 * @returns its placeholder, or its answer; `undefined` if it repeats none
 * @throws {McpSessionError} why there is no answer
 */
export async function joinLost(
  stored: StoredCalls,
  lost: Set<LostCall>,
  called: Readonly<Record<"connection" | "tool", string>> & { readonly input: unknown },
  place: CallPlace,
): Promise<Repeated | undefined> {
  if (lost.size === 0) return undefined;
  const { callId, hasInput, waitingFailure } = await loadWaiting();
  const scope = place.messages && `at ${place.messages.length}`;
  const again = await callId({ ...called, method: "tools/call", ...place, scope });
  // A step that is run again finds its own call by its id, with the answer.
  const isWanted = (each: LostCall) =>
    each.request.params["name"] === called.tool &&
    !each.id.startsWith(again) &&
    isLostAt(each, place);
  for (const each of [...lost].filter(isWanted)) {
    // Of two calls at once one joins it.
    if (!(await hasInput(each, called.input)) || !lost.delete(each)) continue;
    const found = await stored.read(each.id);
    if (found === undefined || found.call.isDelivered) continue;
    const calls = await stored.callsOf(found.call);
    calls.adopt(each.step);
    if (isOpen(found)) {
      lost.add(each);
      return await repeat(calls, found, place);
    }
    const { answer } = (await stored.look(found)).call;
    if (answer === undefined) throw waitingFailure(found.call);
    return { answer };
  }
  return undefined;
}

/** Notes that a call repeats an open one. @returns its placeholder */
async function repeat(
  calls: KeptCalls,
  found: StoredCall,
  { toolCallId, path = [] }: CallPlace,
): Promise<WaitingResult> {
  const { describeWaiting } = await loadWaiting();
  const ids = [toolCallId, ...path.slice(0, 1).map((root) => root.toolCallId)];
  for (
    let current: StoredCall | undefined = found;
    current;
    current = await calls.records.read(found.call.id)
  )
    if (await calls.noteRepeat(current, ...ids)) break;
  return waitingResult({ ...describeWaiting(found.call), toolCallId, repeats: true });
}
