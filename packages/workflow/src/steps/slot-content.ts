import { isRecord } from "@durable-mcp/core/internal";
import type { KeptResult, SessionSnapshot } from "@durable-mcp/core";

/**
 * The part of a snapshot that the slot has. Each call's step gets the slot, so it has no lists, which may be
 * long: of the tools only the parameters that calls repeat in headers.
 */
export function forSlot(snapshot: SessionSnapshot): SessionSnapshot {
  const { toolList: _, ...rest } = { toolList: undefined, ...snapshot };
  if (!("kept" in rest) || rest.kept === undefined) return rest;
  const kept = rest.kept
    .filter((each) => isToolList(each) || !each.method.endsWith("/list"))
    .map((each) => (isToolList(each) ? withTools(each, toolsIn(each).flatMap(withHeaders)) : each));
  return { ...rest, kept };
}

/** The snapshot for the step of one call: it lists the called tool alone, so that the client lists nothing. */
export function forCall(snapshot: SessionSnapshot, tool: string, now: number): SessionSnapshot {
  const any = { name: tool, inputSchema: { type: "object" } };
  if ("kept" in snapshot && snapshot.kept !== undefined) {
    const find = (page: KeptResult) => toolsIn(page).filter(({ name }) => name === tool);
    const isFound = snapshot.kept.some((each) => isToolList(each) && find(each).length > 0);
    const kept = snapshot.kept.map((each) => {
      if (!isToolList(each)) return each;
      return withTools(each, isFound || each.cursor !== undefined ? find(each) : [any]);
    });
    return { ...snapshot, kept };
  }
  if (!("initializeResult" in snapshot) || snapshot.initializeResult === undefined) return snapshot;
  return { ...snapshot, toolList: { tools: [any], listedAt: now } };
}

interface ListedTool {
  readonly name: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

function isToolList({ method }: KeptResult): boolean {
  return method === "tools/list";
}

function toolsIn({ result }: KeptResult): ListedTool[] {
  return (result as { tools?: ListedTool[] }).tools ?? [];
}

function withTools(page: KeptResult, tools: readonly ListedTool[]): KeptResult {
  return { ...page, result: { ...page.result, tools } };
}

/** The tool with the parameters that a call repeats in headers, if it has any. */
function withHeaders({ name, inputSchema }: ListedTool): ListedTool[] {
  const own = headerParts(inputSchema);
  return own ? [{ name, inputSchema: { type: "object", ...own } }] : [];
}

/** The parts of a schema on the way to parameters that go into headers. */
function headerParts(schema: unknown): { readonly properties: object } | undefined {
  const properties = isRecord(schema) ? schema["properties"] : undefined;
  if (!isRecord(properties)) return undefined;
  const parts = Object.entries(properties).flatMap(([name, property]) => {
    if (isRecord(property) && Object.hasOwn(property, "x-mcp-header")) return [[name, property]];
    const inner = headerParts(property);
    return inner ? [[name, inner]] : [];
  });
  return parts.length > 0 ? { properties: Object.fromEntries(parts) } : undefined;
}
