import { setBounded } from "../base/bounded-map.ts";
import { isFresh, type SessionContext } from "../session/session-context.ts";
import { liveSession, saveSnapshot } from "../session/session-life.ts";
import { sameSession, type SlotState } from "../session/slot-state.ts";
import {
  isKeepable,
  isOutdated,
  outdated,
  type ToolDefinition,
  type ToolList,
} from "../session/session-snapshot.ts";
import {
  type JsonRpcMessage,
  type JsonRpcRequest,
  type JsonRpcResponse,
  parseMessage,
} from "../wire/json-rpc.ts";
import { uniqueTools } from "./list-pages.ts";
import { reportsUnknownTool } from "./unknown-tool.ts";

/** The kept tools of a complete `tools/list`, of this step or an earlier one, if they can answer it. */
export function toolsFor(
  context: SessionContext,
  { method, params = {} }: JsonRpcRequest,
): { tools: ToolDefinition[] } | undefined {
  const asksForAll = method === "tools/list" && Object.keys(params).every((key) => key === "_meta");
  const list = asksForAll ? keptList(context) : undefined;
  return list && { tools: list.tools };
}

export function keptList(context: SessionContext) {
  const list = lastList(context.state);
  return list && !isOutdated(list) && isFresh(context, list.listedAt) ? list : undefined;
}

/** The last list of the session in use, however old. */
export function lastList(state: SlotState): ToolList | undefined {
  const live = liveSession(state);
  const { local } = state.tools;
  if (live === undefined) return undefined;
  return local && sameSession(local.session, live) ? local.read() : savedList(state);
}

function savedList({ snapshot }: SlotState): ToolList | undefined {
  return snapshot && "toolList" in snapshot ? snapshot.toolList : undefined;
}

/** Reads a message of the server: pages of a list, news about the list, an unknown tool. */
export function observeTools(
  context: SessionContext,
  message: JsonRpcMessage,
  request: JsonRpcRequest | undefined,
): void {
  if ("method" in message) {
    if (message.method === "notifications/tools/list_changed") dropList(context, "list-changed");
  } else if (request?.method === "tools/list") {
    collectPage(context, message, request);
  } else if (request?.method === "tools/call") {
    if (reportsUnknownTool(message, request.params?.["name"])) dropList(context, "unknown-tool");
  }
}

function dropList(context: SessionContext, reason: "list-changed" | "unknown-tool"): void {
  const { state, emit } = context;
  const hadList = keptList(context) !== undefined;
  const { local, pages } = state.tools;
  // The next list is compared with it, in a later step, too.
  const list = local?.read();
  state.tools.local = local && list && { ...local, read: () => outdated(list) };
  pages.clear();
  const saved = savedList(state);
  if (saved) saveList(state, outdated(saved));
  if (hadList || reason === "list-changed") emit({ type: "tools-changed", reason });
}

/** Lists under way that are collected at once. */
const maxUnderWay = 100;

/** Collects the pages of a list, and keeps the list when it is complete. */
function collectPage(
  context: SessionContext,
  { result }: JsonRpcResponse,
  { params = {} }: JsonRpcRequest,
): void {
  const {
    state,
    now,
    toolList: { maxLength = 200_000 },
  } = context;
  const { pages } = state.tools;
  const session = liveSession(state);
  const { tools: page, nextCursor } = result ?? {};
  if (session === undefined || !Array.isArray(page)) return;
  const { cursor } = params;
  const before = cursor === undefined ? { session, tools: [] } : pages.get(cursor);
  pages.delete(cursor);
  if (before === undefined || !sameSession(before.session, session)) return;
  const tools = uniqueTools([...before.tools, ...(page as ToolDefinition[])]);
  if (nextCursor != null) return setBounded(pages, nextCursor, { session, tools }, maxUnderWay);
  // A list that is too deep to be printed cannot answer a client either.
  const { length } = JSON.stringify(tools);
  const list = { tools, listedAt: now() };
  const last = lastList(state);
  state.tools.local = { session, read: () => list };
  if (last) context.continuity.compare(context, last.tools, tools);
  const { snapshot } = state;
  if (snapshot === undefined || !("initializeResult" in snapshot)) return;
  if (snapshot.kind !== session.kind) return;
  if (snapshot.kind === "session" && !sameSession(snapshot, session)) return;
  const isSaved = length <= maxLength && isKeepable({ ...snapshot, toolList: list });
  saveList(state, isSaved ? list : undefined);
}

/** What may be a member `nextCursor`, with letters written as escapes too. */
const mayHavePages = /"nextCursor"|\\u00[4-7]/;

/**
 * Keeps the first list of a step as the text of its answer, if it is complete and far too long to be saved. The client
 * reads the text anyway; here it is only read when the list answers another client, or is compared.
 *
 * @param textOf the answer
 * @returns whether the text is all that was needed
 */
export function keepUnread(
  { state, now, toolList: { maxLength = 200_000 } }: SessionContext,
  { method, params = {} }: JsonRpcRequest,
  textOf: () => string,
): boolean {
  const session = liveSession(state);
  if (method !== "tools/list" || params["cursor"] !== undefined || session === undefined)
    return false;
  // With a list before it there is something to compare.
  if (state.tools.local !== undefined || savedList(state) !== undefined) return false;
  const text = textOf();
  // White space and escapes make the text longer than the tools are when they are saved.
  if (text.length <= 2 * maxLength || mayHavePages.test(text)) return false;
  const listedAt = now();
  state.tools.local = { session, read: () => readList(text, listedAt) };
  return true;
}

function readList(text: string, listedAt: number): ToolList | undefined {
  const message = parseMessage(text);
  const { tools } = (message && "result" in message && message.result) || {};
  return Array.isArray(tools)
    ? { tools: uniqueTools(tools as ToolDefinition[]), listedAt }
    : undefined;
}

function saveList(state: SlotState, list: ToolList | undefined): void {
  const { snapshot } = state;
  if (snapshot === undefined || !("initializeResult" in snapshot)) return;
  const { toolList, ...others } = snapshot;
  if (list !== undefined) saveSnapshot(state, { ...snapshot, toolList: list });
  else if (toolList !== undefined) saveSnapshot(state, others);
}
