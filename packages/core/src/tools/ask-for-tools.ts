import { abortable, timeLimited } from "../base/bounded-wait.ts";
import { type BoundedRequest, type SessionContext, sendOwn } from "../session/session-context.ts";
import type { ToolDefinition } from "../session/session-snapshot.ts";
import type { LiveSession } from "../session/slot-state.ts";
import type { JsonRpcRequest, JsonRpcResponse } from "../wire/json-rpc.ts";
import { letGo, readAnswer } from "../wire/read-answer.ts";
import { answerOrReason } from "../wire/server-endpoint.ts";
import { boundPage, listPages, uniqueTools } from "./list-pages.ts";

/** For all pages, in milliseconds. */
const listTimeoutMs = 10_000;

interface ToolsQuery {
  /** Called for each page, with its request. */
  readonly onPage?: (page: JsonRpcResponse, message: JsonRpcRequest) => void;
}

/**
 * Asks a session for all pages of its tool list.
 *
 * @throws when the server does not give them in time
 */
export async function askForTools(
  context: SessionContext,
  session: LiveSession | undefined,
  request: BoundedRequest,
  { onPage }: ToolsQuery = {},
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
    if (page.result === undefined) throw new Error("The list does not end.");
    onPage?.(page, message);
    return page.result as { readonly tools: ToolDefinition[]; readonly nextCursor?: string };
  };
  const pages = await timeLimited(listTimeoutMs, request.signal, (signal) =>
    listPages("tools/list", (cursor) => list(cursor, signal)),
  );
  return uniqueTools(pages.flatMap(({ tools }) => tools));
}
