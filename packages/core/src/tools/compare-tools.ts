import { isRecord } from "../base/json-values.ts";
import type { ToolChanges } from "../session/session-event.ts";

interface Named {
  readonly name: string;
}

/** How many names of each kind are reported. */
const maxNames = 100;
/** How many characters of a name are reported. */
const maxLength = 128;

/** The names of the tools in which two lists differ; `undefined` if there are none. */
export function compareTools(
  before: readonly Named[],
  tools: readonly Named[],
): ToolChanges | undefined {
  const old = printed(before);
  const now = printed(tools);
  const named = (from: typeof now, isMeant: (name: string) => boolean) =>
    [...from.keys()]
      .filter(isMeant)
      .slice(0, maxNames)
      .map((name) => name.slice(0, maxLength));
  const added = named(now, (name) => !old.has(name));
  const removed = named(old, (name) => !now.has(name));
  const changed = named(now, (name) => old.has(name) && old.get(name) !== now.get(name));
  const isSame = (added[0] ?? removed[0] ?? changed[0]) === undefined;
  return isSame ? undefined : { added, removed, changed };
}

/** The definitions by name. Databases change the order of members, which means nothing. */
const printed = (tools: readonly Named[]) =>
  new Map(
    tools.map((tool) => [String((tool as Named | null)?.name), JSON.stringify(tool, sorted)]),
  );

function sorted(_: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, value[name]]));
}
