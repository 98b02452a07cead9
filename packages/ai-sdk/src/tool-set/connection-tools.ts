import type { MCPClient } from "@ai-sdk/mcp";
import type { WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import { abortable, waitingCallOf } from "@durable-mcp/core/internal";
import type { Tool, ToolSet } from "ai";
import {
  notReplayed,
  reportProgress,
  type LiveConnection,
  runOver,
  boundedCall,
  ownResult,
  progressObserver,
  offeredTools,
  createToolApproval,
  whileAllowed,
  around,
  followToolCalls,
  markWaiting,
  pathAround,
  waitBelow,
  plainToolName,
  toolName,
  type JudgedTool,
} from "@durable-mcp/sessions/internal";
import { listAllTools, ownClient } from "./list-all-tools.ts";
import { modelSchema } from "./model-schema.ts";
import { acceptWaiting, toldOutput } from "./model-output.ts";

/** The tools of a connected client as the connection offers them, under their names for the model. */
export async function connectionTools(connection: LiveConnection): Promise<ToolSet> {
  const { name, definition, abortSignal } = connection;
  const clientNow = async () => ownClient(await connection.client(), name);
  const list = async () => {
    const current = await clientNow();
    if (current.initializeResult.capabilities.tools == null) return { client: current, listed: [] };
    const listed = await connection.inConnectTime(abortSignal, (signal) =>
      listAllTools(current, connection, signal),
    );
    return { client: current, listed };
  };
  const { client, listed } = await connection.trace({ operation: "list" }, () =>
    connection.withRecovery(undefined, list),
  );
  if (mayWait(connection)) followToolCalls();
  const { options } = definition;
  const offered = offeredTools(connection, listed);
  const toolsOf = (current: MCPClient): ToolSet =>
    current.toolsFromDefinitions(
      { tools: offered },
      options.schemas === undefined ? {} : { schemas: options.schemas },
    );
  let bound = { client, tools: toolsOf(client) };

  const boundNow: BoundTools = async (signal) => {
    if (abortSignal.aborted) throw runOver(name);
    const current = await abortable(clientNow(), signal);
    if (current !== bound.client) bound = { client: current, tools: toolsOf(current) };
    return bound;
  };
  const byName = new Map(offered.map((each) => [each.name, each]));
  const own: [string, Tool][] = [];
  // A server may have hundreds of tools, so nothing is awaited that is known at once.
  for (const [serverName, tool] of Object.entries(bound.tools)) {
    const called = byName.get(serverName) ?? { name: serverName };
    const plainName = plainToolName(name, serverName, options);
    const ownName = plainName ?? (await toolName(name, serverName, options));
    // Made of the whole schema, because the client reads in it which arguments go into headers.
    const inputSchema = options.providedArguments
      ? await modelSchema(connection, serverName, tool.inputSchema)
      : tool.inputSchema;
    const parts = { called, tool: tool as Tool, inputSchema, boundNow };
    own.push([ownName, createTool(connection, parts)]);
  }
  return Object.fromEntries(own);
}

interface ToolParts {
  /** The server's tool. */
  readonly called: { readonly name: string; readonly annotations?: unknown };
  /** What the client has made of it. */
  readonly tool: Tool;
  readonly inputSchema: Tool["inputSchema"];
  readonly boundNow: BoundTools;
}

/** A tool of the client as the connection offers it. */
function createTool(
  connection: LiveConnection,
  { called, tool, inputSchema, boundNow }: ToolParts,
): Tool {
  const { fixed, denial } = createToolApproval(connection, called);
  const make = createReplay(connection, called.name, boundNow);
  const call = createCall(connection, called, boundNow, make);
  const execute: Execute = async (input, use) =>
    (await denial(input, use)) ?? (await call(input, use));
  const toModelOutput = toldOutput(connection, tool, mayWait(connection));
  const waiting = mayWait(connection) && {
    ...(tool.outputSchema && { outputSchema: acceptWaiting(tool.outputSchema) }),
  };
  const replay = make && { connection: connection.name, tool: called, make };
  const own = {
    inputSchema,
    execute,
    ...fixed,
    ...(toModelOutput && { toModelOutput }),
    ...waiting,
  };
  return withReplay(markWaiting({ ...tool, ...own }), replay);
}

/** The client of the connection, and its tools by the server's names. */
type BoundTools = (
  signal: AbortSignal | undefined,
) => Promise<{ readonly client: MCPClient; readonly tools: ToolSet }>;

/** Calls one tool. */
function createCall(
  connection: LiveConnection,
  tool: { readonly name: string; readonly annotations?: unknown },
  boundNow: BoundTools,
  replay: ReplayCall | undefined,
) {
  const { lossNotices, pausing, signIn } = connection;
  return async (input: unknown, use: CallUse = {}) => {
    const { toolCallId, abortSignal } = use;
    const place = use.messages?.length;
    const { name, annotations } = tool;
    const path = pathAround(toolCallId);
    // Nobody knows of which agent a call is in a tool that is not wrapped.
    const isKnown = toolCallId && (path || around(toolCallId) === undefined);
    const same =
      isKnown && (await connection.repeatOf?.(name, input, { ...use, toolCallId, path }));
    if (same && "answer" in same)
      return (await replay?.(same.answer, { input, toolCallId })) ?? same.answer.result;
    if (same) return await waitBelow(same, toolCallId, pausing ?? signIn);
    const observers = [progressObserver(connection, name, toolCallId)];
    const park = async () =>
      toolCallId && (await signIn?.park?.({ tool: name, annotations, input, toolCallId, path }));
    const allowed = whileAllowed(connection, tool, { input, use });
    const result = await reportProgress(observers, (observing) =>
      boundedCall(
        connection,
        { tool, input, toolCallId, path, place, park, allowed, observe: observing },
        async (signal, args) => {
          const { tools } = await boundNow(signal);
          const { execute } = tools[name] as { execute: Execute };
          return await execute(args, { ...use, ...(signal && { abortSignal: signal }) });
        },
        { abortSignal },
      ),
    );
    // A notice is for the model's next result, which a placeholder is not.
    if (waitingCallOf(result)) return await waitBelow(result, toolCallId, pausing ?? signIn);
    return lossNotices?.mark(result, toolCallId ?? "") ?? result;
  };
}

/** Whether a call may have a placeholder for its result: with `waiting: true`, or for the user's sign-in. */
function mayWait({ pausing, signIn }: LiveConnection): boolean {
  return pausing !== undefined || signIn?.park !== undefined;
}

/** Makes of a kept answer what the client's own tool makes of it. */
function createReplay(
  connection: LiveConnection,
  tool: string,
  boundNow: BoundTools,
): ReplayCall | undefined {
  // The server would get the call.
  if (!mayWait(connection) || !connection.takesEnvelopes) return undefined;
  const { lossNotices, restoreError, abortSignal: over } = connection;
  return async (answer, { input, toolCallId }) => {
    try {
      const { tools } = await boundNow(undefined);
      const { execute } = tools[tool] as { execute: Execute };
      const result = await ownResult(connection, { answer }, input, (marked) =>
        execute(marked, { toolCallId }),
      );
      return lossNotices?.mark(result, toolCallId) ?? result;
    } catch (error) {
      // It is in the form of MCP already, and here although the run is over.
      if ((error === notReplayed || over.aborted) && answer.result) return answer.result;
      throw restoreError(error, { method: "tools/call" });
    }
  };
}

interface CallUse {
  readonly abortSignal?: AbortSignal;
  readonly toolCallId?: string;
  /** The messages that the model was asked with. */
  readonly messages?: readonly unknown[];
}

export type Execute = (input: unknown, options?: CallUse) => PromiseLike<unknown>;

/** Makes of a kept answer what the tool's own `execute` would have made of it. Sends no call. */
type ReplayCall = (
  answer: WaitingAnswer,
  call: { readonly input: unknown; readonly toolCallId: string },
) => Promise<unknown>;

/** The tool of a connection, and how its kept answers become results. */
interface Replay {
  readonly connection: string;
  /** As the server has listed it. */
  readonly tool: JudgedTool;
  readonly make: ReplayCall;
}

/** The member of a tool whose calls may wait. A copy of the tool has it too, under any name. */
const replayKey = Symbol("durable-mcp.replay");

function withReplay<TOOL extends Tool>(tool: TOOL, replay: Replay | undefined): TOOL {
  return replay === undefined ? tool : { ...tool, [replayKey]: replay };
}

export function replayOf(tool: unknown): Replay | undefined {
  return (tool as { [replayKey]?: Replay } | undefined)?.[replayKey];
}
