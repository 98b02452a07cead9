import type { SessionSnapshot, ToolList } from "../session/session-snapshot.ts";

/** The list as one that answers no client any more, and is only compared with the next one. */
export function outdated(list: ToolList): ToolList {
  return { ...list, listedAt: -1 };
}

export function isOutdated({ listedAt }: ToolList): boolean {
  return listedAt < 0;
}

/** The tool list in a snapshot. */
export function toolsIn(snapshot: SessionSnapshot) {
  const { toolList, kept, ...others } = { toolList: undefined, kept: undefined, ...snapshot };
  const left = kept?.filter(({ method }) => method !== "tools/list");
  const isThere = toolList !== undefined || left?.length !== kept?.length;
  const without: SessionSnapshot | undefined = isThere
    ? { ...others, ...(left && { kept: left }) }
    : undefined;
  return {
    /** The list, unless it is outdated. */
    current: toolList && !isOutdated(toolList) ? toolList : undefined,
    /** The snapshot without its list; `undefined` when there is none to forget. */
    without,
    /** The snapshot whose list is only compared with the next one; `undefined` when there is none to forget. */
    outdated:
      without && toolList
        ? ({ ...without, toolList: outdated(toolList) } as SessionSnapshot)
        : without,
  };
}
