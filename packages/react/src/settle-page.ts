import type { WaitingEntry } from "@durable-mcp/core/waiting";
import type { UIMessage } from "ai";
import { type DurableChatState, has, type Moment, type Page, type Step } from "./page-state.ts";
import { pauseMs } from "./retry.ts";
import { openOf, placeholdersOf } from "./use-waiting.ts";

/** In a row, without anything new in the chat. */
const maxAttempts = 5;

/** What a page is at, by what the server says. */
export function settle<MESSAGE extends UIMessage>(
  page: Page<MESSAGE>,
  state: DurableChatState<MESSAGE>,
  { now, random }: Moment,
): Step<MESSAGE> {
  const { messages, answering } = state;
  const unsent = page.unsent && !has(state, page.unsent) ? page.unsent : undefined;
  const failure = page.at === "checking" ? page.failure : undefined;
  const calm = { ...page, unsent, failure: undefined, doubts: 0, dueAt: undefined };
  const to = (next: Partial<Page<MESSAGE>>): Step<MESSAGE> => [{ ...calm, ...next }, ["show"]];
  const fail = (text?: string) =>
    to({ at: "failed", failure: { error: failure?.error ?? new Error(text), isPassing: false } });
  const tryAgain = (text?: string) => {
    const triedWith = contentOf(state);
    const attempts = triedWith === page.triedWith ? page.attempts + 1 : 1;
    if (attempts > maxAttempts) return fail(text);
    const isFirst = failure === undefined && unsent === undefined && attempts === 1;
    const dueAt = isFirst ? now : now + pauseMs(attempts, random);
    // That a process is gone, or that a message has to wait, is no error.
    return to({ at: "pausing", failure, attempts, triedWith, dueAt });
  };

  if (answering === "yes") return to({ at: "following" });
  if (failure?.isPassing === false) return fail();
  // A route that keeps no account of answers may take a message twice.
  if (unsent) return (answering === undefined ? fail : tryAgain)("The message was not sent.");
  if (answering === "interrupted") return tryAgain("The answer broke off.");
  if (answering === "failed") return fail("The answer broke off.");
  if (answering === "no" && messages.at(-1)?.role === "user") {
    if (failure) return tryAgain();
    // It may have been said between two looks of the server itself.
    if (page.doubts === 0) return to({ at: "checking", doubts: 1 });
    return fail("There is no answer.");
  }
  const dueAt = dueAtOf(state);
  // What its user has said of a call is lost.
  if (failure && messages.at(-1)?.parts.some(needsApproval)) return fail();
  if (dueAt === undefined) return to({ at: "ready", attempts: 0 });
  if (failure) return tryAgain();
  const isNew = page.wentOnFor !== reasonOf(state);
  if (dueAt === 0) return to({ at: "ready", attempts: 0, dueAt: isNew ? now : undefined });
  // A look at a server's work that has found nothing is made again: it came too early, or another process looks.
  const looks = isNew ? 1 : page.looks + 1;
  const soonest = now + pauseMs(looks, 1);
  return to({ at: "ready", attempts: 0, looks, dueAt: Math.max(soonest, dueAt) });
}

const needsApproval = ({ state }: { type: string; state?: string }) =>
  state === "approval-requested";

/** When the agent may go on: 0 at once, `undefined` not yet. */
function dueAtOf(state: DurableChatState): number | undefined {
  const { blocking, working } = openOf(state);
  if (blocking.length > 0 || state.messages.flatMap(placeholdersOf).length === 0) return undefined;
  return working.length > 0 ? Math.min(...working.map(({ pollAfter = 1 }) => pollAfter)) : 0;
}

/** What the agent goes on for, once. */
export function reasonOf({ messages, waiting }: DurableChatState): string {
  return JSON.stringify([messages.flatMap(placeholdersOf), waiting.filter(isCall)]);
}

/** What is new in a chat changes it. */
export function contentOf(state: DurableChatState | undefined): string {
  const last = state?.messages.at(-1);
  const calls = state?.waiting.filter(isCall);
  return JSON.stringify([state?.messages.length, last?.id, last?.parts.length, calls]);
}

/** That a worker has looked at a watch is nothing new. */
const isCall = ({ type }: WaitingEntry) => type !== "watch";
