import { type WaitingCall, type WaitingEntry, waitingCallOf } from "@durable-mcp/core/waiting";
import type { UIMessage } from "ai";
import { type ServerStateOptions, useServerState } from "./use-server-state.ts";

/** What waits, as a route of yours gives it. It may have more members. */
export interface WaitingState {
  /** The list that `sessions.waiting` resolves with. */
  readonly waiting: readonly WaitingEntry[];
  /**
   * Whether a process is making an answer. `interrupted`: it is gone; `failed`: the answer ended with an error. A route
   * that says none of them keeps no account of answers, and no message is sent to it twice.
   */
  readonly answering?: "no" | "yes" | "interrupted" | "failed" | undefined;
}

/** Where {@link useWaiting} looks, and how often. */
export interface WaitingOptions<STATE extends WaitingState> extends ServerStateOptions<STATE> {
  /** How often it looks while something waits or answers, and the page is seen, in milliseconds. @default 3_000 */
  readonly intervalMs?: number | undefined;
}

/** What waits for a person, or for a server. */
export interface Waiting<STATE> {
  /** What the route gave last; `undefined` until then. */
  readonly state: STATE | undefined;
  /** What a person has to do before the agent can go on: questions, and the sign-ins that calls wait for. */
  readonly blocking: readonly WaitingEntry[];
  /** The calls that their server works on, with the `status` and `statusMessage` of tasks. */
  readonly working: readonly WaitingCall[];
  /** Why the last look failed. The hook tries again. */
  readonly error: Error | undefined;
  /** Looks now, after an answer for example. Gives `undefined` if that fails. */
  readonly refresh: () => Promise<STATE | undefined>;
}

export const defaultIntervalMs = 3_000;

/**
 * Shows what waits, without a chat: {@link useDurableChat} has it all. It looks when the page is shown or gets the
 * focus, and at intervals while something waits, so that an answer of another tab shows here, too.
 */
export function useWaiting<STATE extends WaitingState = WaitingState>({
  intervalMs = defaultIntervalMs,
  ...options
}: WaitingOptions<STATE>): Waiting<STATE> {
  const { failure, ...found } = useServerState(options, (now) => everyMs(now, intervalMs));
  const error = failure?.error;
  return { ...found, ...openOf(found.state), error };
}

/** How often to look; `undefined`: not by itself. */
export function everyMs(state: WaitingState, intervalMs: number): number | undefined {
  // Another page or process is at it: this goes on in a moment.
  if (state.answering === "yes") return Math.min(1_000, intervalMs);
  const { blocking, working } = openOf(state);
  return blocking.length > 0 || working.length > 0 ? intervalMs : undefined;
}

/** A connection may want a sign-in that nothing waits for. */
export function openOf(
  state: WaitingState | undefined,
): Pick<Waiting<unknown>, "blocking" | "working"> {
  const waiting = state?.waiting ?? [];
  const blocking = waiting.filter((entry) =>
    entry.type === "sign-in"
      ? waiting.some(({ type, connection }) => {
          return type === "call-waits-for-sign-in" && connection === entry.connection;
        })
      : entry.type === "question",
  );
  const working = waiting.filter(
    (entry): entry is WaitingCall => entry.type === "task" || entry.type === "stream",
  );
  return { blocking, working };
}

/** The ids of calls that have a placeholder in the place of a result. */
export function placeholdersOf({ role, parts }: UIMessage): string[] {
  if (role !== "assistant") return [];
  return parts.flatMap((part) => {
    const call = "output" in part ? waitingCallOf(part.output) : undefined;
    return call ? [call.id] : [];
  });
}
