import { setBounded } from "../base/bounded-map.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { SessionContext } from "../session/session-context.ts";
import { deliverFailure } from "../session/session-slot.ts";
import type { JsonRpcRequest, JsonRpcResponse } from "../wire/json-rpc.ts";

/** A list of more pages does not end. */
const maxPages = 100;
/** This many cursors are remembered in a session fetch. */
const maxCursors = 1_000;

/**
 * All pages of a list. It ends without a cursor, and when an empty cursor comes again: some servers name it
 * after their last page, although it is a cursor like any other.
 *
 * @param where names the list in an error, for example its connection and server
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` after 100 pages, or if another cursor comes again
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
 */
export async function listPages<PAGE extends { nextCursor?: string | null | undefined }>(
  where: string,
  list: (cursor: string | undefined) => Promise<PAGE>,
): Promise<PAGE[]> {
  const pages: PAGE[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (;;) {
    if (pages.length === maxPages) throw endlessList(where);
    const page = await list(cursor);
    pages.push(page);
    cursor = page.nextCursor ?? undefined;
    if (cursor === undefined || (cursor === "" && cursors.has(cursor))) return pages;
    if (cursors.has(cursor)) throw endlessList(where);
    cursors.add(cursor);
  }
}

/** Each tool once, because a page that comes again brings the same tools. */
export function uniqueTools<TOOL extends { readonly name: string }>(tools: TOOL[]): TOOL[] {
  return [...new Map(tools.map((tool) => [(tool as TOOL | null)?.name, tool])).values()];
}

/**
 * A page for a client, which follows cursors for as long as there are any. A page that names its own
 * cursor again is the last one if that is empty, and otherwise an error, as it is after 100 pages.
 */
export function boundPage(
  { pagesBefore, state, url }: SessionContext,
  message: JsonRpcResponse,
  request: JsonRpcRequest,
): JsonRpcResponse {
  if (!isLaterPage(request)) return message;
  const { nextCursor, ...page } = message.result ?? {};
  if (nextCursor == null) return message;
  const { id, method, params } = request;
  const cursor = params?.["cursor"];
  const isAgain = nextCursor === cursor;
  if (isAgain && cursor === "") return { ...message, result: page };
  const before = (pagesBefore.get(keyOf(method, cursor)) ?? 1) + 1;
  setBounded(pagesBefore, keyOf(method, nextCursor), before, maxCursors);
  if (before < maxPages && !isAgain) return message;
  const failure = endlessList(`${method} at ${url.origin}`, { method, origin: url.origin });
  return JSON.parse(deliverFailure(state, id, failure)) as JsonRpcResponse;
}

/** Whether an answer may need `boundPage`. */
function isLaterPage({ method, params }: JsonRpcRequest): boolean {
  return params?.["cursor"] !== undefined && method.endsWith("/list");
}

const keyOf = (...parts: unknown[]) => JSON.stringify(parts);

function endlessList(where: string, data: McpSessionError["data"] = {}): McpSessionError {
  const why = `the list does not end: it has ${maxPages} pages, or one names the nextCursor of another. The server has to be fixed: the last page must not have a nextCursor.`;
  return new McpSessionError("CONNECTION_UNAVAILABLE", `${where}: ${why}`, {
    data: { ...data, reason: "not-mcp" },
  });
}
