/** With `record: "first"`: calls of steps that have died, so that perhaps no conversation has them. */

import { waitingResult } from "@durable-mcp/core/internal";
import type { WaitingResult } from "@durable-mcp/core/waiting";
import type { StoredCall } from "@durable-mcp/core/waiting/internal";
import { inParallel } from "../base/in-parallel.ts";
import type { Repeated } from "../connection/waiting-parts.ts";
import { ownField } from "../base/own-field.ts";
import { type CallIdentity, isOpen, loadWaiting, type StoredCalls } from "./stored-calls.ts";

export interface LostCall {
  readonly id: string;
  readonly step: string;
  readonly digest: string;
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

/** Finds those of a connection: one list of the store. @param told the ids whose results the conversation has */
export async function findLost(
  stored: StoredCalls,
  connection: string,
  told: ReadonlySet<unknown>,
): Promise<Set<LostCall>> {
  const { upToDate } = await loadWaiting();
  const { calls, now, atEnd } = await stored.contextOf({ connection });
  const found = await inParallel(
    [...((await calls.steps?.idle(now())) ?? [])],
    async ([step, id]): Promise<LostCall[]> => {
      const read = await calls.read(id);
      const isOfStep = read?.call.step === step && read.call.connection === connection;
      if (!isOfStep || read.call.isDelivered) return [];
      const { call } = await upToDate(await stored.contextOf(read.call), read);
      if (call.state === "answering") return [];
      const { toolCallId, repeatedBy = [], digest } = call;
      const isTold = [toolCallId, ...repeatedBy].some((each) => told.has(each));
      if (!isTold) return [{ id, step, digest }];
      atEnd?.(async (isDone) => (isDone ? await calls.steps?.end(step) : undefined));
      return [];
    },
  );
  return new Set(found.flat());
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
  isWanted: (each: LostCall) => boolean,
  identity: CallIdentity,
  toolCallId: string,
): Promise<Repeated | undefined> {
  const { hasDigest, markUntilEnd, waitingFailure } = await loadWaiting();
  for (const each of [...lost].filter(isWanted)) {
    // Of two calls at once one joins it.
    if (!(await hasDigest(identity, each.digest)) || !lost.delete(each)) continue;
    const found = await stored.read(each.id);
    if (found === undefined || found.call.isDelivered) continue;
    markUntilEnd(await stored.contextOf(found.call), each.step, () => true);
    if (isOpen(found)) {
      lost.add(each);
      return await repeat(stored, found, toolCallId);
    }
    const { answer } = (await stored.look(found)).call;
    if (answer === undefined) throw waitingFailure(found.call);
    return { answer };
  }
  return undefined;
}

/** Notes that a call repeats an open one. @returns its placeholder */
async function repeat(
  stored: StoredCalls,
  found: StoredCall,
  toolCallId: string,
): Promise<WaitingResult> {
  const { describeWaiting, isRepeated } = await loadWaiting();
  const { calls } = await stored.contextOf(found.call);
  for (
    let current: StoredCall | undefined = found;
    current;
    current = await calls.read(found.call.id)
  )
    if (await calls.replace(current, isRepeated(current.call, toolCallId))) break;
  return waitingResult({ ...describeWaiting(found.call), toolCallId, repeats: true });
}
