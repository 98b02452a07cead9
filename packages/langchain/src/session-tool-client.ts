import { scrubJson, waitingCallOf } from "@durable-mcp/core/internal";
import { McpSessionError, type OfferedTool } from "@durable-mcp/sessions";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  type CallToolResult,
  ErrorCode,
  McpError,
  ReadResourceResultSchema,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import type { JsonSchemaValidator } from "@modelcontextprotocol/sdk/validation";
import { graphCallOf } from "./graph-call.ts";
import { pausingCall } from "./pausing-call.ts";
import { ToolException } from "./tool-exception.ts";

/** The part of a client that the adapter uses. */
type ToolClient = Pick<Client, "listTools" | "callTool" | "readResource">;
type CallOptions = Parameters<ToolClient["callTool"]>[2];

/** The adapter's client for one tool. It has the errors of the tool's connection. */
export function sessionToolClient(tool: OfferedTool): ToolClient {
  const checkOutput = createOutputCheck(tool);
  return {
    async listTools() {
      // The adapter adds to the schema.
      const inputSchema = { ...tool.inputSchema };
      return { tools: [{ ...tool.listed, inputSchema } as Tool] };
    },
    async callTool(params, _schema, options) {
      try {
        const result = await tool.lend((now) => callTool(now, params.arguments, options));
        checkOutput(result);
        return result;
      } catch (failure) {
        tool.on.tell(failure);
        const error = asAborted(failure, options?.signal);
        const isPassed = McpSessionError.isInstance(error) || isGraphBubbleUp(error);
        throw isPassed ? new ToolException(tool.tool, error) : error;
      }
    },
    readResource: async ({ uri }, { signal } = {}) =>
      await tool.lend(async ({ on }) => {
        const read = async () => {
          const client = await on.client();
          return await client.readResource({ uri, ...(signal && { options: { signal } }) });
        };
        return ReadResourceResultSchema.parse(await on.withRecovery(undefined, read));
      }),
  };
}

/** The error of an aborted call, as a client of the SDK has it. */
function asAborted(error: unknown, signal: AbortSignal | undefined): unknown {
  const isAborted = signal?.aborted && !McpSessionError.isInstance(error);
  return isAborted ? new McpError(ErrorCode.RequestTimeout, String(signal.reason)) : error;
}

/** Checks structured content, as a client of the SDK does. @throws {McpError} */
function createOutputCheck({ tool, listed: { outputSchema } }: OfferedTool) {
  let validate: JsonSchemaValidator<unknown> | undefined;
  return (result: CallToolResult) => {
    const { structuredContent, isError } = result;
    if (!outputSchema || isError || waitingCallOf(result)) return;
    if (structuredContent === undefined) {
      const message = `Tool ${tool} has an output schema but did not return structured content`;
      throw new McpError(ErrorCode.InvalidRequest, message);
    }
    validate ??= new AjvJsonSchemaValidator().getValidator(outputSchema);
    const { valid, errorMessage } = validate(structuredContent);
    if (valid) return;
    const message = `Structured content does not match the tool's output schema: ${errorMessage}`;
    throw new McpError(ErrorCode.InvalidParams, message);
  };
}

async function callTool(
  tool: OfferedTool,
  input: Record<string, unknown> | undefined,
  { signal, timeout, onprogress: tell }: NonNullable<CallOptions> = {},
): Promise<CallToolResult> {
  const { lossNotices, secrets } = tool.on;
  const result = await pausingCall({
    ...{ tool, input, graph: graphCallOf(input), signal, timeoutMs: timeout },
    onProgress: tell && ((said) => tell(scrubJson(said, secrets.scrub) as typeof said)),
  });
  // The adapter turns the result into an error, and the error only has the text.
  const notice = result.isError ? lossNotices?.take()?.text : undefined;
  if (notice === undefined) return result;
  return { ...result, content: [{ type: "text", text: notice }, ...result.content] };
}
