import { abortable, withTimeLimit } from "../base/bounded-wait.ts";
import { isRecord, sameJson } from "../base/json-values.ts";
import { type LiveSession, sameSession } from "../session/live-session.ts";
import { type RequestTemplate, type SessionContext, sendOwn } from "../session/session-context.ts";
import { liveSession, saveSnapshot } from "../session/session-life.ts";
import {
  type ActiveSessionSnapshot,
  isKeepable,
  type ToolDefinition,
  type ToolList,
} from "../session/session-snapshot.ts";
import type { JsonRpcMessage, JsonRpcRequest } from "../wire/json-rpc.ts";
import { letGo, readAnswer } from "../wire/read-answer.ts";
import type { PendingRequest } from "../wire/request-ids.ts";

/** Limits of a kept tool list. */
export interface ToolListOptions {
  /** A list older than this, in milliseconds, is asked for again. @default 3600000 (1 hour) */
  readonly maxAgeMs?: number;
  /** A list whose JSON is longer than this, in characters, is only kept for the step. @default 200000 */
  readonly maxLength?: number;
}

/**
 * Keeps the tools of a complete `tools/list` and answers later `tools/list` requests from them, in this
 * step and, through the snapshot, in later steps.
 */
export interface ToolListKeeper {
  /** The kept list, if it can answer this request. */
  answer(request: JsonRpcRequest): { tools: ToolDefinition[] } | undefined;
  /** Reads a message of the server: pages of a list, news about the list, an unknown tool. */
  readonly observe: (message: JsonRpcMessage, request: PendingRequest | undefined) => void;
}

export function createToolListKeeper(
  { state, emit, now }: SessionContext,
  options: ToolListOptions = {},
): ToolListKeeper {
  const { maxAgeMs = 3_600_000, maxLength = 200_000 } = options;
  /** The pages so far, under the cursor of the next page. */
  const partialLists = new Map<unknown, { session: LiveSession; tools: ToolDefinition[] }>();

  const kept = (): ToolList | undefined => {
    const live = liveSession(state);
    if (live === undefined) return undefined;
    const { snapshot, tools } = state;
    const { local } = tools;
    const list =
      local !== undefined && sameSession(local.session, live)
        ? local.list
        : snapshot?.kind === "session"
          ? snapshot.toolList
          : undefined;
    if (list === undefined) return undefined;
    const age = now() - list.listedAt;
    return age >= 0 && age <= maxAgeMs ? list : undefined;
  };

  const keep = (session: LiveSession, tools: ToolDefinition[]) => {
    const list = { tools, listedAt: now() };
    state.tools.local = { session, list };
    const { snapshot } = state;
    if (snapshot?.kind !== "session" || session.kind !== "session") return;
    if (snapshot.sessionId !== session.sessionId) return;
    const extended = { ...snapshot, toolList: list };
    const isSaved = JSON.stringify(tools).length <= maxLength && isKeepable(extended);
    if (isSaved) saveSnapshot(state, extended);
    else removeSavedList();
  };

  const removeSavedList = () => {
    if (state.snapshot?.kind !== "session" || state.snapshot.toolList === undefined) return;
    const { toolList: _, ...snapshot } = state.snapshot;
    saveSnapshot(state, snapshot);
  };

  const drop = (reason: "list-changed" | "unknown-tool") => {
    const hadList = kept() !== undefined;
    state.tools.local = undefined;
    partialLists.clear();
    removeSavedList();
    if (hadList || reason === "list-changed") emit({ type: "tools-changed", reason });
  };

  const collect = (message: JsonRpcMessage, { params = {} }: JsonRpcRequest) => {
    const live = liveSession(state);
    const result = "result" in message ? message.result : undefined;
    if (live === undefined || !Array.isArray(result?.["tools"])) return;
    const { cursor } = params;
    const before = cursor === undefined ? { session: live, tools: [] } : partialLists.get(cursor);
    partialLists.delete(cursor);
    if (before === undefined || !sameSession(before.session, live)) return;
    const tools = [...before.tools, ...(result["tools"] as ToolDefinition[])];
    const nextCursor = result["nextCursor"];
    if (nextCursor == null) keep(live, tools);
    else partialLists.set(nextCursor, { session: live, tools });
  };

  return {
    answer(request) {
      if (!asksForFirstPage(request)) return undefined;
      const list = kept();
      return list && { tools: list.tools };
    },
    observe(message, pending) {
      if ("method" in message) {
        if (message.method === "notifications/tools/list_changed") drop("list-changed");
      } else if (pending?.request.method === "tools/list") {
        collect(message, pending.request);
      } else if (pending?.request.method === "tools/call") {
        if (reportsUnknownTool(message, pending.request.params?.["name"])) drop("unknown-tool");
      }
    },
  };
}

function asksForFirstPage({ method, params = {} }: JsonRpcRequest): boolean {
  return method === "tools/list" && Object.keys(params).every((key) => key === "_meta");
}

/** Servers report it as an error or, like the official SDK now, as a result with `isError`. */
function reportsUnknownTool(message: JsonRpcMessage, name: unknown): boolean {
  if ("method" in message || typeof name !== "string") return false;
  let text: unknown;
  if ("error" in message) text = message.error?.message;
  else if ("result" in message && message.result?.["isError"] === true) {
    const content = message.result["content"];
    text = Array.isArray(content) && isRecord(content[0]) ? content[0]["text"] : undefined;
  }
  if (typeof text !== "string" || !text.includes(name)) return false;
  return /unknown tool|no such tool|tool\b.{0,200}\b(not found|does not exist|unknown)/is.test(
    text,
  );
}

const maxPages = 100;
const timeoutMs = 10_000;

/**
 * Lists the tools of a replacement session, if the lost session had a kept list. Clients with the old
 * list do not ask again, and the next step should not have to. Best effort: if it fails, the next
 * `tools/list` goes to the server.
 */
export async function relistTools(
  context: SessionContext & { readonly tools: ToolListKeeper },
  lost: ActiveSessionSnapshot,
  template: RequestTemplate,
  signal: AbortSignal,
): Promise<void> {
  const { state, ids, tools, emit } = context;
  const request: JsonRpcRequest = { jsonrpc: "2.0", id: "", method: "tools/list" };
  const before = lost.toolList ?? state.tools.local?.list;
  if (before === undefined || tools.answer(request) !== undefined) return;
  const session = liveSession(state);
  const bounded = withTimeLimit(timeoutMs, signal);
  try {
    let cursor: unknown;
    for (let page = 0; page < maxPages; page += 1) {
      const id = ids.next();
      const message =
        cursor === undefined ? { ...request, id } : { ...request, id, params: { cursor } };
      const listing = sendOwn(context, message, session, template, bounded).then(
        async (response) => {
          if (response.ok) return await readAnswer(response, id);
          await letGo(response);
          return undefined;
        },
      );
      // Some fetches ignore the signal, and the requests of the step wait for this.
      const answer = await abortable(listing, bounded);
      if (answer?.result === undefined) return;
      tools.observe(answer, { wireId: id, request: message, progressToken: undefined });
      cursor = answer.result["nextCursor"];
      if (cursor == null) break;
    }
  } catch {
    return;
  }
  const listed = tools.answer(request)?.tools;
  if (listed && !sameJson(listed, before.tools)) {
    emit({ type: "tools-changed", reason: "new-session" });
  }
}
