import type { Principal, SessionStore } from "@durable-mcp/core";
import { invalidOption } from "@durable-mcp/core/internal";
import type { OpenWork } from "../base/open-work.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { Tell } from "../events/step-events.ts";
import { chatPrefix, chatRecordsOwner } from "../records/chat-records.ts";
import type { RunInternals } from "../run/run-internals.ts";
import type { StateStore } from "../records/state-store.ts";
import type { WaitingSource } from "../waiting/waiting-source.ts";
import type { ProviderInternals } from "./provider-internals.ts";

/** The context of all uses of sessions in a store, or in a state. */
export interface SessionsContext {
  readonly provider: ProviderInternals<any>;
  /** All its operations settle in bounded time. */
  readonly store: SessionStore;
  /** The store, if it is a state that the application carries. */
  readonly carried?: StateStore | undefined;
  /** `null` for sessions that agents share. */
  readonly agent: string | null;
  /** Separates a pool's processes for this store from those for others. */
  readonly namespace: number;
  readonly touchIntervalMs: number;
  /** A session that was used within this time may be in use, in a process whose clock is behind. */
  readonly maybeInUseMs: number;
  readonly tell: Tell;
  readonly now: () => number;
  readonly work: OpenWork;
  /** Calls `use` in a run of its own on an agent session. Not there for a state. */
  readonly inRun?:
    | (<T>(
        sessionId: string,
        use: { readonly principal: Principal; readonly abortSignal?: AbortSignal | undefined },
        inside: (run: RunInternals) => Promise<T>,
      ) => Promise<T>)
    | undefined;
}

/** By durable sessions. */
export const sessionsContexts = new WeakMap<object, SessionsContext>();

/** The chats of an agent, in the store of its sessions. */
export interface ChatsContext extends Pick<SessionsContext, "store" | "now"> {
  /** The start of a chat's keys, and the owner of its records. */
  readonly chatOf: (
    sessionId: string,
    principal: Principal,
  ) => Promise<{ readonly prefix: string; readonly owner: string }>;
}

/**
 * The chats of durable sessions.
 *
 * @param option what has them
 * @param maker what makes that
 * @throws {McpSessionError} `CONNECTION_INVALID` for what are no durable sessions
 */
export function chatsContextOf(sessions: object, option: string, maker: string): ChatsContext {
  const found = sessionsContexts.get(sessions);
  const fix = `must come from ${maker}, and of this copy of @durable-mcp/sessions`;
  if (found === undefined) throw invalidOption(option, fix);
  const { store, now, agent } = found;
  return {
    ...{ store, now },
    chatOf: async (sessionId, principal) => ({
      prefix: await chatPrefix({ agent, sessionId, principal }),
      owner: chatRecordsOwner(principal),
    }),
  };
}

/** The context of one step of an agent session. */
export interface StepContext extends SessionsContext {
  readonly sessionId: string;
  readonly emit: (event: ConnectionEvent) => void;
  /** Ends the step, and its waits for the store before its end. */
  readonly abortSignal: AbortSignal | undefined;
  /** When the calls of the step have to be left, in milliseconds since 1970-01-01 UTC. @default never */
  readonly leaveAt?: number | undefined;
}

/** What a slot in a store needs of the step, or of the fetch, that uses it. */
export type SlotContext = Pick<
  StepContext,
  | ("store" | "carried" | "agent" | "sessionId" | "touchIntervalMs")
  | ("emit" | "now" | "abortSignal")
> & { readonly provider: Pick<ProviderInternals<any>, "declaredFor"> };

/** The most that a step keeps for its end, in milliseconds. */
const maxMarginMs = 5_000;

/** When a step leaves its calls, so that it can keep them before its process is stopped. */
export function leaveBefore(endsAt: Date | number | undefined, now: number): number | undefined {
  if (endsAt === undefined) return undefined;
  const end = Number(endsAt);
  return end - Math.min(maxMarginMs, Math.max(0, end - now) / 10);
}

/** Where the waiting calls of an agent session are. Only the application can claim a leg for a state. */
export function waitingSource({
  provider: { claim, closeTimeoutMs },
  ...context
}: Pick<
  StepContext,
  "provider" | "store" | "carried" | "agent" | "sessionId" | "leaveAt"
>): WaitingSource {
  const { store, carried, agent, sessionId, leaveAt } = context;
  const isCarried = carried !== undefined;
  const claimLeg = carried && claim;
  return { store, agent, sessionId, isCarried, leaveAt, closeTimeoutMs, claimLeg };
}
