import { compareTools, isRecord, randomToken, serverLimits } from "@durable-mcp/core/internal";
import type { CallNotes, WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import type { CallToolResult, McpClient } from "../base/mcp-client.ts";
import { withOwnMethods } from "../events/client-errors.ts";
import type { ObserveProgress } from "./call-progress.ts";
import type { JudgedTool } from "../declare/tool-options.ts";

/** Whether `approval` decides the same for both. Databases change the order of members. */
export function isSameTool(one: JudgedTool, other: JudgedTool): boolean {
  return compareTools(judged(one), judged(other)) === undefined;
}

const judged = ({ name, annotations }: JudgedTool) => [{ name, annotations }];

/** A client whose calls are sent with what their caller knows of them. */
export interface NotingClient extends McpClient {
  /** Whether it is a small client of our own, and none of a framework. @default false */
  readonly isOwn?: boolean;
  callTool(call: NotedCall): Promise<CallToolResult>;
}

/** What such a client is called with. */
export interface NotedCall extends Omit<Parameters<McpClient["callTool"]>[0], "arguments"> {
  readonly arguments?: Record<string, unknown> | undefined;
  readonly notes?: CallEnvelope | undefined;
}

/** Has the fetch beneath a client know of a call. The session fetch passes it on. */
export const notesKey = Symbol("durable-mcp.callNotes");

/** What the caller of a client knows of a call, beside its arguments. */
export interface CallEnvelope extends CallNotes {
  /** The answer of a call that is settled: the client gets it, and nothing is sent. */
  readonly answer?: WaitingAnswer | undefined;
  /** Gets the call's progress. The server is only asked for it then. */
  readonly observe?: ObserveProgress | undefined;
  /** The tool with which the call may run. A session that replaces a lost one may have another of its name. */
  readonly allowed?:
    | {
        readonly tool: JudgedTool;
        /** Decides again. Gives the result of a call that may not run with the tool as it is now. */
        readonly decide: (now: JudgedTool) => Promise<CallToolResult | undefined>;
      }
    | undefined;
}

/**
 * The argument that names a call's envelope, between the caller of a client and its transport. Clients have no place
 * for it: `@ai-sdk/mcp` takes neither `_meta` nor headers for a call, makes a signal of its own of the caller's, and
 * counts its request ids in private. Each way to a server takes it out again in one place, beneath what may send a
 * request again.
 */
const markKey = "durable-mcp/call";
/** What begins the progress tokens of calls in envelopes. Servers see them, and no mark. */
export const tokenStart = "durable-mcp/";

const underWay = new Map<string, CallEnvelope & { readonly progressToken?: string | undefined }>();
const observers = new Map<string, ObserveProgress>();

/** A framework's client, whose transport takes the envelopes of its calls out. */
export function inEnvelopes<CLIENT extends McpClient>(client: CLIENT): CLIENT & NotingClient {
  const callTool: NotingClient["callTool"] = async ({ notes, ...call }) => {
    if (notes === undefined) return await client.callTool(call as NotedCall as never);
    return await inEnvelope(notes, call.arguments, (marked) =>
      client.callTool({ ...call, arguments: marked }),
    );
  };
  return withOwnMethods<CLIENT & NotingClient>(client, { callTool } as never);
}

async function inEnvelope<T>(
  envelope: CallEnvelope,
  input: unknown,
  call: (marked: any) => PromiseLike<T>,
): Promise<T> {
  const mark = randomToken();
  const { observe } = envelope;
  const progressToken = observe && tokenStart + randomToken();
  let failure: unknown;
  const onFailure = (error: unknown) => void (failure = error);
  underWay.set(mark, { ...envelope, progressToken, onFailure });
  if (progressToken !== undefined) observers.set(progressToken, observe!);
  try {
    return await call({ ...(input as object | undefined), [markKey]: mark });
  } catch (error) {
    // Of an error in an answer stream clients only have the words.
    throw failure ?? error;
  } finally {
    underWay.delete(mark);
    observers.delete(progressToken ?? "");
  }
}

/** The failure of a kept answer for a client that only hears its server on another stream: HTTP+SSE. */
export const notReplayed = new Error(
  "A client over HTTP+SSE cannot be given an answer that is kept.",
);

/** A message of a client. */
interface Message {
  readonly id?: unknown;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** The message of a request's body, if it may be in an envelope. */
export function markedMessage(body: unknown): Message | undefined {
  const mayBeMarked = underWay.size > 0 && typeof body === "string" && body.includes(markKey);
  return mayBeMarked ? (JSON.parse(body) as Message) : undefined;
}

/** The message as it goes to the server, but still in its envelope. */
export function askForProgress<MESSAGE extends object>(message: MESSAGE): MESSAGE {
  const { params } = message as Message;
  const { progressToken } = envelopeOf(message) ?? {};
  if (progressToken === undefined) return message;
  const meta = { ...(params!["_meta"] as object | undefined), progressToken };
  return { ...message, params: { ...params, _meta: meta } };
}

/** The envelope of a message. The model cannot name one, because it does not know the mark. */
export function envelopeOf(message: object) {
  const marked = (message as Message).params?.["arguments"];
  const mark = isRecord(marked) ? marked[markKey] : undefined;
  return typeof mark === "string" ? underWay.get(mark) : undefined;
}

/** Takes a message out of its envelope; the same object without one. */
export function takeOut<MESSAGE extends object>(message: MESSAGE): MESSAGE {
  if (envelopeOf(message) === undefined) return message;
  const { params } = message as Message;
  const { [markKey]: _, ...input } = params!["arguments"] as Record<string, unknown>;
  return { ...message, params: { ...params, arguments: input } };
}

/** Takes a notification of a server. @returns whether it is about a call in an envelope, or of our own client */
export function takeProgress(...given: Parameters<typeof progressIn>): boolean {
  const said = progressIn(...given);
  if (said?.progress) observers.get(said.token)?.(said.progress);
  return said !== undefined;
}

/**
 * The progress of one of our calls, which may be over. Nothing of it is to be trusted.
 *
 * @param scrub takes secrets out of the server's texts
 */
export function progressIn(said: object, scrub: (text: string) => string) {
  const { method, params } = said as { readonly method?: unknown; readonly params?: unknown };
  if (method !== "notifications/progress" || !isRecord(params)) return undefined;
  const { progressToken: token, progress, total, message } = params;
  if (typeof token !== "string" || !token.startsWith(tokenStart)) return undefined;
  if (!Number.isFinite(progress)) return { token };
  const words = typeof message === "string" && scrub(message).slice(0, serverLimits.message);
  return {
    token,
    progress: {
      progress: progress as number,
      ...(Number.isFinite(total) && { total: total as number }),
      ...(words !== false && { message: words }),
    },
  };
}
