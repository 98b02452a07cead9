import type { Principal } from "@durable-mcp/sessions";
import { checkOptions, optionalOptions } from "@durable-mcp/sessions/internal";
import { principalParts } from "@durable-mcp/core";
import { isRecord, sameJson } from "@durable-mcp/core/internal";
import {
  checkInputResponses,
  type InputResponses,
  type WaitingAuthorization,
  type WaitingCall,
  type WaitingEntry,
} from "@durable-mcp/core/waiting";
import { notAsked, notWaiting } from "@durable-mcp/core/waiting/internal";
import type { resumeHook } from "workflow/api";
import type { QuestionHook } from "../step-protocol.ts";
import type { PersonSaid, SaidThroughHook } from "./person-said.ts";

/** For API routes: the calls of a run that wait. */
export interface RunQuestions {
  /**
   * First the connections of these calls whose user has to sign in: they have no `id`. Then the calls of the run that
   * wait, for one principal, in the order in which they began to wait. A question is there a moment after `onWaiting`
   * was told of it, and until the run has heard an answer.
   *
   * @param runId the run's id, of the Workflow SDK. An unknown run has no questions
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`, or the error of `auth.authorizationFor`
   */
  waiting(runId: string, use: { readonly principal: Principal }): Promise<WaitingEntry[]>;
  /**
   * Answers the questions of a waiting call, and wakes the run. One of its steps sends the answer, at most once. Of
   * several answers at once the run takes the first.
   *
   * @param responses an answer for each question, under the server's keys
   * @param use.round the round that the answers are for, so that they never answer a later question; by default any
   * @returns the call in the state `answering`
   * @throws {McpSessionError} `INPUT_INVALID`, naming the field, and `NOT_WAITING`: the run sleeps on
   */
  answer(
    runId: string,
    id: string,
    responses: InputResponses,
    use: { readonly principal: Principal; readonly round?: number | undefined },
  ): Promise<WaitingCall>;
  /**
   * Wakes the run after a sign-in. It makes each call whose user has signed in, at most once; the others wait on.
   *
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED`
   */
  wake(runId: string, use: { readonly principal: Principal }): Promise<void>;
  /** Takes a waiting call back, and wakes the run: its tool fails. @throws {McpSessionError} `NOT_WAITING` */
  withdraw(runId: string, id: string, use: { readonly principal: Principal }): Promise<WaitingCall>;
}

const useSchema = optionalOptions({ principal: "anything" });
const answerSchema = optionalOptions({ principal: "anything", round: [1, 1_000] });

/** @param signInsOf the sign-ins that the declared connections wait for */
export function createRunQuestions(
  said: SaidThroughHook,
  signInsOf: (asked: QuestionHook) => Promise<WaitingAuthorization[]>,
): RunQuestions {
  /** @returns whether the run still listens */
  const tell = async ({ hook, asked, call }: Question, what: PersonSaid): Promise<boolean> => {
    const payload = await said.print(what, asked, call);
    const api = await import("workflow/api");
    try {
      await api.resumeHook(hook, payload);
      return true;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  };

  const signInsFor = async (found: readonly Question[]) => {
    const [first] = found;
    const all = first === undefined ? [] : await signInsOf(first.asked);
    return all.filter(({ connection }) => found.some(({ call }) => call.connection === connection));
  };

  return {
    async waiting(runId, use) {
      const { principal } = checkOptions(useSchema, use);
      const found = await questionsOf(runId, principal);
      return [...(await signInsFor(found)), ...found.map(({ call }) => call)];
    },
    async answer(runId, id, responses, use) {
      const { principal, round } = checkOptions(answerSchema, use);
      const question = await findQuestion(runId, id, principal, round);
      const { call } = question;
      const asked = { ...call, url: call.server };
      if (call.pollAfter !== undefined) throw notAsked(asked);
      if (call.round === 0) throw notAsked(asked, (await signInsFor([question]))[0]?.startUrl);
      const checked = checkInputResponses(call.requests, responses);
      const isTold = await tell(question, { kind: "answer", responses: checked });
      if (!isTold) throw notWaiting(undefined);
      return { ...call, state: "answering" };
    },
    async wake(runId, use) {
      const { principal } = checkOptions(useSchema, use);
      const found = await questionsOf(runId, principal);
      const parked = found.filter(({ call }) => call.type === "call-waits-for-sign-in");
      await Promise.all(parked.map((each) => tell(each, { kind: "wake" })));
    },
    async withdraw(runId, id, use) {
      const { principal } = checkOptions(useSchema, use);
      const question = await findQuestion(runId, id, principal);
      if (!(await tell(question, { kind: "withdraw" }))) throw notWaiting(undefined);
      return { ...question.call, state: "withdrawn" };
    },
  };
}

/** A hook as the engine's world lists it. */
type ListedHook = Exclude<Parameters<typeof resumeHook>[0], string>;

/** A question of a run, and the hook that hears its answer. */
interface Question {
  readonly hook: ListedHook;
  readonly asked: QuestionHook;
  readonly call: WaitingCall;
}

/** @throws {McpSessionError} `NOT_WAITING` */
async function findQuestion(
  runId: string,
  id: string,
  principal: Principal,
  round?: number,
): Promise<Question> {
  const found = await questionsOf(runId, principal);
  const question = found.find(({ call }) => call.id === id);
  if (question === undefined) throw notWaiting(undefined);
  if (round !== undefined && round !== question.call.round) throw notWaiting("waiting");
  return question;
}

async function questionsOf(runId: string, principal: Principal): Promise<Question[]> {
  const owner = principalParts(principal);
  const { getWorld } = await import("workflow/runtime");
  // Workflow SDK 5 has a promise of it.
  const { hooks } = await Promise.resolve(getWorld());
  const found: Question[] = [];
  let cursor: string | undefined;
  do {
    const pagination = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const page = await hooks.list({ runId, pagination, resolveData: "all" });
    for (const hook of page.data) {
      const asked = await metadataOf(hook);
      if (!isQuestion(asked) || !sameJson(principalParts(asked.principal), owner)) continue;
      found.push({ hook, asked, call: JSON.parse(asked.call) as WaitingCall });
    }
    cursor = page.hasMore ? (page.cursor ?? undefined) : undefined;
  } while (cursor !== undefined);
  return found.toSorted((a, b) => a.call.askedAt - b.call.askedAt);
}

/**
 * The metadata of a listed hook. The local world of Workflow SDK 4 may bring back a hook that is looked up by its
 * token while the run disposes of it, so only what is encrypted is looked up.
 */
async function metadataOf({ token, metadata }: ListedHook): Promise<unknown> {
  if (metadata === undefined) return undefined;
  const { hydrateData, observabilityRevivers } = await import("workflow/observability");
  const plain: unknown = hydrateData(metadata, observabilityRevivers);
  if (typeof plain !== "string" && !(plain instanceof Uint8Array)) return plain;
  const { getHookByToken } = await import("workflow/api");
  try {
    return await Promise.resolve((await getHookByToken(token)).metadata);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function isQuestion(metadata: unknown): metadata is QuestionHook {
  return isRecord(metadata) && metadata["type"] === "durable-mcp/question";
}

/** Whether the run has heard an answer, or is over. By name, because copies of the SDK may be several. */
function isGone(error: unknown): boolean {
  const { name } = (error ?? {}) as { name?: unknown };
  return name === "HookNotFoundError" || name === "RunExpiredError";
}
