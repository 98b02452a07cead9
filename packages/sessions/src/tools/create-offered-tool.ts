import {
  abortable,
  isRecord,
  LATEST_SESSION_VERSION,
  waitingCallOf,
} from "@durable-mcp/core/internal";
import type { McpClient, ServerTool } from "../base/mcp-client.ts";
import { type NotedCall, notReplayed, type NotingClient } from "../connection/call-envelope.ts";
import { type ObserveProgress, reportProgress } from "../connection/call-progress.ts";
import type { UsedConnection } from "../connection/used-connection.ts";
import { makesTools } from "../connection/split-connection.ts";
import {
  type DeclaredServer,
  mayRunTwice,
  sessionOptions,
  waitingLimits,
} from "../declare/define-connection.ts";
import { runOver } from "../events/connection-error.ts";
import { boundedCall, ownResult, progressObserver } from "./call-tool.ts";
import { withoutProvided } from "./provided-arguments.ts";
import { signInWords } from "./stand-in-words.ts";
import { createToolApproval, refuseUnapproved, whileAllowed } from "./tool-approval.ts";
import { around, pathAround, waitBelow } from "./tool-call-scope.ts";
import { asOffered, type OfferedTool, type ToolUse } from "./offered-tool.ts";

export interface OfferedParts {
  readonly name: string;
  readonly listed: ServerTool;
  readonly isStandIn?: boolean | undefined;
  /** Of a stand-in: where the sign-in starts. */
  readonly startUrl?: string | undefined;
}

/** A tool that a connection offers. */
export function createOfferedTool(connection: UsedConnection, parts: OfferedParts): OfferedTool {
  const { name, listed, isStandIn = false } = parts;
  const { lossNotices, signIn, definition } = connection;
  const declared = definition as DeclaredServer;
  const bound = bindTool(connection, listed);
  const { needsApproval, denial } = createToolApproval(connection, listed);
  const replay = createReplay(connection, bound);
  const call = createCall(connection, listed, bound, replay);
  const park: OfferedTool["park"] = async (own) =>
    await signIn?.park?.({
      ...own,
      tool: listed.name,
      annotations: listed.annotations,
      ...(isStandIn && { isStandIn }),
    });
  const askForSignIn: OfferedTool["call"] = async (input, { toolCallId } = {}) => {
    const path = pathAround(toolCallId);
    const parked = toolCallId && (await park({ input, toolCallId, path }));
    if (parked) return await waitBelow(parked, toolCallId, signIn);
    return signInWords(connection.name, parts.startUrl ?? (await signIn?.pending())?.startUrl);
  };
  const noticeFor: OfferedTool["noticeFor"] =
    lossNotices && ((...result) => lossNotices.textFor(...result));
  const tool: OfferedTool = {
    ...{ name, connection: connection.name, tool: listed.name, listed, isStandIn, park },
    on: connection,
    get inputSchema() {
      return withoutProvided(definition.options, listed.inputSchema as object);
    },
    mayPark: signIn?.park !== undefined,
    mayWait: isStandIn ? signIn?.park !== undefined : mayWait(connection),
    get mayRunTwice() {
      const { safeTools, resend } = {
        ...sessionOptions(declared),
        ...waitingLimits(declared.options),
      };
      return isStandIn || mayRunTwice(listed, safeTools ?? resend);
    },
    needsApproval: isStandIn ? undefined : needsApproval,
    call: isStandIn
      ? askForSignIn
      : async (input, use) => (await denial(input, use)) ?? (await call(input, use)),
    async begin(begun) {
      // For agents that look after the waiting of their calls.
      const { beginCall } = await import("./begin-call.ts");
      return await beginCall(connection, { tool: listed, isStandIn, execute: bound.call }, begun);
    },
    unapproved: async (input) => await refuseUnapproved(connection, listed, input),
    replay: isStandIn ? undefined : replay,
    noticeFor: isStandIn ? undefined : noticeFor,
    takeNotice: () => lossNotices?.take(),
    lend: async (use) => await use(tool),
  };
  // It may be used as it is.
  return asOffered(tool, tool);
}

/** Tells a client of a revision without sessions which arguments go into headers. */
function tellSchema(client: McpClient, listed: ServerTool): void {
  const { protocolVersion } = client.initializeResult;
  if (protocolVersion > LATEST_SESSION_VERSION && makesTools(client))
    client.toolsFromDefinitions({ tools: [listed] }, {});
}

/** The tool on the client of the time. */
function bindTool(connection: UsedConnection, listed: ServerTool) {
  const { name } = listed;
  const { outputSchema } = schemaOf(connection.definition.options.schemas, name);
  let told: NotingClient | undefined;
  const call = async (given: Omit<NotedCall, "name">, { abortSignal: signal }: ToolUse) => {
    if (connection.abortSignal.aborted) throw runOver(connection.name);
    const client = await abortable(connection.client(), signal);
    if (told !== client) tellSchema(client, listed);
    told = client;
    return await client.callTool({ ...given, name, ...(signal && { options: { signal } }) });
  };
  return {
    /** Calls it, with what the framework's tools make of its result. */
    async execute(given: Omit<NotedCall, "name">, use: ToolUse): Promise<unknown> {
      const result = await call(given, use);
      const isPlain = result.isError === true || outputSchema == null || waitingCallOf(result);
      const { toOutput } = connection;
      return isPlain || !toOutput ? result : await toOutput(result, name, outputSchema);
    },
    /** The same, with the server's own result. */
    call,
  };
}

/** What the application has declared of a tool. */
function schemaOf(schemas: unknown, tool: string): { readonly outputSchema?: unknown } {
  const own = isRecord(schemas) && Object.hasOwn(schemas, tool) ? schemas[tool] : undefined;
  return isRecord(own) ? own : {};
}

type Bound = ReturnType<typeof bindTool>;

function createCall(
  connection: UsedConnection,
  tool: ServerTool,
  bound: Bound,
  replay: OfferedTool["replay"],
): OfferedTool["call"] {
  const { lossNotices, pausing, signIn } = connection;
  return async (input, use = {}) => {
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
    const park = async () =>
      toolCallId && (await signIn?.park?.({ tool: name, annotations, input, toolCallId, path }));
    const allowed = whileAllowed(connection, tool, { input, use });
    const observers = [progressObserver(connection, name, toolCallId)];
    const result = await reportProgress(observers, (observe: ObserveProgress | undefined) =>
      boundedCall(
        connection,
        { tool, input, toolCallId, path, place, park, allowed, observe },
        (signal, sent) => bound.execute(sent, { ...use, ...(signal && { abortSignal: signal }) }),
        { abortSignal },
      ),
    );
    // A notice is for the model's next result, which a placeholder is not.
    if (waitingCallOf(result)) return await waitBelow(result, toolCallId, pausing ?? signIn);
    return lossNotices?.mark(result, toolCallId ?? "") ?? result;
  };
}

export function mayWait({ pausing, signIn }: UsedConnection): boolean {
  return pausing !== undefined || signIn?.park !== undefined;
}

function createReplay(connection: UsedConnection, bound: Bound): OfferedTool["replay"] {
  // The server would get the call.
  if (!mayWait(connection) || !connection.takesNotes) return undefined;
  const { lossNotices, restoreError, abortSignal: over } = connection;
  return async (answer, { input, toolCallId }) => {
    try {
      const result = await ownResult(connection, { answer }, (noted) =>
        bound.execute({ ...noted, arguments: input as NotedCall["arguments"] }, { toolCallId }),
      );
      return lossNotices?.mark(result, toolCallId) ?? result;
    } catch (error) {
      // It is in the form of MCP already, and here although the run is over.
      if ((error === notReplayed || over.aborted) && answer.result) return answer.result;
      throw restoreError(error, { method: "tools/call" });
    }
  };
}
