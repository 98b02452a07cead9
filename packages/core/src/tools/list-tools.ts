import type { ToolDefinition } from "../session/session-snapshot.ts";
import { listPages, uniqueTools } from "./list-pages.ts";
import { inSlotKey } from "./tool-list.ts";

interface ListPage<TOOL> {
  readonly tools: TOOL[];
  readonly nextCursor?: string | null | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

interface ListParams {
  readonly _meta?: Record<string, unknown>;
  readonly cursor?: string;
}

/**
 * All tools that a client lists, each once. Those that its session fetch has in the slot are taken from there, so that
 * nobody prints and parses them.
 *
 * @param list sends a `tools/list`; without parameters for the first page
 * @param inSlot as of `manageSlot`. @default the client has no slot
 * @param onCut called if the list ends before its last page
 */
export async function listTools<TOOL extends { readonly name: string }>(
  list: (params: ListParams | undefined) => Promise<ListPage<TOOL>>,
  inSlot: (() => { readonly tools?: readonly ToolDefinition[] } | undefined) | undefined,
  onCut: () => void,
): Promise<readonly (TOOL | ToolDefinition)[]> {
  const listAll = async (mark?: ListParams) =>
    await listPages((cursor) => list(cursor === undefined ? mark : { ...mark, cursor }), onCut);
  const pages = await listAll(inSlot?.() && { _meta: { [inSlotKey]: true } });
  const left = pages.filter(({ _meta }) => _meta?.[inSlotKey] === true);
  const tools = left.length === pages.length ? inSlot?.()?.tools : undefined;
  if (tools) return tools;
  // The session was lost while it listed.
  const whole = left.length > 0 ? await listAll() : pages;
  return uniqueTools(whole.flatMap((page) => page.tools));
}
