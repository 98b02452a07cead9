import { abortable, timeLimited } from "../base/bounded-wait.ts";
import { type BoundedRequest, type SessionContext, sendOwn } from "../session/session-context.ts";
import { liveSession } from "../session/session-life.ts";
import {
  type ActiveSessionSnapshot,
  isKeepable,
  type ToolDefinition,
  type ToolList,
} from "../session/session-snapshot.ts";
import type { LiveSession } from "../session/slot-state.ts";
import type { JsonRpcRequest, JsonRpcResponse } from "../wire/json-rpc.ts";
import { letGo, readAnswer } from "../wire/read-answer.ts";
import { answerOrReason } from "../wire/server-endpoint.ts";
import { boundPage, listPages, uniqueTools } from "./list-pages.ts";
import { isShortList, keptList, observeTools, tellChanges } from "./tool-list.ts";

// The lists that the fetch asks for itself, before a new session is used.

/**
 * With `toolList.beforeSave`: lists the tools of a new session before it is saved, for clients that list next.
 * Their list is answered from it, and the session and its tools are one save.
 *
 * Best effort, and within half of the handshake's time: if it fails, the client's own `tools/list` goes to the
 * server. A list that is too large to save answers that, too.
 *
 * @returns the tools, if they can be saved
 */
export async function listFirst(
  context: SessionContext,
  session: ActiveSessionSnapshot,
  request: BoundedRequest,
): Promise<ToolList | undefined> {
  const { state, now, initializeMs, toolList } = context;
  if (!toolList.beforeSave || session.initializeResult.capabilities["tools"] == null)
    return undefined;
  try {
    // Whoever lists next has a time limit, too.
    const tools = await timeLimited(
      initializeMs / 2,
      request.signal,
      (signal) => askForTools(context, session, { ...request, signal }),
      leftToClient(),
    );
    const list = { tools, listedAt: now() };
    const isShort = isShortList(context, list);
    state.tools.local = { session, list };
    return isShort && isKeepable({ ...session, toolList: list }) ? list : undefined;
  } catch {
    return undefined;
  }
}

/** No time-out: a server that is slow here may not be taken for one that hangs. */
function leftToClient(): DOMException {
  return new DOMException("The list is left to the client.", "AbortError");
}

/**
 * Lists the tools of a replacement session, if the lost session had a kept list. Clients with the old
 * list do not ask again, and the next step should not have to. Best effort: if it fails, the next
 * `tools/list` goes to the server.
 */
export async function relistTools(
  context: SessionContext,
  lost: ActiveSessionSnapshot,
  request: BoundedRequest,
): Promise<void> {
  const { state } = context;
  const before = lost.toolList ?? state.tools.local?.list;
  if (before === undefined) return;
  try {
    if (keptList(context) === undefined) {
      await askForTools(context, liveSession(state), request, (page, message) =>
        observeTools(context, page, message),
      );
    }
  } catch {
    return;
  }
  const listed = keptList(context)?.tools;
  if (listed) tellChanges(context, "new-session", before.tools, listed);
}

/** For all pages, in milliseconds. */
const listTimeoutMs = 10_000;

/**
 * Asks a session for all pages of its tool list.
 *
 * @param onPage called for each page, with its request
 * @throws when the server does not give them in time
 */
async function askForTools(
  context: SessionContext,
  session: LiveSession | undefined,
  request: BoundedRequest,
  onPage?: (page: JsonRpcResponse, message: JsonRpcRequest) => void,
): Promise<ToolDefinition[]> {
  const list = async (cursor: string | undefined, signal: AbortSignal) => {
    const id = context.ids.next();
    const params = cursor === undefined ? {} : { params: { cursor } };
    const message: JsonRpcRequest = { jsonrpc: "2.0", id, method: "tools/list", ...params };
    const sending = sendOwn(context, session, message, { ...request, signal });
    const response = await answerOrReason(sending, signal);
    // Some fetches ignore the signal, and the requests of the step wait for this.
    const answer = response.ok ? await abortable(readAnswer(response, id), signal) : undefined;
    if (!Array.isArray(answer?.result?.["tools"])) {
      letGo(response);
      throw new Error("The server did not list its tools.");
    }
    const page = boundPage(context, answer, message);
    onPage?.(page, message);
    return page.result as { readonly tools: ToolDefinition[]; readonly nextCursor?: string };
  };
  const pages = await timeLimited(listTimeoutMs, request.signal, (signal) =>
    listPages(
      (cursor) => list(cursor, signal),
      () => context.emit({ type: "list-cut", method: "tools/list" }),
    ),
  );
  return uniqueTools(pages.flatMap(({ tools }) => tools));
}
