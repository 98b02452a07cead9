import { isRecord } from "@durable-mcp/core/internal";
import type { KeptResult, SessionSnapshot } from "@durable-mcp/core";

/**
 * The part of a snapshot that the slot has. Each call's step gets the slot, so it has no lists, which may be
 * long: of the tools only the parameters that calls repeat in headers, and which may run as tasks.
 */
export function forSlot(snapshot: SessionSnapshot): SessionSnapshot {
  const { toolList, kept, ...rest } = { toolList: undefined, kept: undefined, ...snapshot };
  const tools = toolList?.tools.flatMap(asTask) ?? [];
  const short = kept
    ?.filter((each) => isToolList(each) || !each.method.endsWith("/list"))
    .map((each) => (isToolList(each) ? withTools(each, toolsIn(each).flatMap(withHeaders)) : each));
  return {
    ...rest,
    // It answers no client.
    ...(tools.length > 0 && { toolList: { tools, listedAt: -1 } }),
    ...(short && { kept: short }),
  };
}

/** The snapshot for a step that opens the connection: it lists the tools. */
export function withoutList(snapshot: SessionSnapshot): SessionSnapshot {
  const { toolList: _, ...rest } = { toolList: undefined, ...snapshot };
  return rest;
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
  const found = snapshot.toolList?.tools.find(({ name }) => name === tool);
  return { ...snapshot, toolList: { tools: [found ?? any], listedAt: now } };
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

/** The tool with what it says of tasks, if it may run as one. */
function asTask({ name, execution }: { readonly name: string; readonly execution?: unknown }) {
  const support = isRecord(execution) ? execution["taskSupport"] : undefined;
  if (support !== "required" && support !== "optional") return [];
  return [{ name, inputSchema: { type: "object" }, execution: { taskSupport: support } }];
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
