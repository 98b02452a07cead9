import type { CallToolResult } from "@ai-sdk/mcp";
import type { SessionSlot } from "@durable-mcp/core";
import { compareTools, isRecord, listedTools, sameJson } from "@durable-mcp/core/internal";

/** A tool as a connection's `approval` sees it, by the server's name. */
export interface JudgedTool {
  readonly name: string;
  readonly annotations?: unknown;
}

/** A call under way that may run as its tool was listed. */
interface ApprovedCall {
  readonly tool: JudgedTool;
  /** The arguments that are sent. */
  readonly args: unknown;
  /** Decides on the call again. Gives the result of one that may not run with the tool as it is now. */
  readonly decide: (now: JudgedTool) => Promise<CallToolResult | undefined>;
}

/** The calls of a connection that has sessions: a new session may come with other tools. */
export interface ApprovedCalls {
  /** The tool as it was listed last. */
  now(tool: JudgedTool): JudgedTool;
  /** Makes a call. If its tool has changed by the time it goes out, `decide` is asked before. */
  during<T>(call: ApprovedCall, send: () => PromiseLike<T>): Promise<T>;
}

/** Whether a tool has the same annotations. Databases change the order of members. */
export function isSameTool(one: JudgedTool, other: JudgedTool): boolean {
  const judged = ({ name, annotations }: JudgedTool) => [{ name, annotations }];
  return compareTools(judged(one), judged(other)) === undefined;
}

/** The calls, and `wrap` for what the session fetch sends with. */
export function createApprovedCalls(slot: SessionSlot) {
  const underWay = new Set<ApprovedCall>();
  const now = (tool: JudgedTool): JudgedTool =>
    listedTools(slot).find(({ name }) => name === tool.name) ?? tool;
  const refusal = async (body: unknown): Promise<Response | undefined> => {
    const changed = [...underWay].filter(({ tool }) => !isSameTool(tool, now(tool)));
    if (changed.length === 0 || typeof body !== "string") return undefined;
    const { id, method, params } = JSON.parse(body) as Record<string, unknown>;
    if (method !== "tools/call" || !isRecord(params)) return undefined;
    const ofTool = changed.filter(({ tool }) => tool.name === params["name"]);
    const isOwn = ({ args }: ApprovedCall) => sameJson(args, params["arguments"]);
    const call = ofTool.find(isOwn) ?? ofTool[0];
    const result = await call?.decide(now(call.tool));
    return result && Response.json({ jsonrpc: "2.0", id, result });
  };
  return {
    now,
    async during<T>(call: ApprovedCall, send: () => PromiseLike<T>): Promise<T> {
      underWay.add(call);
      try {
        return await send();
      } finally {
        underWay.delete(call);
      }
    },
    wrap:
      (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
      async (input, init) =>
        (await refusal(init?.body)) ?? (await fetch(input, init)),
  } satisfies ApprovedCalls & { wrap: unknown };
}
