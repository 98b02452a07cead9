import { isRecord } from "../base/json-values.ts";
import type { ToolChanges } from "../session/session-event.ts";
import type { JsonRpcResponse } from "../wire/json-rpc.ts";

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

const unknownTool =
  /unknown tool|no such tool|tool\b.{0,200}\b(not found|does not exist|unknown)/is;

/**
 * Whether an answer says that there is no such tool. Servers report it as an error or, like the official
 * SDK now, as a result with `isError`.
 */
export function reportsUnknownTool({ error, result }: JsonRpcResponse, name: unknown): boolean {
  const content = result?.["isError"] === true ? result["content"] : undefined;
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const text: unknown = error?.message ?? (isRecord(first) ? first["text"] : undefined);
  if (typeof text !== "string" || typeof name !== "string" || !text.includes(name)) return false;
  return unknownTool.test(text);
}
