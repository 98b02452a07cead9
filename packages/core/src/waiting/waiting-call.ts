import { isRecord } from "../base/json-values.ts";
import type { InputRequest } from "./input-request.ts";

/**
 * Why a call waits.
 *
 * - `input`: the server has answered it with questions.
 * - `authorization`: the user has to sign in first. It was not carried out.
 */
export type WaitingKind = "input" | "authorization";

/** What is particular to the calls of a kind. */
interface KindOfWaiting {
  /** Whether the call itself takes answers: then they are sent to its server. */
  readonly takesAnswers: boolean;
  /** What has to happen before the call goes on, for the model. */
  readonly waitsFor: (connection: string) => string;
  /** Who may have left a leg without an end. */
  readonly leg: string;
  /** Why the call has expired. */
  readonly expired: string;
}

/** All kinds. A further one is an entry here, and a file that keeps its calls, such as `park-call.ts`. */
export const waitingKinds: Readonly<Record<WaitingKind, KindOfWaiting>> = {
  input: {
    takesAnswers: true,
    waitsFor: (connection) =>
      `connection ${connection} asks a person something, and waits for the answer. It has not failed.`,
    leg: "the step that sent a person's answer",
    expired: "nobody answered the server's question",
  },
  authorization: {
    takesAnswers: false,
    waitsFor: (connection) =>
      `the user has to sign in to connection ${connection} first. It was not carried out, and it has not failed. Ask the user to sign in.`,
    leg: "the step that made the call after the sign-in",
    expired: "the user did not sign in",
  },
};

/**
 * The state of a waiting call.
 *
 * - `waiting`: the questions of its round have no answer yet.
 * - `answering`: a process has claimed it, and sends the answers.
 * - `settled`: the server has answered, with a result or with an error.
 * - `expired`: the questions are too old, for the server or for the application.
 * - `outcome-unknown`: answers were perhaps sent, and nobody knows whether the call was carried out.
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

/** A call that waits for a person. It holds no secret. Times are milliseconds since 1970-01-01 UTC. */
export interface WaitingCall {
  /** Names the call within its agent session and principal. */
  readonly id: string;
  readonly kind: WaitingKind;
  readonly state: WaitingState;
  readonly connection: string;
  /** The origin of the server's URL. */
  readonly server: string;
  readonly method: AskingMethod;
  /** The server's name of the tool or prompt, or the resource's URI. */
  readonly tool: string;
  /** The model's id of the call. */
  readonly toolCallId?: string | undefined;
  /** Counts the server's questions, from 1; 0 before the first. */
  readonly round: number;
  /**
   * The server's questions by its keys, as it sent them: in an object without a prototype. Empty while the call waits
   * for a sign-in.
   */
  readonly requests: Readonly<Record<string, InputRequest>>;
  /** When the questions of this round came, or when the call began to wait for a sign-in. */
  readonly askedAt: number;
  /** When the questions, or the call, expire. The server may forget questions earlier. */
  readonly expiresAt?: number | undefined;
}

/** A connection that waits until its user has signed in. It holds no secret. */
export interface WaitingAuthorization {
  readonly kind: "authorization";
  /** It is no call, and takes no answer. */
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

/** What waits for a person: a connection that needs a sign-in, without an `id`, or a call. */
export type WaitingEntry = WaitingCall | WaitingAuthorization;

/** The member of a result's `_meta` that says that the call waits. */
const waitingKey = "durable-mcp/waiting";

/** The result of a call as long as it waits: a `CallToolResult` for code, and for the model a text. */
export interface WaitingResult {
  readonly content: readonly [{ readonly type: "text"; readonly text: string }];
  readonly _meta: { readonly [waitingKey]: WaitingCall };
}

/** The waiting call that a tool's result stands for; `undefined` for any other value. */
export function waitingCallOf(value: unknown): WaitingCall | undefined {
  const meta = isRecord(value) ? value["_meta"] : undefined;
  const call = isRecord(meta) && Object.hasOwn(meta, waitingKey) ? meta[waitingKey] : undefined;
  return isRecord(call) && typeof call["id"] === "string"
    ? (call as unknown as WaitingCall)
    : undefined;
}

/** The members of a result in which a mark would be read, or would get to code that reads it. */
const marked: ReadonlySet<string> = new Set(["_meta", "structuredContent", "content", "resource"]);

/**
 * A server's own result, or a part of it, without the keys of `durable-mcp/`, which only this library sets. The same
 * object, if there are none.
 */
export function withoutMarks<T>(value: T, depth = 4): T {
  if (depth === 0 || typeof value !== "object" || value === null) return value;
  const entries: [string, unknown][] = Object.entries(value as object);
  const own = entries
    .filter(([key]) => !key.startsWith("durable-mcp/"))
    .map(([key, part]): [string, unknown] => {
      const isRead = Array.isArray(value) || marked.has(key);
      return [key, isRead ? withoutMarks(part, depth - 1) : part];
    });
  const isSame =
    own.length === entries.length && own.every(([, part], at) => part === entries[at]![1]);
  if (isSame) return value;
  return (Array.isArray(value) ? own.map(([, part]) => part) : Object.fromEntries(own)) as T;
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
function waitingText({ connection, kind }: WaitingCall): string {
  const { waitsFor } = waitingKinds[kind];
  return `This call is not done yet: ${waitsFor(connection)} Do not make the call again; its result will take the place of this text.`;
}
