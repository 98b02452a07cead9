import { createMCPClient } from "@ai-sdk/mcp";
import { createToolCall } from "./tool-call.ts";

/** Calls a tool and reads the whole answer. */
export type Caller = () => Promise<unknown>;

/** Who calls: a bare fetch, or a whole client that parses and validates the answer. */
export const createCaller = {
  async "fetch + text()"(url: string, fetch: typeof globalThis.fetch): Promise<Caller> {
    return async () => {
      const response = await fetch(url, createToolCall());
      return await response.text();
    };
  },
  async "@ai-sdk/mcp callTool"(url: string, fetch: typeof globalThis.fetch): Promise<Caller> {
    const client = await createMCPClient({ transport: { type: "http", url, fetch } });
    return () => client.callTool({ name: "read", arguments: { path: "notes.txt" } });
  },
};

export type CallerName = keyof typeof createCaller;
export const callerNames = Object.keys(createCaller) as CallerName[];
