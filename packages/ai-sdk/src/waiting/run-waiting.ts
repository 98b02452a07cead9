import type { Principal } from "@durable-mcp/core";
import type {
  AnsweredCall,
  InputResponses,
  WaitingCall,
  WaitingEntry,
  WaitingEvent,
} from "@durable-mcp/core/waiting";
import type { StoredCall, WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { ToolSet } from "ai";
import { abortSignal, checkOptions, optionalOptions, wholeNumber } from "../base/check-options.ts";
import { waitingLimits } from "../connection/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { clientConnections, type Connections, findDeclared } from "../connection/mcp-connection.ts";
import { inParallel } from "../base/in-parallel.ts";
import { pendingSignIns } from "./sign-in.ts";
import type { WhileWaiting } from "./stop-when-waiting.ts";
import {
  createStoredCalls,
  isListed,
  isOpen,
  loadWaiting,
  type StoredCalls,
} from "./stored-calls.ts";
import type { WaitingSource } from "./waiting-source.ts";

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
   * Puts the results of calls that are over in the places of their placeholders, in model messages or UI
   * messages. A call that has waited for a sign-in is carried out when the user has signed in, at most once. Its server
   * is asked for one that it keeps, as a task or a stream, if it is due. Otherwise it sends nothing but, on first use of
   * a connection, its handshake.
   *
   * A place whose call is not kept any more gets an error, and so does one that names another tool or other arguments
   * than the call: messages come from browsers. A tool in which an agent runs is executed again when the agent's call
   * has its result.
   *
   * @param messages with placeholders of 1,000 calls at most
   * @param options.tools all tools of the step. They make of the server's answer what `execute` would have made.
   *   Without its tool, such as that of a connection that is down, a call has the content of the server's answer
   * @param options.whileWaiting what happens when the user writes while a call waits. `"reply"`, the default: the model
   *   answers, with the placeholder in its messages. `"hold"`: it is not called. `"withdraw"`: the call is taken back first
   * @throws {McpSessionError} `CONNECTION_INVALID` for what is no list, and for more calls; `STORE_FAILED`; the error of
   *   `approval`
   */
  resume<MESSAGE, TOOLS extends ToolSet = ToolSet>(
    messages: readonly MESSAGE[],
    options: { readonly tools: TOOLS; readonly whileWaiting?: WhileWaiting | undefined },
  ): Promise<ResumedMessages<MESSAGE, TOOLS>>;
}

/** Options of `answer`. */
export interface AnswerOptions {
  /** The round that the answers are for, so that they never answer a later question. @default any */
  readonly round?: number | undefined;
  /** Stops waiting for the server's answer. The outcome is unknown then. */
  readonly abortSignal?: AbortSignal | undefined;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: string;
}

/** Messages with the results of calls that have waited. */
export interface ResumedMessages<MESSAGE, TOOLS extends ToolSet = ToolSet> {
  /**
   * The same tools, for the agent of the step. The application's own find the run, and none of them loses a call that
   * waits in an agent below it.
   */
  readonly tools: TOOLS;
  /** Copies of those that changed, and the others as they were. */
  readonly messages: MESSAGE[];
  /**
   * Whether the model has something to do. Otherwise do not call it: it would comment on a placeholder, or make the
   * call again.
   */
  readonly goesOn: boolean;
  /**
   * Tells the model of results, if it has spoken since it made the calls. Model messages end with it already; add it to
   * the messages that you make of UI messages.
   */
  readonly landing: readonly UserMessage[];
  /** The calls whose placeholders are still there. */
  readonly stillWaiting: readonly WaitingCall[];
  /** The calls that have a result, or the reason why there is none, in the messages now. */
  readonly resumed: readonly WaitingCall[];
}

export const answerFields = { round: wholeNumber(1, Number.MAX_SAFE_INTEGER), abortSignal };
const answerSchema = optionalOptions(answerFields);
const checkSchema = optionalOptions({ abortSignal });

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
      const { describeWaiting, needsSignIn, notPausing } = await loadWaiting();
      const { call } = await read(id);
      const { pausing, signIn } = find(call.connection) ?? {};
      if (call.kind === "authorization" && isOpen({ call }))
        throw needsSignIn(call, (await signIn?.pending())?.startUrl);
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
      const { cancelHeld } = await loadWaiting();
      const { fetch } = find(call.connection)?.pausing ?? {};
      if (fetch) await cancelHeld(call, { fetch });
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
