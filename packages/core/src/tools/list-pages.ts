import { setBounded } from "../base/bounded-map.ts";
import { serverLimits } from "../base/server-limits.ts";
import type { SessionContext } from "../session/session-context.ts";
import type { JsonRpcRequest, JsonRpcResponse } from "../wire/json-rpc.ts";

/** This many cursors are remembered in a session fetch. */
const maxCursors = 1_000;

/**
 * All pages of a list. It ends without a cursor, and when an empty cursor comes again: some servers name it
 * after their last page, although it is a cursor like any other. Servers that never end get no further requests.
 *
 * @param onCut called if the list ends with page 100, or because another cursor comes again
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
 */
export async function listPages<PAGE extends { nextCursor?: string | null | undefined }>(
  list: (cursor: string | undefined) => Promise<PAGE>,
  onCut: () => void,
): Promise<PAGE[]> {
  const pages: PAGE[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (;;) {
    const page = await list(cursor);
    pages.push(page);
    cursor = page.nextCursor ?? undefined;
    if (cursor === undefined || (cursor === "" && cursors.has(cursor))) return pages;
    if (cursors.has(cursor) || pages.length === serverLimits.pages) {
      onCut();
      return pages;
    }
    cursors.add(cursor);
  }
}

/** Each tool once, because a page that comes again brings the same tools. */
export function uniqueTools<TOOL extends { readonly name: string }>(tools: TOOL[]): TOOL[] {
  return [...new Map(tools.map((tool) => [(tool as TOOL | null)?.name, tool])).values()];
}

/**
 * A page for a client, which follows cursors for as long as there are any. A page that names its own cursor again is
 * the last one, as page 100 is.
 */
export function boundPage(
  { pagesBefore, emit }: SessionContext,
  message: JsonRpcResponse,
  request: JsonRpcRequest,
): JsonRpcResponse {
  if (!isLaterPage(request)) return message;
  const { nextCursor, ...page } = message.result ?? {};
  if (nextCursor == null) return message;
  const { method, params } = request;
  const cursor = params?.["cursor"];
  const isAgain = nextCursor === cursor;
  const before = (pagesBefore.get(keyOf(method, cursor)) ?? 1) + 1;
  setBounded(pagesBefore, keyOf(method, nextCursor), before, maxCursors);
  if (before < serverLimits.pages && !isAgain) return message;
  if (!isAgain || cursor !== "") emit({ type: "list-cut", method });
  return { ...message, result: page };
}

/** Whether an answer may need `boundPage`. */
function isLaterPage({ method, params }: JsonRpcRequest): boolean {
  return params?.["cursor"] !== undefined && method.endsWith("/list");
}

const keyOf = (...parts: unknown[]) => JSON.stringify(parts);
