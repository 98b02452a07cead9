import { openDurableConnections, type OpenDurableConnectionsOptions } from "@durable-mcp/workflow";
import { createHook, sleep } from "workflow";
import {
  fragileCall,
  mcpCall,
  mcpSessions,
  repeatedCall,
  storedCall,
  storedSessions,
} from "./mcp-steps.ts";

/** Calls that are made at once, the next ones when all have answered; or what happens in between. */
export type ScriptedTurn =
  | { readonly tool: string; readonly input?: unknown; readonly toolCallId?: string }[]
  | { readonly sleepMs: number }
  | { readonly hook: string };

export interface ScriptedRun extends Omit<OpenDurableConnectionsOptions, "steps"> {
  readonly turns: readonly ScriptedTurn[];
  readonly isStored?: boolean;
  readonly isRepeated?: boolean;
  readonly isFragile?: boolean;
  readonly endsSessions?: boolean;
}

/** What an agent does, without one. */
export async function scripted({
  turns,
  isStored = false,
  isRepeated = false,
  isFragile = false,
  endsSessions = false,
  ...options
}: ScriptedRun) {
  "use workflow";
  const usual = isStored ? storedCall : mcpCall;
  const call = isFragile ? fragileCall : isRepeated ? repeatedCall : usual;
  const steps = { sessions: isStored ? storedSessions : mcpSessions, call };
  const mcp = await openDurableConnections({ ...options, steps });
  const results: unknown[][] = [];
  for (const turn of turns) {
    if ("sleepMs" in turn) {
      await sleep(turn.sleepMs);
    } else if ("hook" in turn) {
      results.push([await createHook({ token: turn.hook })]);
    } else {
      const calls = turn.map(async ({ tool, input = {}, toolCallId }) => {
        try {
          return await mcp.tools[tool]!.execute(input, { toolCallId });
        } catch (error) {
          const { code, message } = error as { code?: string; message: string };
          return { code, message };
        }
      });
      results.push(await Promise.all(calls));
    }
  }
  if (endsSessions) await mcp.end();
  const { state, instructions } = mcp;
  return { results, state, instructions, tools: Object.keys(mcp.tools) };
}
