import { setBounded } from "../base/bounded-map.ts";
import { isFresh, type SessionContext } from "../session/session-context.ts";
import type { ToolChanges } from "../session/session-event.ts";
import { liveSession, saveSnapshot } from "../session/session-life.ts";
import { type LiveSession, sameSession, type SlotState } from "../session/slot-state.ts";
import {
  isKeepable,
  MAX_KEPT_LENGTH,
  type ToolDefinition,
  type ToolList,
} from "../session/session-snapshot.ts";
import type { JsonRpcMessage, JsonRpcRequest, JsonRpcResponse } from "../wire/json-rpc.ts";
import { scrubStrings } from "../wire/scrub-session-id.ts";
import { compareTools, reportsUnknownTool } from "./compare-tools.ts";
import { uniqueTools } from "./list-pages.ts";
import { isOutdated, outdated } from "./snapshot-tools.ts";

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
  return local && sameSession(local.session, live) ? local.list : savedList(state);
}

/** The list in a slot's snapshot, of the session in use or of one that was given up. */
export function savedList({ snapshot }: SlotState): ToolList | undefined {
  return snapshot && "toolList" in snapshot ? snapshot.toolList : undefined;
}

/** Reads news of the tools in a message of the server. @returns whether it was a page of a list that the slot has now */
export function observeTools(
  context: SessionContext,
  message: JsonRpcMessage,
  request: JsonRpcRequest | undefined,
): boolean {
  if ("method" in message) {
    if (message.method === "notifications/tools/list_changed") dropList(context, "list-changed");
  } else if (request?.method === "tools/list") {
    return collectPage(context, message, request);
  } else if (request?.method === "tools/call") {
    if (reportsUnknownTool(message, request.params?.["name"])) dropList(context, "unknown-tool");
  }
  return false;
}

function dropList(context: SessionContext, reason: "list-changed" | "unknown-tool"): void {
  const { state, emit } = context;
  const hadList = keptList(context) !== undefined;
  const { local, pages } = state.tools;
  // The next list is compared with it, in a later step, too.
  state.tools.local = local && { ...local, list: outdated(local.list) };
  pages.clear();
  const saved = savedList(state);
  if (saved) saveList(state, outdated(saved));
  if (hadList || reason === "list-changed") emit({ type: "tools-changed", reason });
}

/** Lists under way that are collected at once. */
const maxUnderWay = 100;

/** Collects the pages of a list, and keeps the list when it is complete. @returns whether it took the page */
function collectPage(
  context: SessionContext,
  { result }: JsonRpcResponse,
  { params = {} }: JsonRpcRequest,
): boolean {
  const { state } = context;
  const { pages } = state.tools;
  const session = liveSession(state);
  const { tools: page, nextCursor } = result ?? {};
  if (session === undefined || !Array.isArray(page)) return false;
  const { cursor } = params;
  const before = cursor === undefined ? { session, tools: [] } : pages.get(cursor);
  pages.delete(cursor);
  if (before === undefined || !sameSession(before.session, session)) return false;
  const tools = uniqueTools([...before.tools, ...(page as ToolDefinition[])]);
  if (nextCursor == null) keepList(context, session, tools);
  else setBounded(pages, nextCursor, { session, tools }, maxUnderWay);
  return true;
}

function keepList(context: SessionContext, session: LiveSession, tools: ToolDefinition[]): void {
  const { state, now } = context;
  const list = { tools, listedAt: now() };
  const isShort = isShortList(context, list);
  const last = lastList(state);
  state.tools.local = { session, list };
  if (last) tellChanges(context, "new-list", last.tools, tools);
  const { snapshot } = state;
  if (snapshot === undefined || snapshot.kind !== session.kind) return;
  if (snapshot.kind === "session" && !sameSession(snapshot, session)) return;
  saveList(state, isShort && isKeepable({ ...snapshot, toolList: list }) ? list : undefined);
}

/** Whether a list may be saved. A longer one is not printed to its end. @throws for tools too deep to be printed */
export function isShortList({ toolList }: SessionContext, { tools }: ToolList): boolean {
  const { maxLength = 200_000 } = toolList;
  let left = Math.min(maxLength, MAX_KEPT_LENGTH) - 1;
  return tools.every((tool) => (left -= JSON.stringify(tool).length + 1) >= 0);
}

function saveList(state: SlotState, list: ToolList | undefined): void {
  const { snapshot } = state;
  if (snapshot === undefined || !("initializeResult" in snapshot)) return;
  const { toolList, ...others } = snapshot;
  if (list !== undefined) saveSnapshot(state, { ...snapshot, toolList: list });
  else if (toolList !== undefined) saveSnapshot(state, others);
}

/** Reports how a list differs from the one before, by the tools' names. */
export function tellChanges(
  { state, emit }: SessionContext,
  reason: "new-list" | "new-session",
  before: readonly ToolDefinition[],
  tools: readonly ToolDefinition[],
): void {
  const changes = compareTools(before, tools);
  if (!changes) return;
  // A server without sessions names none.
  const { sessionId = "" } = { ...liveSession(state) } as { sessionId?: string };
  emit({ type: "tools-changed", reason, ...(scrubStrings(changes, sessionId) as ToolChanges) });
}
