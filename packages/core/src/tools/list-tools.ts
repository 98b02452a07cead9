import { listPages, uniqueTools } from "./list-pages.ts";

interface ListPage<TOOL> {
  readonly tools: TOOL[];
  readonly nextCursor?: string | null | undefined;
}

/**
 * All tools that a client lists, each once.
 *
 * @param list sends a `tools/list`; without parameters for the first page
 * @param onCut called if the list ends before its last page
 */
export async function listTools<TOOL extends { readonly name: string }>(
  list: (params: { readonly cursor: string } | undefined) => Promise<ListPage<TOOL>>,
  onCut: () => void,
): Promise<TOOL[]> {
  const pages = await listPages(
    (cursor) => list(cursor === undefined ? cursor : { cursor }),
    onCut,
  );
  return uniqueTools(pages.flatMap((page) => page.tools));
}
