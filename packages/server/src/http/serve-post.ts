import { isAnswer, isRequest } from "../base/json-rpc.ts";
import type { AuthInfo, JSONRPCMessage, JSONRPCRequest } from "../base/mcp-types.ts";
import { isRecord } from "@durable-mcp/core/internal";
import type { Reply } from "../base/reply.ts";
import type { ServedRequest } from "../base/served-request.ts";
import {
  addressedRequest,
  cancelledRequest,
  instanceOf,
  maxRequestIdLength,
} from "../base/instance-ids.ts";
import type { LiveSession } from "../live/live-session.ts";
import { createMessageExtra } from "../author/message-extra.ts";
import { parseQuestionId, withoutAnswers } from "../asked/question-ids.ts";
import type { Caller, FoundSession } from "../live/session-directory.ts";
import { waitingCalls } from "../records/session-record.ts";
import type { ClientBody } from "./client-message.ts";
import {
  errorAnswer,
  messageAnswer,
  sessionNotFound,
  tooMany,
  unavailable,
} from "./http-answer.ts";
import { checkVersion, type ServeContext, sessionIdRequired } from "./serve-context.ts";

export interface Post {
  readonly request: ServedRequest;
  readonly body: ClientBody;
  readonly caller: Caller;
  readonly authInfo: AuthInfo | undefined;
}

/** JSON characters of a session's `initialize`, which is stored. */
const maxInitializeLength = 65_536;

/** Answers POSTs: `initialize` without a session, all other requests within one. */
export async function servePost(context: ServeContext, post: Post): Promise<Reply> {
  const { request, body, caller } = post;
  const refusal = checkMediaTypes(request) ?? checkMessages(context, body);
  if (refusal) return refusal;
  const sessionId = request.header("mcp-session-id");
  const session = sessionId === null ? undefined : await context.directory.find(sessionId, caller);
  if (session) return await serveInSession(context, post, session);

  const first = body.requests.find(({ method }) => method === "initialize");
  // With an unknown id too: the client starts anew, as it is meant to.
  if (first) return await initialize(context, post, first);
  if (sessionId === null) return sessionIdRequired();
  return await serveUnknown(context, post, sessionId);
}

/** As the SDK's transport does, before anything is stored. */
function checkMediaTypes(request: ServedRequest): Reply | undefined {
  const accept = request.header("accept") ?? "";
  if (!accept.includes("application/json") || !accept.includes("text/event-stream")) {
    const both = "both application/json and text/event-stream";
    return errorAnswer(406, -32000, `Not Acceptable: Client must accept ${both}`);
  }
  const [type = ""] = (request.header("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() === "application/json") return undefined;
  return errorAnswer(415, -32000, "Unsupported Media Type: Content-Type must be application/json");
}

function checkMessages({ settings, emit }: ServeContext, body: ClientBody): Reply | undefined {
  const { messages, requests, value } = body;
  const { messagesPerPost } = settings.limits;
  if (Array.isArray(value) && value.length > messagesPerPost) {
    emit({ type: "refused", reason: "too-many-messages" });
    const message = `Invalid Request: limits.messagesPerPost allows ${messagesPerPost} messages`;
    return errorAnswer(413, -32600, message);
  }
  if (!messages || messages.length === 0) {
    return errorAnswer(400, -32600, "Invalid Request: not a JSON-RPC message of MCP");
  }
  if (requests.every(({ id }) => String(id).length <= maxRequestIdLength)) return undefined;
  const message = `Invalid Request: an id must not exceed ${maxRequestIdLength} characters`;
  return errorAnswer(400, -32600, message);
}

async function initialize(
  context: ServeContext,
  post: Post,
  first: JSONRPCRequest,
): Promise<Reply> {
  const { directory, emit, settings } = context;
  const refusal = refuseNewSession(context);
  if (refusal) return refusal;
  const { id, params } = first;
  if (!isInitialize(params) || post.body.isBatch) {
    return errorAnswer(400, -32600, "Invalid Request: initialize is not as specified", { id });
  }
  if (JSON.stringify(params).length > maxInitializeLength) {
    const message = `The params of initialize must not exceed ${maxInitializeLength} characters`;
    return errorAnswer(413, -32600, message, { id });
  }
  if (await directory.hasTooMany(post.caller)) {
    emit({ type: "refused", reason: "too-many-sessions" });
    const { sessionsPerPrincipal } = settings.limits;
    const many = `Too many sessions (limits.sessionsPerPrincipal: ${sessionsPerPrincipal}).`;
    return tooMany(`${many} End one, or wait until one expires.`, 60);
  }
  const extra = createMessageExtra(post.request, post.authInfo, {});
  const { answer, sessionId, format } = await directory.start(post.caller, params, extra);
  if (!answer) return closedMeanwhile();
  const headers = sessionId === undefined ? {} : { "Mcp-Session-Id": sessionId };
  return messageAnswer({ ...answer, id }, format, headers);
}

type InitializeParams = Parameters<ServeContext["directory"]["start"]>[1];

function isInitialize(params: JSONRPCRequest["params"]): params is InitializeParams {
  const { protocolVersion, capabilities, clientInfo } = params ?? {};
  const isNamed =
    isRecord(clientInfo) &&
    typeof clientInfo["name"] === "string" &&
    typeof clientInfo["version"] === "string";
  return typeof protocolVersion === "string" && isRecord(capabilities) && isNamed;
}

function refuseNewSession({ life, emit }: ServeContext): Reply | undefined {
  if (life.phase === "serving") return undefined;
  emit({ type: "refused", reason: "draining" });
  return unavailable("This server is shutting down. Start the session on another replica.");
}

async function serveInSession(
  context: ServeContext,
  post: Post,
  session: FoundSession,
): Promise<Reply> {
  const { emit, directory, sessions, settings } = context;
  const { request, authInfo, caller } = post;
  const body = withoutAnswersUnasked(post.body);
  const refusal = checkVersion(request) ?? checkInSession(session, body);
  if (refusal) return refusal;
  const { live, release } = await directory.use(session, caller);
  const admission = live.admit(body.messages!.length);
  try {
    if (!admission) {
      emit({ type: "refused", reason: "too-many-requests" });
      return tooMany("Too many messages in flight (limits.requestsPerSession). Wait for one.");
    }
    await live.stored.renew();
    const { requests } = body;
    const waiting = waitingCalls(live.stored.record, settings.now());
    if (requests.some(({ id }) => waiting.some((other) => other.id === id))) return duplicate(emit);
    const messages = await withoutForeign(context, { ...post, body }, live);
    if (messages.length === 0) return { status: 202, headers: {} };
    const reply = await live.post({ ...body, request, messages, authInfo, admission });
    if (reply) return reply;
    // Its server was closed in this process, for a deploy say: not the end of the session.
    if (live.closed.aborted && (await sessions.isStored(session.found.hash))) {
      return closedMeanwhile();
    }
    if (live.closed.aborted) return sessionNotFound();
    return duplicate(emit);
  } finally {
    admission?.leave();
    release();
  }
}

function duplicate(emit: ServeContext["emit"]): Reply {
  emit({ type: "refused", reason: "duplicate-request" });
  return errorAnswer(409, -32600, "A request with this id is in flight. Use another id.");
}

/** The server alone gives a call of a session its answers; those that a client sends are not asked for. */
function withoutAnswersUnasked(body: ClientBody): ClientBody {
  const messages = body.messages?.map(withoutAnswers);
  return { ...body, messages, requests: messages?.filter(isRequest) ?? [] };
}

/** Batches exist in one revision only. */
const versionWithBatches = "2025-03-26";

function checkInSession({ found }: FoundSession, { isBatch, requests }: ClientBody) {
  if (requests.some(({ method }) => method === "initialize")) {
    return errorAnswer(400, -32600, "Invalid Request: Server already initialized");
  }
  if (!isBatch || found.record.protocolVersion === versionWithBatches) return undefined;
  const message = `Invalid Request: only clients of revision ${versionWithBatches} may send batches`;
  return errorAnswer(400, -32600, message);
}

function closedMeanwhile(): Reply {
  return unavailable("This session's server was closed here. Send the request again.");
}

/** The messages but for those that belong to calls on other replicas, which are left for these. */
async function withoutForeign(
  context: ServeContext,
  { body, request, authInfo }: Post,
  live: LiveSession,
): Promise<readonly JSONRPCMessage[]> {
  const messages = body.messages!;
  if (messages.every(isRequest)) return messages;
  const mail = new Map<string, JSONRPCMessage[]>();
  const cancelled = [];
  const kept = [];
  for (const message of messages) {
    const addressed = addressedRequest(message);
    const instance = addressed === undefined ? undefined : instanceOf(addressed);
    const question = parseQuestionId(addressed);
    const cancels = cancelledRequest(message);
    if (question) {
      // Of a question's progress nobody has to know.
      if (isAnswer(message)) await live.takeAnswer(question, message, { request, authInfo });
    } else if (instance !== undefined && instance !== live.instance) {
      mail.set(instance, [...(mail.get(instance) ?? []), message]);
    } else if (cancels !== undefined && !live.isServing(cancels)) {
      if (!(await context.asked.cancel(live.stored, cancels))) cancelled.push(cancels);
    } else {
      kept.push(message);
    }
  }
  for (const [instance, added] of mail) {
    await context.mailbox.leave(live.stored, instance, added);
  }
  if (cancelled.length > 0) await live.cancelElsewhere(cancelled);
  return kept;
}

async function serveUnknown(context: ServeContext, post: Post, unknownId: string): Promise<Reply> {
  const { adopt, directory } = context;
  if (!adopt || post.body.requests.length === 0) return sessionNotFound();
  const refusal = refuseNewSession(context);
  if (refusal) return refusal;
  const adopted = await adopt(unknownId, post.request, post.caller);
  const reply = await serveInSession(context, post, adopted).catch(async (error: unknown) => {
    // Its id was given to nobody.
    await directory.end(adopted.found).catch(() => {});
    throw error;
  });
  return { ...reply, headers: { ...reply.headers, "Mcp-Session-Id": adopted.sessionId } };
}
