import type { CallToolResult } from "@ai-sdk/mcp";
import type { SessionSlot } from "@durable-mcp/core";
import { compareTools, isRecord, listedTools, sameJson } from "@durable-mcp/core/internal";

/** A tool as a connection's `approval` sees it, by the server's name. */
export interface JudgedTool {
  readonly name: string;
  readonly annotations?: unknown;
}

/** A call that may run as its tool was listed. */
export interface ApprovedCall {
  readonly tool: JudgedTool;
  readonly input: unknown;
  /** Decides again. Gives the result of a call that may not run with the tool as it is now. */
  readonly decide: (now: JudgedTool) => Promise<CallToolResult | undefined>;
}

/** Databases change the order of members. */
export function isSameTool(...[one, other]: [JudgedTool, JudgedTool]): boolean {
  const judged = ({ name, annotations }: JudgedTool) => [{ name, annotations }];
  return compareTools(judged(one), judged(other)) === undefined;
}

/** The calls under way of a connection with sessions: a session that replaces a lost one may have other tools. */
export function createApprovedCalls(slot: SessionSlot) {
  const underWay = new Set<ApprovedCall>();
  /** The tool as it was listed last. */
  const now = (tool: JudgedTool): JudgedTool =>
    listedTools(slot).find(({ name }) => name === tool.name) ?? tool;
  const refusal = async (body: unknown): Promise<Response | undefined> => {
    const changed = [...underWay].filter(({ tool }) => !isSameTool(tool, now(tool)));
    if (changed.length === 0 || typeof body !== "string") return undefined;
    const { id, method, params } = JSON.parse(body) as Record<string, unknown>;
    if (method !== "tools/call" || !isRecord(params)) return undefined;
    const ofTool = changed.filter(({ tool }) => tool.name === params["name"]);
    // The application may add arguments.
    const own = ofTool.filter(({ input }) => sameJson(input, params["arguments"]));
    for (const { tool, decide } of own.length > 0 ? own : ofTool) {
      const result = await decide(now(tool));
      if (result !== undefined) return Response.json({ jsonrpc: "2.0", id, result });
    }
    return undefined;
  };
  return {
    now,
    /** Makes a call. If its tool has changed when the call goes out, `decide` is asked before. */
    async during<T>(call: ApprovedCall, send: () => Promise<T>): Promise<T> {
      underWay.add(call);
      return await send().finally(() => underWay.delete(call));
    },
    wrap:
      (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
      async (input, init) =>
        (await refusal(init?.body)) ?? (await fetch(input, init)),
  };
}
