/* oxlint-disable no-underscore-dangle -- the SDK's own names of what is private to it */
import type { Answer, JSONRPCRequest, RequestId } from "../base/mcp-types.ts";
import type { AskedQuestion } from "../records/stored-question.ts";
import { failedQuestion } from "./question-ids.ts";
import type { ConnectableServer } from "../author/server-session.ts";

/** What a handler of SDK v2 asks, for a client with a session. */
export interface RaisedQuestions {
  readonly questions: readonly AskedQuestion[];
  readonly requestState?: string | undefined;
}

export interface ShimHooks {
  /** How often the call has asked before; `undefined` for one whose questions cannot be stored. */
  readonly roundsOf: (requestId: RequestId) => Promise<number | undefined>;
  /** The call asks. The server's own answer, which follows, is none. */
  readonly onRaised: (requestId: RequestId, raised: RaisedQuestions) => void;
}

/** Checks the content of an answer. @returns what is wrong with it */
export type CheckContent = (schema: object, content: unknown) => string | undefined;

type Handler = (request: unknown, context: unknown) => Promise<unknown>;
type Send = (params: Record<string, unknown> | undefined) => Promise<unknown>;

/** The part of SDK v2's private shim and of its server that is used. Tested with each version. */
interface LegacyShim {
  readonly constructor: unknown;
  readonly _host: {
    readonly maxRounds: number;
    readonly sendElicitation: Send;
    readonly sendSampling: Send;
    readonly listRoots: Send;
  };
  fulfill(
    method: string,
    handler: Handler,
    request: unknown,
    context: { readonly mcpReq: { readonly id: RequestId } },
    first: unknown,
  ): Promise<unknown>;
}

interface SdkServer {
  _legacyInputRequiredShim?: () => LegacyShim;
  readonly _jsonSchemaValidator?: {
    getValidator(schema: object): (value: unknown) => { valid: boolean; errorMessage?: string };
  };
}

/**
 * SDK v2 answers `inputRequired(…)` of a session's client by a shim: it asks on the call's stream, and
 * waits in this process. This takes its questions, after its own checks of them, in place of the wait.
 *
 * @returns checks answers; `undefined` for a server without the shim, which stays as it is
 */
export function replaceLegacyShim(
  server: ConnectableServer,
  hooks: ShimHooks,
): CheckContent | undefined {
  const { server: inner = server } = server as { server?: unknown };
  const sdk = inner as SdkServer;
  const makeShim = sdk._legacyInputRequiredShim?.bind(sdk);
  const validator = sdk._jsonSchemaValidator;
  if (!makeShim || !validator || !isShim(makeShim())) return undefined;
  sdk._legacyInputRequiredShim = () => {
    const own = makeShim();
    return { ...own, fulfill: (...args) => fulfill(own, hooks, ...args) };
  };
  return (schema, content) => {
    const { valid, errorMessage } = validator.getValidator(schema)(content);
    return valid ? undefined : (errorMessage ?? "it is not as requested");
  };
}

function isShim(shim: Partial<LegacyShim> | undefined): boolean {
  const { sendElicitation, sendSampling, listRoots, maxRounds } = shim?._host ?? {};
  const sends = [sendElicitation, sendSampling, listRoots, shim?.fulfill];
  return typeof maxRounds === "number" && sends.every((send) => typeof send === "function");
}

/** The server is one of SDK v2, whose handlers may ask. */
export function mayAsk(server: ConnectableServer): boolean {
  const { server: inner = server } = server as { server?: unknown };
  const { getNegotiatedProtocolVersion } = inner as { getNegotiatedProtocolVersion?: unknown };
  return typeof getNegotiatedProtocolVersion === "function";
}

async function fulfill(
  shim: LegacyShim,
  hooks: ShimHooks,
  ...[method, handler, request, context, first]: Parameters<LegacyShim["fulfill"]>
): Promise<unknown> {
  const { id } = context.mcpReq;
  const rounds = await hooks.roundsOf(id);
  if (rounds === undefined) return await shim.fulfill(method, handler, request, context, first);
  const { maxRounds } = shim._host;
  if (rounds >= maxRounds)
    return toResult(failedQuestion({ id, method }, tooMany(method, maxRounds)));
  const asked: { method: string; params?: Record<string, unknown> }[] = [];
  const take =
    (kind: string): Send =>
    async (params) => {
      asked.push({ method: kind, ...(params && { params }) });
      throw new Error("The answer comes in another request.");
    };
  const Shim = shim.constructor as new (host: LegacyShim["_host"]) => LegacyShim;
  const taking = new Shim({
    ...shim._host,
    sendElicitation: (params) => take("elicitation/create")({ mode: "form", ...params }),
    sendSampling: take("sampling/createMessage"),
    listRoots: take("roots/list"),
  });
  // A result that has a state and no questions makes the shim call the handler again.
  let last = first as { inputRequests?: object; requestState?: string };
  const again: Handler = async (...args) => {
    const result = await handler(...args);
    last = result as typeof last;
    return result;
  };
  const outcome = await taking.fulfill(method, again, request, context, first).catch((error) => {
    if (asked.length === 0) throw error;
  });
  if (asked.length === 0) return outcome;
  // The shim asks in the order of the keys, at once.
  const keys = Object.keys(last.inputRequests ?? {});
  const questions = asked.map((question, index) => ({ key: keys[index]!, ...question }));
  const { requestState } = last;
  hooks.onRaised(id, { questions, ...(requestState !== undefined && { requestState }) });
  return last;
}

function toResult(answer: Answer): unknown {
  if ("result" in answer) return answer.result;
  throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
}

/** As SDK v2 says it. */
function tooMany(method: JSONRPCRequest["method"], rounds: number): string {
  return `Multi-round-trip request '${method}' still required input after ${rounds} rounds (inputRequired.maxRounds)`;
}
