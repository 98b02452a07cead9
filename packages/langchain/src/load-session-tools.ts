import { type ConnectionRun, currentConnections } from "@durable-mcp/sessions";
import {
  checkOwnOptions,
  describeStandIn,
  type LiveConnection,
  names as someNames,
  onUnavailable as unavailable,
  optionalOptions,
  runInternalsOf,
  toolName,
  withoutCollisions,
} from "@durable-mcp/sessions/internal";
import { invalidOption } from "@durable-mcp/core/internal";
import type { WaitingRecord } from "@durable-mcp/core/waiting/internal";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { loadMcpTools, type LoadMcpToolsOptions } from "@langchain/mcp-adapters";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { type ToolOutput, withLossNotice } from "./loss-notice-in-output.ts";
import { noteGraphCall } from "./graph-call.ts";
import { offeredTools } from "./offered-tools.ts";
import { type LendConnection, sessionToolClient } from "./session-tool-client.ts";
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
  const listed = await loadTools(run, given, listNow);
  const names = new Set(listed.map(({ name }) => name));
  const waiting = await loadTools(run, given, (of) => listWaiting(of, isOpen));
  return [...listed, ...waiting.filter(({ name }) => !names.has(name))];
}

/** Tools of a connection. */
interface Listing {
  /** The connection at the time of the listing. */
  readonly listed: LiveConnection;
  readonly offered: readonly Tool[];
  /** The name of the one tool, if that is the stand-in for the connection's tools. */
  readonly standIn?: string | undefined;
}

/** The tools that a server lists. */
export async function listNow(listed: LiveConnection): Promise<Listing[]> {
  return [{ listed, offered: await offeredTools(listed) }];
}

/**
 * The tools of calls that have met a locked door, which a graph runs again. While the door is locked the server may
 * not list them, and after it there is no stand-in.
 */
export async function listWaiting(
  listed: LiveConnection,
  isNeeded: (call: WaitingRecord) => boolean = () => true,
): Promise<Listing[]> {
  const { name: connection, signIn } = listed;
  const stored = (await (await signIn?.contextOf?.({ connection }))?.calls.list()) ?? [];
  const calls = stored.map(({ call }) => call).filter(isNeeded);
  const own = calls.filter((call) => call.connection === connection);
  const offered = new Map(own.filter(({ isStandIn }) => !isStandIn).map(toolOf));
  const standIns = own.some(({ isStandIn }) => isStandIn) ? await listStandIn(listed) : [];
  return [{ listed, offered: [...offered.values()] }, ...standIns];
}

function isOpen({ state }: WaitingRecord): boolean {
  return state === "waiting" || state === "answering";
}

function toolOf({ request, annotations }: WaitingRecord): [string, Tool] {
  const name = String(request.params["name"]);
  return [name, { name, inputSchema: { type: "object" }, ...(annotations && { annotations }) }];
}

async function listStandIn(listed: LiveConnection): Promise<Listing[]> {
  const { tool, toolName: standIn } = await describeStandIn(listed);
  return [{ listed, offered: [tool], standIn }];
}

/** Makes tools of what `list` gives for each connection. */
export async function loadTools(
  run: ConnectionRun<any>,
  { onUnavailable = "omit", connections: only, ...options }: SessionToolsOptions,
  list: (listed: LiveConnection) => Promise<Listing[]>,
): Promise<DynamicStructuredTool[]> {
  const lend = runInternalsOf(run);
  const names = [...new Set(only ?? run.connections.map(({ name }) => name))];
  const listings = await lend(({ collect }) => collect(names, list, onUnavailable, listStandIn));
  const loadings = listings.flat().map((listing) => {
    const { listed } = listing;
    const lendListed: LendConnection = (use) =>
      lend(async ({ find }) => await use(find(listed.name))).catch((error: unknown) => {
        listed.tell(error);
        throw error;
      });
    return toolsIn(listing, lendListed, options);
  });
  const all = (await Promise.all(loadings)).flat();
  const own = await lend(async ({ emit }) => withoutCollisions(all, { onUnavailable, emit }));
  return own.map(({ loaded }) => loaded);
}

const optionsSchema = optionalOptions({ onUnavailable: unavailable, connections: someNames });
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

async function toolsIn(
  { listed, offered, standIn }: Listing,
  lend: LendConnection,
  options: LoadMcpToolsOptions,
) {
  const { name: connection, definition } = listed;
  /** The connection that was called last. Its notices are for the next result. */
  let current = listed;
  const client = sessionToolClient(
    (use) =>
      lend(async (called) => {
        const result = await use(called);
        current = called;
        return result;
      }),
    { offered, isStandIn: standIn !== undefined },
  );
  const tools = await loadMcpTools(connection, client as unknown as Client, {
    ...options,
    prefixToolNameWithServerName: false,
  });
  const named = tools.map(async (loaded) => {
    const tool = loaded.name;
    loaded.name = standIn ?? (await toolName(connection, tool, definition.options));
    const { func } = loaded;
    loaded.func = async (...call) => {
      const [input, , config] = call;
      noteGraphCall(input as object, config);
      const output = await passingInterrupts(() => func(...call));
      // A hook may have replaced the output by a command.
      if (!Array.isArray(output)) return output;
      const notice = current.lossNotices?.take();
      const own = withoutMetadata(output as ToolOutput);
      return notice === undefined ? own : withLossNotice(own, notice, options);
    };
    return { name: loaded.name, connection, tool, loaded };
  });
  return await Promise.all(named);
}
