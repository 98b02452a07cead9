import type { Principal } from "@durable-mcp/core";
import type {
  AnsweredCall,
  InputResponses,
  WaitingCall,
  WaitingEntry,
  WaitingEvent,
} from "@durable-mcp/core/waiting";
import type { StoredCall, WaitingRecord } from "@durable-mcp/core/waiting/internal";
import { checkOptions, optionalOptions } from "../base/check-options.ts";
import { waitingLimits } from "../declare/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { clientConnections, type Connections, findDeclared } from "../declare/mcp-connection.ts";
import { inParallel } from "../base/in-parallel.ts";
import { pendingSignIns } from "./sign-in.ts";
import {
  createStoredCalls,
  isListed,
  isOpen,
  loadWaiting,
  type StoredCalls,
} from "./stored-calls.ts";
import type { WaitingSource } from "./waiting-source.ts";
import type { NewsEntry } from "./watches.ts";

/** The calls of an agent session that wait, for one principal. */
export interface RunWaiting {
  /**
   * First the connections whose user has to sign in: they have no `id`. Then the calls that wait or are being
   * answered, in the order in which they began to wait. Sends nothing.
   *
   * @throws {McpSessionError} `STORE_FAILED`, or the error of `auth.authorizationFor`
   */
  list(): Promise<WaitingEntry[]>;
  /**
   * One call, whatever its state; `undefined` for an unknown id. If it is settled, with the server's `result` or
   * `error`: for calls that no conversation waits for, such as those of `run.call`.
   */
  find(id: string): Promise<AnsweredCall | undefined>;
  /**
   * Answers the questions of a call: claims it, and sends one request, as `answer` of durable sessions does.
   *
   * @param responses an answer for each question, under the server's keys
   * @returns the call: `waiting` if the server asks more, `settled`, `expired` or `outcome-unknown`
   * @throws {McpSessionError} `INPUT_INVALID`, naming the field, and `NOT_WAITING`, also for a call that takes no
   *   answer: nothing was sent. `CONNECTION_UNAVAILABLE`, or the code that says why: the server did not take the
   *   answers, and the questions still wait. `STORE_FAILED`; `CONNECTION_INVALID` if the connection has no `waiting` any
   *   more, or another URL
   */
  answer(id: string, responses: InputResponses, options?: AnswerOptions): Promise<WaitingCall>;
  /**
   * Looks at each call that is due, as `check` of durable sessions: a task, or a stream that can be resumed.
   *
   * @returns the calls that were looked at, as they are then
   * @throws {McpSessionError} `STORE_FAILED`
   */
  check(options?: { readonly abortSignal?: AbortSignal | undefined }): Promise<WaitingCall[]>;
  /**
   * Takes a call back. A server that keeps it, as a task or a stream, is asked to stop, best effort.
   *
   * @throws {McpSessionError} `NOT_WAITING` for a call that is being answered, or is over
   */
  withdraw(id: string): Promise<WaitingCall>;
  /**
   * What the watches of the agent session have found (`watch` of the run), in the order in which it was found: each
   * entry once in a step. When the step comes to its end it has taken them; one that fails has not, and the next one
   * gets them again.
   *
   * @throws {McpSessionError} `STORE_FAILED`
   */
  news(): Promise<NewsEntry[]>;
}

/** Options of `answer`. */
export interface AnswerOptions {
  /** The round that the answers are for, so that they never answer a later question. @default any */
  readonly round?: number | undefined;
  /** Stops waiting for the server's answer. The outcome is unknown then. */
  readonly abortSignal?: AbortSignal | undefined;
}

export const answerFields = { round: [1], abortSignal: "abortSignal" } as const;
const answerSchema = optionalOptions(answerFields);
const checkSchema = optionalOptions({ abortSignal: "abortSignal" });

/** The uses of waiting calls that a step and those outside of one have. */
export interface WaitingUses extends Pick<RunWaiting, "list" | "answer" | "check" | "withdraw"> {
  /** Looks at one call. @returns its record as it is then, and whether it was over before; `undefined` for an unknown id */
  checkOne(
    id: string,
    use: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<{ readonly call: WaitingRecord; readonly wasOver: boolean } | undefined>;
  /** Asks the server of a call to stop, if it keeps it. Best effort. */
  cancel(call: WaitingRecord): Promise<void>;
}

export interface WaitingParts {
  readonly declared: Readonly<Connections>;
  readonly principal: Principal | undefined;
  /** Where calls wait; `undefined` if none can. */
  readonly source: WaitingSource | undefined;
  readonly emit: (connection: string, event: WaitingEvent) => void;
  /** Finds a connection for an answer; `undefined` if it is not declared any more. */
  readonly find: (name: string) => Pick<LiveConnection, "pausing" | "signIn"> | undefined;
  readonly now: () => number;
}

/** The one implementation of what a step, durable sessions and a carried state do with waiting calls. */
export function createWaitingUses(parts: WaitingParts): WaitingUses & { stored?: StoredCalls } {
  const { declared, principal, source, find, ...others } = parts;
  const definitions = clientConnections(declared);
  const limitsOf = (name: string) => waitingLimits(findDeclared(definitions, name)?.options ?? {});
  const pausingOf = (name: string) => find(name)?.pausing;
  const of = { ...others, principal, limitsOf, pausingOf };
  const stored = source && createStoredCalls({ ...of, source });
  const read = async (id: string): Promise<StoredCall> => {
    const found = await stored?.read(id);
    if (found !== undefined) return found;
    const { notWaiting } = await loadWaiting();
    throw notWaiting(undefined);
  };
  return {
    ...(stored && { stored }),
    async list() {
      const signIns = pendingSignIns(declared, principal, source?.sessionId);
      const [pending, calls] = await Promise.all([signIns, stored?.list()]);
      return [...pending, ...(calls ?? [])];
    },
    async answer(id, responses, options = {}) {
      const { round, abortSignal: signal } = checkOptions(answerSchema, options);
      const { describeWaiting, notAsked, notPausing } = await loadWaiting();
      const { call } = await read(id);
      const { pausing, signIn } = find(call.connection) ?? {};
      if (call.type === "call-waits-for-sign-in" && isOpen({ call }))
        throw notAsked(call, (await signIn?.pending())?.startUrl);
      if (pausing === undefined) throw notPausing(call);
      return describeWaiting(await pausing.answer(call, responses, { round, signal }));
    },
    async checkOne(id, { abortSignal: signal }) {
      const open = await stored?.read(id, isListed);
      if (open) return { wasOver: false, call: (await stored!.look(open, signal)).call };
      const over = await stored?.read(id);
      return over && { wasOver: true, call: over.call };
    },
    async cancel(call) {
      await (await find(call.connection)?.pausing?.callsOf(call))?.cancel(call);
    },
    async check(options = {}) {
      const { abortSignal: signal } = checkOptions(checkSchema, options);
      const { describeWaiting } = await loadWaiting();
      return await inParallel((await stored?.due()) ?? [], async (due) =>
        describeWaiting((await stored!.look(due, signal)).call),
      );
    },
    async withdraw(id) {
      const { describeWaiting } = await loadWaiting();
      await read(id);
      return describeWaiting(await stored!.withdraw(id));
    },
  };
}
