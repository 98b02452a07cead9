import { anySignal, startLimit } from "../../base/bounded-wait.ts";
import { isRecord } from "../../base/json-values.ts";
import type { SessionSlot } from "../../session/session-slot.ts";
import {
  isRequest,
  type JsonRpcId,
  type JsonRpcRequest,
  parseMessage,
  revisionIn,
} from "../../wire/json-rpc.ts";
import {
  bodyText,
  isSameEndpoint,
  readOutgoingRequest,
  requestUrl,
} from "../../wire/server-endpoint.ts";
import { answerWithPlaceholder, type TakeAnswer } from "../legs/answer-edits.ts";
import { beginInStep, type CallInStep } from "./call-in-step.ts";
import type { CallNotes } from "./call-notes.ts";
import { createServerTasks } from "../legs/server-tasks.ts";
import { createSessionCalls } from "./session-calls.ts";
import { tasksExtension } from "../legs/task-result.ts";
import { askingMethods } from "../record/waiting-call.ts";
import { isFor, type WaitingContext } from "../claims/waiting-context.ts";

type Fetch = typeof globalThis.fetch;

const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
const mayAsk = (method: string) => (askingMethods as readonly string[]).includes(method);

export interface WaitingFetchParts {
  readonly url: URL;
  readonly connection: string;
  /** Has what was kept of the server. @default what it says to the client */
  readonly slot?: SessionSlot | undefined;
}

/**
 * The fetch of one client on a connection whose calls may wait beyond the step. It declares that a person can be asked,
 * and makes tasks of calls where the server can. It keeps questions, the tasks that last, and streams that another
 * process can resume; the client gets a result that says that the call waits.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export function createWaitingFetch(
  context: WaitingContext,
  fetch: Fetch,
  { url, connection, slot }: WaitingFetchParts,
) {
  const tasks = createServerTasks(slot);
  const sessionCalls = createSessionCalls(context);

  return async (
    input: Parameters<Fetch>[0],
    init?: RequestInit,
    notes: CallNotes = {},
  ): Promise<Response> => {
    if (!isSameEndpoint(requestUrl(input), url)) return await fetch(input, init);
    const request = await readOutgoingRequest(input, init);
    const own = readRequest(bodyText(request));
    if (own === undefined) {
      const withheld = sessionCalls.withhold(request);
      return withheld ?? (await sessionCalls.resume(request, () => fetch(input, init)));
    }
    const isTask = isFor(context, "task") && tasks.takes(own);
    const message = declaring(own, context, isTask);
    const { id, method, params = {} } = message;
    const send = async () => {
      if (message === own) return await fetch(input, init);
      return await fetch(input, { ...init, body: JSON.stringify(message) });
    };
    if (!mayAsk(method)) {
      const response = await send();
      return isFor(context, "task") ? tasks.observe(own, response) : response;
    }
    const isStateless = revisionIn(own) !== undefined;
    // A client that answers by itself has the state, and is responsible for it.
    const isTaken = isStateless
      ? !Object.hasOwn(params, "inputResponses") && !Object.hasOwn(params, "requestState")
      : method === "tools/call" && own.params?.["task"] === undefined;
    if (!isTaken) return answerWithPlaceholder(await send(), id);
    const { headers } = request;
    const left = new AbortController();
    const signal = anySignal(request.signal, left.signal);
    const call = await beginInStep(context, {
      ...{ url, connection, headers, notes, message: isStateless ? message : own },
      leg: { fetch: withHeaders(fetch, headers), signal },
    });
    if ("known" in call) return Response.json({ jsonrpc: "2.0", id, ...(await call.known()) });
    const how = { send, leaveTask: () => left.abort(), fail: notes.onFailure };
    if (!isStateless) return await sessionCalls.call(call, own, request, how);
    return await callStateless(context, call, id, how);
  };
}

/** Sends a call without a session, and waits for its answer. The end of its stream would cancel it. */
async function callStateless(
  context: WaitingContext,
  call: CallInStep,
  id: JsonRpcId,
  { send, fail }: { readonly send: () => Promise<Response> } & Pick<TakeAnswer, "fail">,
): Promise<Response> {
  const stop = startLimit(call.until - context.now(), () => call.cannotWait("no-task"), true);
  const response = await call.sent(send()).catch((error: unknown) => {
    stop();
    throw error;
  });
  const { take, isRecorded: isKept } = call;
  const isAsked = isFor(context, "question");
  return answerWithPlaceholder(response, id, { stop, take, isKept, isAsked, fail });
}

/** The fetch of legs that go on by themselves: they have the headers of the client's own request. */
function withHeaders(fetch: Fetch, own: Headers): Fetch {
  return async (input, init) => {
    const headers = new Headers(own);
    for (const [name, value] of new Headers(init?.headers)) headers.set(name, value);
    return await fetch(input, { ...init, headers });
  };
}

function readRequest(body: string | undefined): JsonRpcRequest | undefined {
  const message = body === undefined ? undefined : parseMessage(body);
  return message !== undefined && isRequest(message) ? message : undefined;
}

const elicitation = { form: {}, url: {} };

/**
 * The request with what its client can do here: be asked, in forms and at URLs, and follow a task. The same object
 * where nothing is added.
 */
function declaring(
  message: JsonRpcRequest,
  context: WaitingContext,
  isTask: boolean,
): JsonRpcRequest {
  const { method, params = {} } = message;
  const isAsked = isFor(context, "question") && { elicitation };
  const withParams = (own: object) => ({ ...message, params: { ...params, ...own } });
  if (revisionIn(message) === undefined) {
    const capabilities = params["capabilities"] as object | undefined;
    if (method === "initialize" && isAsked)
      return withParams({ capabilities: { ...capabilities, ...isAsked } });
    // A task lives as long as the call may wait, if the server likes.
    return isTask ? withParams({ task: { ttl: context.limits.maxAgeMs } }) : message;
  }
  if (!isAsked && !isTask) return message;
  const meta = params["_meta"] as Record<string, unknown>;
  const given = isRecord(meta[capabilitiesKey]) ? meta[capabilitiesKey] : {};
  const extensions = { ...(given["extensions"] as object | undefined), [tasksExtension]: {} };
  const capabilities = { ...given, ...isAsked, ...(isTask && { extensions }) };
  return withParams({ _meta: { ...meta, [capabilitiesKey]: capabilities } });
}
