import type { MCPClient } from "@ai-sdk/mcp";
import { guarded, isRecord, randomToken } from "@durable-mcp/core/internal";

/**
 * How far a tool call has come, as its server says. Nothing of it is to be trusted.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress
 */
export interface ToolProgress {
  /** Grows with each report. It begins again when the call is sent again. */
  readonly progress: number;
  /** The `progress` at the end, if the server knows it. */
  readonly total?: number | undefined;
  /** For people, at most 1,000 characters. */
  readonly message?: string | undefined;
}

/** Gets a call's progress. Not called any more once the call has its result. */
export type ObserveProgress = (progress: ToolProgress) => void;

/** Follows the calls of the clients of one connection. */
export interface ProgressTracker {
  /**
   * Makes a call whose progress is followed. `@ai-sdk/mcp` takes no progress token for a call, so one is put
   * into the call's arguments here, and moved to its place by `send`.
   */
  follow<T>(
    input: Readonly<Record<string, unknown>>,
    observe: ObserveProgress,
    call: (marked: Readonly<Record<string, unknown>>) => PromiseLike<T>,
  ): Promise<T>;
  /** The caller's own arguments of a call that is followed, and who follows it. */
  release(input: unknown):
    | {
        readonly input: Readonly<Record<string, unknown>>;
        readonly observe: ObserveProgress | undefined;
      }
    | undefined;
  /** Whether a JSON text may be a message for `send`. */
  mayBeMarked(json: string): boolean;
  /** The message as it goes to the server; the same object for one that is not followed. */
  send<MESSAGE extends object>(message: MESSAGE): MESSAGE;
  /** Takes a notification of the server. Returns whether it is about a call of these clients. */
  receive(method: string, params: unknown): boolean;
}

/** The argument with the token, between the caller of a client and its transport. */
const markKey = "durable-mcp/progressToken";
const maxLength = 1_000;

/** @param scrub takes secrets out of the server's texts */
export function createProgressTracker(scrub: (text: string) => string): ProgressTracker {
  const followed = new Map<string, ObserveProgress>();
  /** All tokens begin with it. Empty until the first call is followed. */
  let prefix = "";
  let count = 0;
  const isOwn = (token: unknown): token is string =>
    typeof token === "string" && prefix !== "" && token.startsWith(prefix);
  const unmark = (marked: unknown) => {
    if (!isRecord(marked)) return undefined;
    const { [markKey]: progressToken, ...input } = marked;
    return isOwn(progressToken) ? { progressToken, input } : undefined;
  };

  return {
    async follow(input, observe, call) {
      prefix ||= `${randomToken()}.`;
      count += 1;
      const token = prefix + count;
      followed.set(token, observe);
      try {
        return await call({ ...input, [markKey]: token });
      } finally {
        followed.delete(token);
      }
    },
    release(input) {
      const marked = unmark(input);
      return marked && { input: marked.input, observe: followed.get(marked.progressToken) };
    },
    mayBeMarked: (json) => prefix !== "" && json.includes(`"${markKey}":"${prefix}`),
    send(message) {
      const { params } = message as { params?: unknown };
      if (!isRecord(params)) return message;
      const marked = unmark(params["arguments"]);
      if (marked === undefined) return message;
      const { progressToken, input } = marked;
      const meta = { ...(params["_meta"] as object | undefined), progressToken };
      return { ...message, params: { ...params, arguments: input, _meta: meta } };
    },
    receive(method, params) {
      if (method !== "notifications/progress" || !isRecord(params)) return false;
      const { progressToken, progress, total, message } = params;
      if (!isOwn(progressToken)) return false;
      const observe = followed.get(progressToken);
      if (observe === undefined || !Number.isFinite(progress)) return true;
      observe({
        progress: progress as number,
        ...(Number.isFinite(total) && { total: total as number }),
        ...(typeof message === "string" && { message: scrub(message).slice(0, maxLength) }),
      });
      return true;
    },
  };
}

const trackerKey = Symbol("durable-mcp.progress");

/** Lets `reportProgress` follow the calls of a client. Its transport has to send with the tracker. */
export function track(client: MCPClient, tracker: ProgressTracker): void {
  // A property, because it is seen through the proxies around a client.
  Object.defineProperty(client, trackerKey, { value: tracker });
}

/** Hands a call of a client, which may be followed, on to another client. */
export async function handOn<T>(
  from: MCPClient,
  to: MCPClient,
  input: unknown,
  call: (input: any) => PromiseLike<T>,
): Promise<T> {
  const marked = trackerOf(from)?.release(input);
  if (marked?.observe === undefined) return await call(marked?.input ?? input);
  return await (trackerOf(to)?.follow(marked.input, marked.observe, call) ?? call(marked.input));
}

function trackerOf(client: MCPClient): ProgressTracker | undefined {
  return (client as { [trackerKey]?: ProgressTracker })[trackerKey];
}

/** Makes one attempt of a call on a client. */
export type Attempt = <T>(
  client: MCPClient,
  input: unknown,
  call: (input: any) => PromiseLike<T>,
) => PromiseLike<T>;

/** A bar needs no more. Servers may report each of thousands of items. */
const intervalMs = 100;

/**
 * Runs a tool call. Its progress goes to `observers`, at most every 100 ms: of several reports meanwhile
 * the last. Without observers, and on a client that nobody tracks, the server is asked for none.
 *
 * @param observers their errors are dropped
 * @param run makes the call; each attempt goes through the given function
 */
export async function reportProgress<T>(
  observers: readonly (ObserveProgress | undefined)[],
  run: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  const listening = observers.filter((observe) => observe !== undefined).map(guarded);
  if (listening.length === 0) return await run((_, input, call) => call(input));
  let latest: ToolProgress | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    const progress = latest;
    latest = undefined;
    if (progress !== undefined) for (const observe of listening) observe(progress);
    return progress !== undefined;
  };
  const pace = () => {
    timer = flush() ? setTimeout(pace, intervalMs) : undefined;
  };
  const observe = (progress: ToolProgress) => {
    latest = progress;
    if (timer === undefined) pace();
  };
  try {
    return await run((client, input, call) => {
      const tracker = trackerOf(client);
      if (tracker === undefined || !isRecord(input)) return call(input);
      return tracker.follow(input, observe, call);
    });
  } finally {
    clearTimeout(timer);
    flush();
  }
}
