import type { Principal } from "@durable-mcp/core";
import type {
  AnsweredCall,
  InputResponses,
  WaitingCall,
  WaitingEntry,
  WaitingEvent,
} from "@durable-mcp/core/waiting";
import type { StoredCall } from "@durable-mcp/core/waiting/internal";
import type { ToolSet } from "ai";
import {
  abortSignal,
  checkOptions,
  optionalOptions,
  someObject,
  wholeNumber,
} from "../base/check-options.ts";
import { pausingInput } from "../connection/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { clientConnections, type Connections, findDeclared } from "../connection/mcp-connection.ts";
import { findResults, placesIn } from "./find-results.ts";
import { fillIn } from "./placeholders.ts";
import { pendingSignIns, resumeParked } from "./sign-in.ts";
import { createStoredCalls, isOpen, loadWaiting, type StoredCalls } from "./stored-calls.ts";
import type { WaitingSource } from "./waiting-source.ts";

/** The calls of an agent session that wait for a person, for one principal. */
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
   * Answers the questions of a call: claims it, and sends one request, at most once.
   *
   * @param responses an answer for each question, under the server's keys
   * @returns the call: `waiting` if the server asks more, `settled`, `expired` or `outcome-unknown`
   * @throws {McpSessionError} `INPUT_INVALID`, naming the field, and `NOT_WAITING`, also for a call that waits for a
   *   sign-in: nothing was sent.
   *   `CONNECTION_UNAVAILABLE`, or the code that says why: the server did not take the answers, and the
   *   questions still wait. `STORE_FAILED`
   */
  answer(id: string, responses: InputResponses, options?: AnswerOptions): Promise<WaitingCall>;
  /**
   * Takes a call back. Its server is not told, because it keeps nothing of the call.
   *
   * @throws {McpSessionError} `NOT_WAITING` for a call that is being answered, or is over
   */
  withdraw(id: string): Promise<WaitingCall>;
  /**
   * Puts the results of calls that are over in the places of their placeholders, in model messages or UI
   * messages. A call that has waited for a sign-in is carried out when the user has signed in, at most once. Otherwise
   * it sends nothing but, on first use of a connection, its handshake.
   *
   * A place whose call is not kept any more gets an error, and so does one that names another tool or other arguments
   * than the call: messages come from browsers.
   *
   * @param messages those with placeholders of 1,000 calls at most
   * @param options.tools the tools of the step. They make of the server's answer what `execute` would have made.
   *   Without its tool, such as that of a connection that is down, a call has the content of the server's answer
   * @throws {McpSessionError} `CONNECTION_INVALID` for what is no list, and for more calls; `STORE_FAILED`; the error of `approval`
   */
  resume<MESSAGE>(
    messages: readonly MESSAGE[],
    options: { readonly tools: ToolSet },
  ): Promise<ResumedMessages<MESSAGE>>;
}

/** Options of `answer`. */
export interface AnswerOptions {
  /** The round that the answers are for, so that they never answer a later question. @default any */
  readonly round?: number | undefined;
  /** Ends the waiting for the server. The outcome is unknown then. */
  readonly abortSignal?: AbortSignal | undefined;
}

/** Messages with the results of calls that have waited in their places. */
export interface ResumedMessages<MESSAGE> {
  /** Copies of those that changed, and the others as they were. */
  readonly messages: MESSAGE[];
  /** The calls whose placeholders are still there. Do not call the model before they are answered. */
  readonly stillWaiting: readonly WaitingCall[];
  /** The calls that have a result, or the reason why there is none, in the messages now. */
  readonly resumed: readonly WaitingCall[];
}

export const answerFields = { round: wholeNumber(1, Number.MAX_SAFE_INTEGER), abortSignal };
const answerSchema = optionalOptions(answerFields);
const resumeSchema = optionalOptions({ tools: someObject });

/** The uses of waiting calls that a step and those outside of one have. */
export type WaitingUses = Pick<RunWaiting, "list" | "answer" | "withdraw">;

interface WaitingParts {
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
  const limitsOf = (name: string) => pausingInput(findDeclared(definitions, name)?.options ?? {});
  const stored = source && createStoredCalls({ ...others, source, principal, limitsOf });
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
    async withdraw(id) {
      const { call } = await read(id);
      const { describeWaiting, withdrawCall } = await loadWaiting();
      return describeWaiting(await withdrawCall(await stored!.contextOf(call), id));
    },
  };
}

/** @param find finds a connection for a use */
export function createRunWaiting(
  {
    connections,
    ...parts
  }: Pick<WaitingParts, "declared" | "principal" | "now"> & {
    readonly connections: readonly LiveConnection[];
    readonly waiting?: WaitingSource | undefined;
  },
  find: (name: string) => LiveConnection,
): RunWaiting {
  const own = (name: string) => connections.find((each) => each.name === name);
  const findOpen = (name: string) => own(name) && find(name);
  const { stored, ...uses } = createWaitingUses({
    ...parts,
    source: parts.waiting,
    find: findOpen,
    emit: (name, event) => own(name)?.emit({ ...event, connection: name }),
  });

  return {
    ...uses,
    async find(id) {
      const { answered } = await loadWaiting();
      const found = await stored?.read(id);
      return found && answered(found.call);
    },
    async resume(messages, options) {
      const { tools } = checkOptions(resumeSchema, options);
      const { calls, filled } = await findResults(stored, tools, placesIn(messages), (...call) =>
        resumeParked({ contextOf: stored!.contextOf, find: findOpen }, ...call),
      );
      const inOrder = filled.values();
      return {
        messages: fillIn(messages, () => inOrder.next().value),
        stillWaiting: calls.filter((call) => isOpen({ call })),
        resumed: calls.filter((call) => !isOpen({ call })),
      };
    },
  };
}
