import type { UIMessage } from "ai";
import { type DurableChatState, has, type Moment, type Page, type Step } from "./page-state.ts";
import { type Failure, silence } from "./retry.ts";
import { contentOf, reasonOf, settle } from "./settle-page.ts";

/** What happens to a page. */
export type PageEvent<MESSAGE extends UIMessage = UIMessage> =
  /** A POST goes out, with a message that the server does not have, or to go on. */
  | { readonly type: "posted"; readonly message: MESSAGE | undefined }
  /** A POST has ended; `chunks`: how many parts of an answer it has brought. */
  | { readonly type: "ended"; readonly failure: Failure | undefined; readonly chunks: number }
  /** A read; `chunks`: how many parts of an answer have come since the one before. */
  | { readonly type: "found"; readonly state: DurableChatState<MESSAGE>; readonly chunks: number }
  | { readonly type: "missed"; readonly chunks: number }
  | { readonly type: "due" | "online" }
  /** A person wants it tried again, given up, or forgotten. */
  | { readonly type: "told" | "stopped" | "cleared" };

/** How long a POST may be on its way without a sign of it: the route notes first that it answers. */
const patienceMs = 8_000;

/** A page as it begins. */
export function openPage<MESSAGE extends UIMessage>(
  state: DurableChatState<MESSAGE> | undefined,
  moment: Moment,
): Page<MESSAGE> {
  const page = { at: "loading" as const, attempts: 0, looks: 0, doubts: 0, postedAt: 0 };
  return state ? step(page, { type: "found", state, chunks: 0 }, moment)[0] : page;
}

/** What becomes of a page, and what it does. */
export function step<MESSAGE extends UIMessage>(
  page: Page<MESSAGE>,
  event: PageEvent<MESSAGE>,
  moment: Moment,
): Step<MESSAGE> {
  const { at } = page;
  switch (event.type) {
    case "posted":
      return [post(page, event.message, moment), []];
    case "ended": {
      if (at !== "posting") return [page, []];
      const { failure, chunks } = event;
      const unsent = chunks > 0 ? undefined : page.unsent;
      const isWhole = chunks > 0 && !failure;
      return [{ ...page, at: "checking", failure, unsent, isWhole, doubts: 0 }, ["look"]];
    }
    case "found":
      return found(page, event, moment);
    case "missed": {
      if (at !== "posting") return [page, []];
      const next = { ...page, doubts: event.chunks > 0 ? 0 : page.doubts + 1 };
      // It may be as lost as the reads. The server makes the answer to its end.
      return next.doubts < 2 ? [next, []] : [leave(next), ["leave"]];
    }
    case "due":
      if (page.dueAt === undefined) return [page, []];
      // Behind a proxy that takes turns, a POST after each look would be for the same process, which may be frozen.
      return [post(page, page.unsent, moment), ["look", "post"]];
    case "online":
      return [online(page, moment), []];
    case "told":
      if (at !== "failed" && at !== "pausing" && !isOwed(page)) return [page, ["look"]];
      return [{ ...post(page, page.unsent, moment), attempts: 0 }, ["post"]];
    case "stopped": {
      if (at === "posting") return [{ ...page, unsent: undefined }, []];
      if (at !== "pausing") return [page, []];
      const { failure = { error: new Error("Stopped."), isPassing: false } } = page;
      return [{ ...page, at: "failed", failure, dueAt: undefined }, []];
    }
    default:
      if (at !== "failed") return [page, []];
      return [{ ...page, at: "ready", unsent: undefined, failure: undefined }, []];
  }
}

/** A route that keeps no account of answers does not say that there is none. */
function isOwed({ at, state }: Page): boolean {
  return at === "ready" && state?.messages.at(-1)?.role === "user";
}

/** A POST that nobody has taken has perhaps not arrived. */
function leave<MESSAGE extends UIMessage>(page: Page<MESSAGE>): Page<MESSAGE> {
  const failure = page.isTaken ? undefined : { error: new Error(silence), isPassing: true };
  return { ...page, at: "checking", failure, doubts: 0 };
}

/** What was tried without a network does not count. */
function online<MESSAGE extends UIMessage>(page: Page<MESSAGE>, { now }: Moment): Page<MESSAGE> {
  return { ...page, attempts: 0, dueAt: page.at === "pausing" ? now : page.dueAt };
}

function post<MESSAGE extends UIMessage>(
  page: Page<MESSAGE>,
  unsent: MESSAGE | undefined,
  { now }: Moment,
): Page<MESSAGE> {
  const isNew = unsent !== undefined && unsent.id !== page.unsent?.id;
  return {
    ...{ ...page, at: "posting", unsent, failure: undefined, doubts: 0, dueAt: undefined },
    ...{ attempts: isNew ? 0 : page.attempts, postedAt: now, isTaken: false, isWhole: false },
    wentOnFor: page.state && reasonOf(page.state),
  };
}

type Found<MESSAGE extends UIMessage> = Extract<PageEvent<MESSAGE>, { type: "found" }>;

function found<MESSAGE extends UIMessage>(
  page: Page<MESSAGE>,
  { state, chunks }: Found<MESSAGE>,
  moment: Moment,
): Step<MESSAGE> {
  const { at, doubts, state: before } = page;
  const { answering } = state;
  const next = { ...page, state };
  if (at === "posting") {
    const isTaken = page.isTaken || chunks > 0 || answering === "yes";
    const isLate = moment.now - page.postedAt > patienceMs;
    const isPossible = answering === "yes" || answering === undefined;
    const isOpen = chunks > 0 || isPossible || !(isTaken || isLate);
    // The stream of a process that is gone may stay open, behind a proxy for example.
    if (!isOpen && doubts > 0) {
      const [settled, effects] = settle(leave({ ...next, isTaken }), state, moment);
      return [settled, ["leave", ...effects]];
    }
    const unsent = chunks > 0 ? undefined : page.unsent;
    return [{ ...next, isTaken, unsent, doubts: isOpen ? 0 : 1 }, []];
  }
  // What was given up is not sent because something else happens.
  const isHeld = at === "failed" && page.unsent !== undefined && !has(state, page.unsent);
  const isNew = before?.answering !== answering || contentOf(before) !== contentOf(state);
  const isOpen = at === "loading" || at === "checking" || (isNew && !isHeld);
  if (isOpen) return settle(next, state, moment);
  return state === before ? [page, []] : [next, ["show"]];
}

/** What a page shows, if it has shown `local` so far. */
export function shownMessages<MESSAGE extends UIMessage>(
  { at, state, unsent }: Page<MESSAGE>,
  local: readonly MESSAGE[],
): MESSAGE[] {
  const messages = state?.messages ?? [];
  if (unsent) return [...messages, unsent];
  // An answer that broke off stays as far as it came: the server has it after the step.
  const part = local.at(-1);
  const isPart = at === "following" && part?.role === "assistant";
  const isAlone = messages.at(-1)?.role === "user" && !has({ messages }, part);
  return isPart && isAlone ? [...messages, part] : messages;
}
