import type { UIMessage } from "ai";
import { type DurableChatState, has, type Moment, type Page, type Step } from "./page-state.ts";
import { pauseMs } from "./retry.ts";
import { blockingOf, placeholdersOf, workingOf } from "./use-waiting.ts";

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
  const fail = (error: Error) => to({ at: "failed", failure: { error, isPassing: false } });
  const tryAgain = (error: Error) => {
    const triedWith = contentOf(state);
    const attempts = triedWith === page.triedWith ? page.attempts + 1 : 1;
    if (attempts > maxAttempts) return fail(error);
    const isFirst = failure === undefined && unsent === undefined && attempts === 1;
    const reason = isFirst ? undefined : { error, isPassing: true };
    const dueAt = isFirst ? now : now + pauseMs(attempts, random);
    return to({ at: "pausing", failure: reason, attempts, triedWith, dueAt });
  };

  if (answering === "yes") return to({ at: "following" });
  if (failure?.isPassing === false) return fail(failure.error);
  if (unsent) {
    const { error } = failure ?? { error: new Error("The message was not sent yet.") };
    // A route that keeps no account of answers may take a message twice.
    return answering === undefined ? fail(error) : tryAgain(error);
  }
  if (answering === "interrupted") return tryAgain(new Error("The process that answered is gone."));
  if (answering === "failed") return fail(new Error("The answer broke off with an error."));
  if (answering === "no" && messages.at(-1)?.role === "user") {
    if (failure) return tryAgain(failure.error);
    // It may have been said between two looks of the server itself.
    if (page.doubts === 0) return to({ at: "checking", doubts: 1 });
    return fail(new Error("The last message has no answer."));
  }
  const dueAt = dueAtOf(state);
  if (dueAt === undefined) return to({ at: "ready", attempts: 0 });
  if (failure) return tryAgain(failure.error);
  const isLook = workingOf(state.waiting).length > 0;
  // A look that came too early, by this browser's clock, is made again.
  const isNew = isLook || page.wentOnFor !== reasonOf(state);
  const at = dueAt === 0 ? now : Math.max(now + 1_000, dueAt);
  return to({ at: "ready", attempts: 0, dueAt: isNew ? at : undefined });
}

/** When the agent may go on: 0 at once, `undefined` not yet. */
function dueAtOf({ messages, waiting }: DurableChatState): number | undefined {
  const isFree = blockingOf(waiting).length === 0;
  if (!isFree || messages.flatMap(placeholdersOf).length === 0) return undefined;
  const working = workingOf(waiting);
  return working.length > 0 ? Math.min(...working.map(({ pollAfter = 1 }) => pollAfter)) : 0;
}

/** What the agent goes on for, once. */
export function reasonOf({ messages, waiting }: DurableChatState): string {
  return JSON.stringify([messages.flatMap(placeholdersOf), waiting]);
}

/** What is new in a chat changes it. */
export function contentOf(state: DurableChatState | undefined): string {
  const last = state?.messages.at(-1);
  return JSON.stringify([state?.messages.length, last?.id, last?.parts.length, state?.waiting]);
}
