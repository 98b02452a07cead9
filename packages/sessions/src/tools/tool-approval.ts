import { McpSessionError } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { CallToolResult } from "../base/mcp-client.ts";
import { type CallEnvelope, isSameTool } from "../connection/call-envelope.ts";
import type { JudgedTool, ToolApprovalCall, ToolApprovalStatus } from "../declare/tool-options.ts";
import type { UsedConnection } from "../connection/used-connection.ts";
import { toolName } from "./tool-name.ts";

/** The use for which a call may need an approval, as AI SDK gives it to a tool. */
interface ApprovalUse {
  readonly toolCallId?: string | undefined;
  readonly messages?: readonly unknown[] | undefined;
}

type Reached = Exclude<ToolApprovalStatus, undefined | boolean | string>;

/**
 * The connection's `approval` for one of its tools. AI SDK 6 and 7 ask `needsApproval`; a call that is denied
 * gets that as its result.
 */
export function createToolApproval(connection: UsedConnection, tool: JudgedTool) {
  const { approval } = connection.definition.options;
  // The session may have been replaced since the tool was listed, and the tool with it.
  const now = () => connection.toolNow?.(tool) ?? tool;
  return {
    needsApproval:
      typeof approval === "function"
        ? async (input: unknown, use: ApprovalUse) =>
            (await judge(connection, now(), input, use)).type === "user-approval"
        : approval,
    /** The result of a call that the application denies. */
    denial: async (input: unknown, use?: ApprovalUse) =>
      await refuse(connection, now(), { input, use }),
  };
}

const refused = (text: string): CallToolResult => ({
  isError: true,
  content: [{ type: "text", text }],
});

/** The result of a call that a person would have to approve, for agents that cannot ask. */
const unapproved = refused("A person has to approve this call, and this agent cannot ask for it.");
const changedTool = refused(
  "The server has changed this tool since the call was made, and a person has to approve the call now. It was not carried out. Make the call again, so that it can be approved.",
);

interface JudgedCall {
  readonly input: unknown;
  readonly use?: ApprovalUse | undefined;
}

/**
 * The result of a call that may not run; `undefined` if it may.
 *
 * @param unasked the result where a person would have to be asked. @default it runs, because somebody was
 */
async function refuse(
  connection: UsedConnection,
  tool: JudgedTool,
  { input, use }: JudgedCall,
  unasked?: CallToolResult,
): Promise<CallToolResult | undefined> {
  if (connection.definition.options.approval === undefined) return undefined;
  const { type, reason } = await judge(connection, tool, input, use);
  if (type === "denied") return refused(reason ?? "The application denied this call.");
  return type === "user-approval" ? unasked : undefined;
}

/** The result of a call that may not run where nobody can be asked; `undefined` if it may. */
export const refuseUnapproved = async (
  connection: UsedConnection,
  tool: JudgedTool,
  input: unknown,
) => await refuse(connection, tool, { input }, unapproved);

/**
 * The result of a call that may not run any more. A person is only asked again if its tool's annotations have changed.
 *
 * @param before the tool when the call was approved, or needed no approval
 */
export async function refuseChanged(
  connection: UsedConnection,
  [before, now]: readonly [before: JudgedTool, now: JudgedTool],
  call: JudgedCall,
): Promise<CallToolResult | undefined> {
  return await refuse(connection, now, call, isSameTool(before, now) ? undefined : changedTool);
}

/** For the envelope of a call that may run: if its tool changes before it goes out, `approval` decides again. */
export function whileAllowed(
  connection: UsedConnection,
  tool: JudgedTool,
  call: JudgedCall,
): CallEnvelope["allowed"] {
  if (connection.toolNow === undefined) return undefined;
  const decide = (now: JudgedTool) =>
    refuseChanged(connection, [tool, now], call).catch(() => changedTool);
  return { tool, decide };
}

async function judge(
  { name, principal, abortSignal, definition }: UsedConnection,
  tool: JudgedTool,
  input: unknown,
  { toolCallId = "", messages = [] }: ApprovalUse = {},
): Promise<Reached> {
  const { approval } = definition.options;
  if (typeof approval !== "function") return reached(approval, name);
  const call: ToolApprovalCall = {
    ...{ principal, connection: name, abortSignal, messages },
    ...{ tool: tool.name, toolName: await toolName(name, tool.name, definition.options) },
    callId: toolCallId,
    toolInput: isRecord(input) ? input : undefined,
    toolAnnotations: isRecord(tool.annotations) ? tool.annotations : undefined,
  };
  return reached(await approval(call), name);
}

const statuses: readonly unknown[] = ["not-applicable", "approved", "denied", "user-approval"];

/** @throws {McpSessionError} `CONNECTION_INVALID` for what is no status, so that a slip lets nothing run */
function reached(status: ToolApprovalStatus, connection: string): Reached {
  if (status === undefined || status === false) return { type: "not-applicable" };
  if (status === true) return { type: "user-approval" };
  const own = isRecord(status) ? status : { type: status };
  if (statuses.includes(own.type)) return own;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `Connection ${connection}: approval must return a boolean, ${statuses.map((each) => JSON.stringify(each)).join(", ")}, an object with one of them as type, or undefined. The call was not made.`,
    { data: { field: "approval", connection } },
  );
}
