import { isPrintable } from "../base/json-values.ts";
import { beginCall, createCall, findTurn, upToDate } from "./current-call.ts";
import type { WaitingContext } from "./waiting-context.ts";
import { isKeepable, waitsOn } from "./waiting-life.ts";
import type { WaitingRecord } from "./waiting-record.ts";

/** What a tool call waits for, in which agents run. */
export interface AgentsWaiting {
  /** The messages of each agent that began in the call; empty if the application keeps them. */
  readonly histories: NonNullable<WaitingRecord["histories"]>;
  /** The ids of the calls that wait in them. */
  readonly waitsFor: string[];
}

interface AgentCall extends AgentsWaiting {
  /** Of the first call for which it waits. */
  readonly connection: string;
  readonly url: URL;
  readonly toolName: string;
  readonly input: unknown;
  readonly toolCallId: string;
  readonly path?: WaitingRecord["path"] | undefined;
}

/** Applications name their tools as they like, so the tool call's id and input tell it apart. */
export const agentCall = {
  connection: "",
  method: "tools/call",
  tool: "",
  scope: "agent",
} as const;

/**
 * Keeps a tool call of the application's while calls of agents in it wait: one write.
 *
 * @returns the record; `undefined` if it is too long to be kept
 * @throws {McpSessionError} `STORE_FAILED`
 */
export async function keepAgentCall(
  context: WaitingContext,
  { connection, url, toolName, input = {}, toolCallId, path, ...waiting }: AgentCall,
): Promise<WaitingRecord | undefined> {
  if (!isPrintable([input, waiting.histories])) return undefined;
  const args = JSON.parse(JSON.stringify(input)) as unknown;
  const identity = { ...agentCall, input: args, toolCallId, path };
  const method = "tools/call";
  const request = { method, params: { name: toolName, arguments: args }, headers: {} } as const;
  const begun = await beginCall(context, "agent", identity, { url, request });
  const kept = waitsOn({ ...begun, connection }, waiting);
  if (!isKeepable(kept)) return undefined;
  const { stored } = await findTurn(context, identity, async (id) =>
    createCall(context, { ...kept, id }),
  );
  return (await upToDate(context, stored)).call;
}
