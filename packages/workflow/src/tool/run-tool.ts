import { jsonSchema } from "ai";
import { agentSchema } from "./agent-schema.ts";
import type { OfferedTool, ToolResult } from "../step-protocol.ts";
import { createInputCheck } from "./validate-input.ts";

/** A tool for `DurableAgent` and `WorkflowAgent`. Its types fit both AI SDK 6 and 7. */
export interface RunTool {
  readonly description?: string;
  readonly title?: string;
  /** A schema of the AI SDK. Its validator lets everything pass, because `execute` checks the input. */
  readonly inputSchema: any;
  /**
   * Checks the input against the schema and makes the call in a step. The model sees the result.
   *
   * @throws {McpSessionError | Error} agents hand the message to the model
   */
  readonly execute: (input: any, options?: any) => Promise<any>;
  /** Some agents call it; the result has the model's form already. */
  readonly toModelOutput: (result: any) => any;
}

/**
 * A closure over names, because agents pass the whole conversation to `execute`, and the log must not
 * have it.
 */
export function createRunTool(
  { name, title, description, inputSchema }: OfferedTool,
  call: (input: unknown, toolCallId: string | undefined) => Promise<ToolResult>,
): RunTool {
  const findProblem = createInputCheck(inputSchema);
  return {
    ...(description !== undefined && { description }),
    ...(title !== undefined && { title }),
    // `DurableAgent` wants a validator, and ends the run if it rejects an input. `execute` tells the model.
    inputSchema: jsonSchema(agentSchema(inputSchema), {
      validate: (value) => ({ success: true, value }),
    }),
    async execute(input, options) {
      const problem = findProblem(input);
      if (problem !== undefined) throw new Error(`Invalid input for tool ${name}: ${problem}`);
      const { toolCallId } = (options ?? {}) as { toolCallId?: unknown };
      return await call(input, typeof toolCallId === "string" ? toolCallId : undefined);
    },
    toModelOutput: ({ output }) => output,
  };
}
