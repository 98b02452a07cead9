import type { CallToolResult } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { Tool } from "ai";
import { isSameTool, type JudgedTool } from "../connection/approved-calls.ts";
import type { Awaitable } from "../connection/connection-context.ts";
import type { ToolApprovalCall, ToolApprovalStatus } from "../connection/tool-call-options.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { toolName } from "./tool-name.ts";

/** The use for which a call may need an approval. AI SDK gives it to a tool. */
interface ApprovalUse {
  readonly toolCallId?: string | undefined;
  readonly messages?: readonly unknown[] | undefined;
}

type Reached = Exclude<ToolApprovalStatus, undefined | boolean | string>;

/**
 * The connection's `approval` for one of its tools. AI SDK 6 and 7 ask `needsApproval`; a call that is denied
 * gets that as its result.
 *
 * @param ownName the tool's name for the model
 */
export function createToolApproval(
  connection: LiveConnection,
  tool: JudgedTool,
  ownName: string,
) {
  const { approval } = connection.definition.options;
  if (approval === undefined || typeof approval === "boolean") {
    const fixed: Pick<Tool, "needsApproval"> =
      approval === undefined ? {} : { needsApproval: approval };
    return { fixed, denial: () => Promise.resolve(undefined) };
  }
  const ask = async (input: unknown, use: ApprovalUse = {}) => {
    // The session may have been replaced since the tool was listed, and the tool with it.
    const now = connection.approvals?.now(tool) ?? tool;
    return await judge(connection, approval, { tool: now, ownName, input, use });
  };
  const fixed: Pick<Tool, "needsApproval"> = {
    needsApproval: async (input: unknown, use: ApprovalUse) =>
      (await ask(input, use)).type === "user-approval",
  };
  return {
    fixed,
    /** The result of a call that the application denies. */
    denial: async (input: unknown, use?: ApprovalUse): Promise<CallToolResult | undefined> => {
      const status = await ask(input, use);
      return status.type === "denied" ? denied(status) : undefined;
    },
  };
}

interface JudgedCall {
  readonly tool: JudgedTool;
  readonly ownName: string;
  readonly input: unknown;
  readonly use?: ApprovalUse | undefined;
}

async function judge(
  { name, principal, abortSignal }: LiveConnection,
  approval: (call: ToolApprovalCall) => Awaitable<ToolApprovalStatus>,
  { tool, ownName, input, use: { toolCallId = "", messages = [] } = {} }: JudgedCall,
): Promise<Reached> {
  const call: ToolApprovalCall = {
    ...{ principal, connection: name, abortSignal, messages },
    ...{ tool: tool.name, toolName: ownName },
    callId: toolCallId,
    toolInput: isRecord(input) ? input : undefined,
    toolAnnotations: isRecord(tool.annotations) ? tool.annotations : undefined,
  };
  return reached(await approval(call), name);
}

function denied({ reason = "The application denied this call." }: Reached): CallToolResult {
  return { isError: true, content: [{ type: "text", text: reason }] };
}

/** The result of a call whose tool has changed since it was approved. */
const changedTool: CallToolResult = {
  isError: true,
  content: [
    {
      type: "text",
      text: "The server has changed this tool since the call was made, and a person has to approve the call now. It was not carried out. Make the call again, so that it can be approved.",
    },
  ],
};

/**
 * The result of a call that was approved before, and may not run any more; `undefined` if it may. A person is only
 * asked again if the tool's annotations have changed.
 *
 * @param before the tool of that time
 */
export async function refuseChanged(
  connection: LiveConnection,
  before: JudgedTool,
  { tool, input, use }: Omit<JudgedCall, "ownName">,
): Promise<CallToolResult | undefined> {
  const { name, definition } = connection;
  const { approval } = definition.options;
  if (typeof approval !== "function") return undefined;
  const ownName = await toolName(name, tool.name, definition.options);
  const status = await judge(connection, approval, { tool, ownName, input, use });
  if (status.type === "denied") return denied(status);
  const isAsked = status.type === "user-approval" && !isSameTool(before, tool);
  return isAsked ? changedTool : undefined;
}

/**
 * Makes a call that was approved. If its session is replaced meanwhile, and the tool with it, `approval` decides again
 * before the call goes out on the new one.
 *
 * @param call.args the arguments that are sent
 */
export async function whileApproved<T>(
  connection: LiveConnection,
  call: Omit<JudgedCall, "ownName"> & { readonly args: unknown },
  send: () => PromiseLike<T>,
): Promise<T> {
  const { tool, args } = call;
  const decide = (now: JudgedTool) =>
    // Without a decision nothing goes out.
    refuseChanged(connection, tool, { ...call, tool: now }).catch(() => changedTool);
  return await (connection.approvals?.during({ tool, args, decide }, send) ?? send());
}

/** The result of a call that a person would have to approve, for agents that cannot ask. */
export const unapproved: CallToolResult = {
  isError: true,
  content: [
    { type: "text", text: "A person has to approve this call, and this agent cannot ask for it." },
  ],
};

/** The result of a call that may not run where nobody can be asked; `undefined` if it may. */
export async function refuseUnapproved(
  connection: LiveConnection,
  tool: JudgedTool,
  input: unknown,
): Promise<CallToolResult | undefined> {
  const { name, definition } = connection;
  if (definition.options.approval === undefined) return undefined;
  const ownName = await toolName(name, tool.name, definition.options);
  const { fixed, denial } = createToolApproval(connection, tool, ownName);
  const { needsApproval } = fixed as { needsApproval?: boolean | Ask };
  const isAsked =
    typeof needsApproval === "function" ? await needsApproval(input, {}) : needsApproval;
  return isAsked ? unapproved : await denial(input);
}

type Ask = (input: unknown, use: ApprovalUse) => Promise<boolean>;

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
