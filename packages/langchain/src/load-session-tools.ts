import { type ConnectionRun, currentConnections, type OfferedTool } from "@durable-mcp/sessions";
import {
  checkOwnOptions,
  type ListTools,
  optionalOptions,
  runInternalsOf,
} from "@durable-mcp/sessions/internal";
import { invalidOption } from "@durable-mcp/core/internal";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { loadMcpTools, type LoadMcpToolsOptions } from "@langchain/mcp-adapters";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { type ToolOutput, withLossNotice } from "./loss-notice-in-output.ts";
import { noteGraphCall } from "./graph-call.ts";
import { sessionToolClient } from "./session-tool-client.ts";
import { withoutMetadata } from "./output-for-model.ts";

/** The adapter's options, except the options for names. */
export interface SessionToolsOptions extends Omit<
  LoadMcpToolsOptions,
  "prefixToolNameWithServerName" | "additionalToolNamePrefix"
> {
  /**
   * If a connection is down, `"omit"` leaves out its tools and the provider reports the event
   * `unavailable`; `"throw"` throws.
   *
   * @default "omit"
   */
  onUnavailable?: "omit" | "throw" | undefined;
  /** Loads the tools of these connections alone. @default all */
  connections?: readonly string[] | undefined;
}

/**
 * Loads the tools of all connections of a run as LangChain tools, named `<connection>__<tool>` or with
 * the connection's own prefix (`toolNames`). The official adapter makes them. They use the run's
 * sessions until it is disposed of. With `autoSession` they use the session at the time of each call;
 * in an ephemeral run each call has a session of its own.
 *
 * @example
 * await sessions.run(chatId, { principal }, async () => {
 *   const agent = createAgent({ model, tools: await loadSessionTools() });
 *   return await agent.invoke({ messages });
 * });
 *
 * @param run by default the run around the calling code
 * @throws {McpSessionError} `RUN_REQUIRED` outside of a run, if none is given;
 *   `CONNECTION_INVALID` for an unknown name; with `onUnavailable: "throw"`
 *   `CONNECTION_UNAVAILABLE`, or another code with the reason. The signal's reason if the step is
 *   aborted or disposed of meanwhile
 */
export async function loadSessionTools(
  run: ConnectionRun<any> = currentConnections(),
  given: SessionToolsOptions = {},
): Promise<DynamicStructuredTool[]> {
  checkSessionToolsOptions(given);
  const listed = await loadTools(run, given);
  const names = new Set(listed.map(({ name }) => name));
  const waiting = await loadTools(run, given, listWaiting(isOpen));
  return [...listed, ...waiting.filter(({ name }) => !names.has(name))];
}

/**
 * The tools of calls that have met a locked door, which a graph runs again. While the door is locked the server may
 * not list them, and after it there is no stand-in.
 */
export const listWaiting =
  (isNeeded: (call: WaitingRecord) => boolean = () => true): ListTools =>
  async ({ name: connection, signIn }, make) => {
    const stored = (await (await signIn?.callsOf?.({ connection }))?.records.list()) ?? [];
    const own = stored
      .map(({ call }) => call)
      .filter((call) => call.connection === connection && isOfTool(call) && isNeeded(call));
    const called = own.filter(({ isStandIn }) => !isStandIn).map(toolOf);
    const listed = [...new Map(called.map((tool) => [tool.name, tool])).values()];
    return await Promise.all([
      ...listed.map((tool) => make.tool(tool)),
      ...(called.length < own.length ? [make.standIn()] : []),
    ]);
  };

function isOpen({ state }: WaitingRecord): boolean {
  return state === "waiting" || state === "answering";
}

/** Whether it is no watch, and nothing else that waits and is no call of a tool. */
const isOfTool = ({ request }: WaitingRecord) => request.method === "tools/call";

const toolOf = ({ request, annotations }: WaitingRecord) => ({
  name: String(request.params["name"]),
  inputSchema: { type: "object" },
  ...(annotations && { annotations }),
});

/** Makes tools of those of a run. @param list gives them. @default all that the servers list */
export async function loadTools(
  run: ConnectionRun<any>,
  { onUnavailable, connections, ...options }: SessionToolsOptions,
  list?: ListTools,
): Promise<DynamicStructuredTool[]> {
  const offered = await runInternalsOf(run)(({ offer }) =>
    offer({ connections, onUnavailable }, list),
  );
  return (await Promise.all(offered.map((tool) => dressTool(tool, options)))).flat();
}

const optionsSchema = optionalOptions({
  onUnavailable: { oneOf: ["omit", "throw"] },
  connections: "names",
});
/** The adapter has these options, but the names of tools belong to their connections. */
const fixedOptions = ["prefixToolNameWithServerName", "additionalToolNamePrefix"];

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the option */
export function checkSessionToolsOptions(options: SessionToolsOptions): void {
  checkOwnOptions(optionsSchema, options);
  const fixed = fixedOptions.find((name) => Object.hasOwn(options, name));
  if (fixed === undefined) return;
  throw invalidOption(
    fixed,
    "cannot be set: tools are named by toolNames.prefix of their connections",
  );
}

/** The adapter hands interrupts of graphs on as errors of tools. */
async function passingInterrupts(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    const { cause } = error as Error;
    throw isGraphBubbleUp(cause) ? cause : error;
  }
}

/** The tool that the adapter makes; none for one that it leaves out. */
async function dressTool(
  offered: OfferedTool,
  options: LoadMcpToolsOptions,
): Promise<DynamicStructuredTool[]> {
  const client = sessionToolClient(offered) as unknown as Client;
  const tools = await loadMcpTools(offered.connection, client, {
    ...options,
    prefixToolNameWithServerName: false,
  });
  for (const loaded of tools) {
    loaded.name = offered.name;
    const { func } = loaded;
    loaded.func = async (...call) => {
      const [input, , config] = call;
      noteGraphCall(input as object, config);
      const output = await passingInterrupts(() => func(...call));
      // A hook may have replaced the output by a command.
      if (!Array.isArray(output)) return output;
      const notice = offered.takeNotice();
      const own = withoutMetadata(output as ToolOutput);
      return notice === undefined ? own : withLossNotice(own, notice, options);
    };
  }
  return tools;
}
