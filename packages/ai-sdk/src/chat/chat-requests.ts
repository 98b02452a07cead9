import { McpSessionError, type McpSessionErrorCode } from "@durable-mcp/core";
import type { UIMessage } from "ai";
import { checkOptions, optionalOptions } from "@durable-mcp/sessions/internal";

const isText = (value: unknown): value is string => typeof value === "string";
const isId = (value: unknown): value is string =>
  isText(value) && value !== "" && value.length <= 200;
const openOptions = (...fields: Parameters<typeof optionalOptions>) => ({
  ...optionalOptions(...fields),
  isOpen: true,
});
const anyText = { test: isText, fix: "must be a text" };
const id = { test: isId, fix: "must be an id" };
const parts = { list: openOptions({}, { type: anyText }), is: "a list" };

/** What a page may want of a chat. All else is on the server, and not taken from a browser. */
interface ChatRequest {
  readonly message?: { readonly id: string; readonly parts: readonly { readonly type: string }[] };
  readonly answer?: {
    readonly call: string;
    readonly round?: number;
    readonly responses: Readonly<Record<string, any>>;
  };
  readonly withdraw?: { readonly call: string };
  readonly approval?: { readonly id: string; readonly approved: boolean; readonly reason?: string };
  readonly stop?: true;
}
const chatRequest = openOptions({
  message: openOptions({}, { id, role: { oneOf: ["user"] }, parts }),
  answer: openOptions(
    { round: { test: Number.isFinite, fix: "must be a number" } },
    { call: id, responses: { record: "anything" } },
  ),
  withdraw: openOptions({}, { call: id }),
  approval: openOptions({ reason: anyText }, { id, approved: "flag" }),
  stop: { oneOf: [true] },
});

const problems = {
  invalid: [400, "This is no request of a chat."],
  "signed-out": [401, "Sign in first."],
  answering: [409, "An answer is being made. Wait until it is there."],
  answered: [409, "The answer is there already."],
  "not-waiting": [409, "This was answered somewhere else, or is over. Nothing was sent."],
  "outcome-unknown": [409, "Nobody knows whether the server got it."],
  expired: [409, "The question was too old. Nothing was sent."],
  "too-long": [413, "This message is too long."],
  json: [415, "Send application/json."],
  "invalid-answer": [422, "This is no answer to the question."],
  failed: [500, "This did not work. The log of the server says why."],
  unavailable: [503, "This does not work right now. Try again."],
} as const;

type Problem = keyof typeof problems;

const byCode: Partial<Record<McpSessionErrorCode, Problem>> = {
  INPUT_INVALID: "invalid-answer",
  NOT_WAITING: "not-waiting",
  STORE_FAILED: "unavailable",
  CONNECTION_UNAVAILABLE: "unavailable",
};

/** Why a request is refused. */
export class ChatProblem extends Error {
  override readonly name: Problem;

  constructor(problem: Problem) {
    super(problems[problem][1]);
    this.name = problem;
  }
}

export function reply(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}

/** What a page reads of an error: what it is, and a text for people. */
export function problemResponse(problem: unknown): Response {
  const known = McpSessionError.isInstance(problem) ? problem : undefined;
  const own = problem instanceof ChatProblem ? problem.name : undefined;
  const error = own ?? (known && byCode[known.code]) ?? "failed";
  const [status, text] = problems[error];
  if (error !== "invalid-answer") return reply({ error, message: text }, status);
  return reply({ error, message: known?.message, field: known?.data.field }, status);
}

/** The state of a call after an answer. */
export function stateResponse({ state }: { readonly state: string }): Response {
  if (state !== "outcome-unknown" && state !== "expired") return reply({ state });
  return problemResponse(new ChatProblem(state));
}

/** @throws {ChatProblem} */
export async function readBody(request: Request): Promise<ChatRequest> {
  // A form of another site cannot send it.
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? ""))
    throw new ChatProblem("json");
  try {
    return checkOptions(chatRequest, await request.json());
  } catch {
    throw new ChatProblem("invalid");
  }
}

/** The chat of a request: without an id of the application's, the last part of the URL's path. @throws {ChatProblem} */
export function checkChat(chat: string | undefined, { url }: Request): string {
  const last = new URL(url).pathname.split("/").findLast((part) => part !== "");
  const given = chat ?? decoded(last);
  if (!isId(given)) throw new ChatProblem("invalid");
  return given;
}

function decoded(text = ""): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The longest message, in characters of JSON: a record of a store has to take it. */
const maxLength = 500_000;

type Parts = UIMessage["parts"];

/** The user's message, of which only the accepted parts are kept. @throws {ChatProblem} without any */
export function userMessage(
  message: { readonly id: string; readonly parts: readonly object[] },
  acceptParts: (parts: Parts) => Parts = textsOf,
): UIMessage {
  const own = acceptParts(message.parts as Parts);
  if (own.length === 0) throw new ChatProblem("invalid");
  if (JSON.stringify(own).length > maxLength) throw new ChatProblem("too-long");
  return { id: message.id, role: "user", parts: own };
}

function textsOf(given: Parts): Parts {
  return given.flatMap(({ type, text }: { type: string; text?: unknown }) =>
    type === "text" && typeof text === "string" ? [{ type, text }] : [],
  );
}
