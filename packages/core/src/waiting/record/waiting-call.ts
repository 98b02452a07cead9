import type { InputRequest } from "../questions/input-request.ts";

/**
 * Why a call waits.
 *
 * - `question`: the server has answered it with questions.
 * - `call-waits-for-sign-in`: the user has to sign in first. It was not carried out.
 * - `sub-agent`: a call of a sub-agent waits in a tool of the application. Only placeholders are of this type: what
 *   waits is listed with its `path`.
 * - `task`: the server has made a task of it, and works on it.
 * - `stream`: the server works on it, and its answer comes on a stream that any process can resume.
 * - `watch`: it is no call of a model. Whoever looks finds out whether the server has news (`run.watch`).
 */
export type WaitingType =
  | "question"
  | "call-waits-for-sign-in"
  | "sub-agent"
  | "task"
  | "stream"
  | "watch";

/** What is particular to the calls of a type. */
interface TypeOfWaiting {
  /** What has to happen before the call goes on, for the model. */
  readonly waitsFor: (connection: string, state: WaitingState) => string;
  /** Why nobody knows its outcome. */
  readonly leg: string;
  /** Why the call has expired. */
  readonly expired: string;
  /** Who may have begun to carry it out while it waits. @default nobody */
  readonly worker?: "server" | "sub-agent" | undefined;
}

/** All types. A further one is an entry here, and a file that keeps its calls, such as `park-call.ts` or `task.ts`. */
export const waitingTypes: Readonly<Record<WaitingType, TypeOfWaiting>> = {
  question: {
    waitsFor: (connection) =>
      `connection ${connection} asks a person something, and waits for the answer. It has not failed.`,
    leg: "the step that sent a person's answer was interrupted",
    expired: "nobody answered the server's question",
  },
  "call-waits-for-sign-in": {
    waitsFor: (connection, state) =>
      state === "answering"
        ? `the user has signed in to connection ${connection}, and a process sends it, or has perhaps sent it. It has not failed.`
        : `the user has to sign in to connection ${connection} first. It was not carried out, and it has not failed. Ask the user to sign in.`,
    leg: "the step that made the call after the sign-in was interrupted",
    expired: "the user did not sign in",
  },
  task: {
    waitsFor: (connection) => `connection ${connection} works on it, as a task. It has not failed.`,
    leg: "the server does not know the task any more, did not end it in time, or waits for an answer to a question that was lost on its way",
    expired: "the task did not end",
    worker: "server",
  },
  stream: {
    waitsFor: (connection) => `connection ${connection} works on it. It has not failed.`,
    leg: "the answer can be had no more from its stream, or there was none",
    expired: "the answer did not come",
    worker: "server",
  },
  watch: {
    waitsFor: (connection) => `connection ${connection} is watched. It has not failed.`,
    leg: "the look was interrupted",
    expired: "no step has renewed the watch",
  },
  "sub-agent": {
    waitsFor: (connection) =>
      `a call of its sub-agent on connection ${connection} waits. It has not failed.`,
    leg: "the step in which the sub-agent went on was interrupted",
    expired: "nobody did what the sub-agent's call waits for",
    worker: "sub-agent",
  },
};

/** What became of a call that has waited, and does no more. */
export function fateOf(type: WaitingType): string {
  const { worker } = waitingTypes[type];
  return worker === undefined
    ? "It was not carried out"
    : `How far its ${worker} had got is unknown; check before you make it again`;
}

/**
 * The state of a waiting call.
 *
 * - `waiting`: for answers, a sign-in, or its server.
 * - `answering`: a process has claimed it, to send the answers or to look at it.
 * - `settled`: the server has answered, with a result or with an error.
 * - `expired`: it waited too long, for the server or for the application.
 * - `outcome-unknown`: nobody knows whether the call was carried out.
 * - `withdrawn`: the application has taken the call back.
 */
export type WaitingState =
  | "waiting"
  | "answering"
  | "settled"
  | "expired"
  | "outcome-unknown"
  | "withdrawn";

export const askingMethods = ["tools/call", "resources/read", "prompts/get"] as const;
/** The requests that a server may answer with questions (`input_required`). */
export type AskingMethod = (typeof askingMethods)[number];

/** A tool call of an agent, in which another agent runs. */
export interface AgentToolCall {
  /** The tool's name for the model. */
  readonly toolName: string;
  readonly toolCallId: string;
}

/** A call that waits beyond its step. It holds no secret. Times are milliseconds since 1970-01-01 UTC. */
export interface WaitingCall {
  /** Names the call within its agent session and principal. */
  readonly id: string;
  readonly type: WaitingType;
  readonly state: WaitingState;
  readonly connection: string;
  /** The origin of the server's URL. */
  readonly server: string;
  readonly method: AskingMethod;
  /** The server's name of the tool or prompt, or the resource's URI. */
  readonly tool: string;
  readonly toolCallId?: string | undefined;
  /** Of a sub-agent's call: the tool calls in which it was made, the root agent's first. */
  readonly path?: readonly AgentToolCall[] | undefined;
  /** Whether it repeats a call that waits: it was not sent, and gets the same result. */
  readonly repeats?: true | undefined;
  /** Counts the server's questions, from 1; 0 before the first. */
  readonly round: number;
  /** The server's questions by its keys, as it sent them. Empty while it waits for a sign-in or its server. */
  readonly requests: Readonly<Record<string, InputRequest>>;
  /** When the questions of this round came, or when the call began to wait. */
  readonly askedAt: number;
  /** When the questions, or the call, expire. The server may forget them earlier. */
  readonly expiresAt?: number | undefined;
  /** Of a task: `working`, `input_required`, `completed`, `failed` or `cancelled`, as the server said last. */
  readonly status?: string | undefined;
  /** Of a task: what its server says of the status, for people, at most 1,000 characters. */
  readonly statusMessage?: string | undefined;
  /** Of a task, stream or watch: nobody looks at it before. */
  readonly pollAfter?: number | undefined;
  /** Of a watch: how many entries wait for a step, as of the last look. */
  readonly news?: number | undefined;
}

/** A connection that waits until its user has signed in. It holds no secret. */
export interface WaitingAuthorization {
  readonly type: "sign-in";
  readonly id?: undefined;
  /** The application's name of the server. */
  readonly connection: string;
  /** The origin of the server's URL. */
  readonly server: string;
  /** The scopes that the sign-in will ask for. */
  readonly scopes: readonly string[];
  /** The application's own route, where the sign-in starts. */
  readonly startUrl: string;
  /** When the server, or the lack of a token, asked for the sign-in, in milliseconds since 1970-01-01 UTC. */
  readonly askedAt: number;
}

/** What waits: a connection that needs a sign-in, without an `id`, or a call. */
export type WaitingEntry = WaitingCall | WaitingAuthorization;

/** The member of a result's `_meta` that says that the call waits. */
const waitingKey = "durable-mcp/waiting";

/**
 * The result of a call as long as it waits: a `CallToolResult` for code, and for the model a text. The text says that
 * a person is asked, not what: the questions are in `waitingCallOf(result).requests`, for people.
 */
export interface WaitingResult {
  readonly content: readonly [{ readonly type: "text"; readonly text: string }];
  readonly _meta: { readonly [waitingKey]: WaitingCall };
}

/** The waiting call that a tool's result stands for; `undefined` for any other value. */
export function waitingCallOf(value: unknown): WaitingCall | undefined {
  const call = memberOf(memberOf(value, "_meta"), waitingKey);
  return typeof memberOf(call, "id") === "string" ? (call as WaitingCall) : undefined;
}

// Not `isRecord`, which would bring a page all of core's main module.
function memberOf(value: unknown, key: string): unknown {
  const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  return isThere ? (value as Record<string, unknown>)[key] : undefined;
}

/** The members of a result in which a mark would be read, or would get to code that reads it. */
const marked: ReadonlySet<string> = new Set(["_meta", "structuredContent", "content", "resource"]);

/**
 * A server's own result, or a part of it, without the keys of `durable-mcp/`, which only this library sets. The same
 * object, if there are none.
 */
export function withoutMarks<T>(value: T, depth = 4): T {
  if (!hasMarks(value, depth)) return value;
  if (Array.isArray(value))
    return value.map((part) => withoutMarks(part as unknown, depth - 1)) as T;
  const own = Object.entries(value as object).filter(([key]) => !isMark(key));
  const read = ([key, part]: [string, unknown]) =>
    [key, marked.has(key) ? withoutMarks(part, depth - 1) : part] as const;
  return Object.fromEntries(own.map(read)) as T;
}

const isMark = (key: string) => key.startsWith("durable-mcp/");

function hasMarks(value: unknown, depth: number): boolean {
  if (depth === 0 || typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((part) => hasMarks(part, depth - 1));
  const has = (key: string) =>
    isMark(key) ||
    (marked.has(key) && hasMarks((value as Record<string, unknown>)[key], depth - 1));
  return Object.keys(value).some(has);
}

/** The result that stands for a waiting call. */
export function waitingResult(call: WaitingCall): WaitingResult {
  return {
    content: [{ type: "text", text: waitingText(call) }],
    _meta: { [waitingKey]: call },
  };
}

/** What a client gets in the place of the server's questions. With `isError` it checks no output schema. */
export function placeholderResult(call: WaitingCall): Record<string, unknown> {
  const { content, _meta } = waitingResult(call);
  const common = { resultType: "complete", _meta };
  if (call.method === "tools/call") return { ...common, content, isError: true };
  if (call.method === "prompts/get") {
    return { ...common, messages: [{ role: "user", content: content[0] }] };
  }
  const contents = [{ uri: call.tool, mimeType: "text/plain", text: content[0].text }];
  return { ...common, ttlMs: 0, cacheScope: "private", contents };
}

/** For the model. */
function waitingText({ connection, type, state }: WaitingCall): string {
  // A placeholder may come from a browser.
  const { waitsFor } = waitingTypes[Object.hasOwn(waitingTypes, type) ? type : "question"];
  return `This call is not done yet: ${waitsFor(connection, state)} Do not make the call again; its result will take the place of this text.`;
}
