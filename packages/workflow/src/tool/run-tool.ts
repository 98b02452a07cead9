import { jsonSchema } from "ai";
import { agentSchema } from "./agent-schema.ts";
import type { OfferedTool, ToolResult } from "../step-protocol.ts";
import { createInputCheck } from "./validate-input.ts";

/**
 * A tool for `DurableAgent` and `WorkflowAgent`. Its types fit AI SDK 6 and 7, which have different
 * ones for the same.
 */
export interface RunTool {
  readonly description?: string;
  readonly title?: string;
  /** A schema of AI SDK. Its validator lets everything pass: what does not fit is the model's to correct. */
  readonly inputSchema: any;
  /**
   * Checks the input against the schema and makes the call in a step. The result is what the model sees.
   *
   * @throws {McpSessionError | Error} which agents tell the model
   */
  readonly execute: (input: any, options?: any) => Promise<any>;
  /** For agents that ask; the result is in the model's form already. */
  readonly toModelOutput: (result: any) => any;
}

/** A closure over names: an agent hands the whole conversation to `execute`, and the log needs none of it. */
export function createRunTool(
  { name, title, description, inputSchema }: OfferedTool,
  call: (input: unknown) => Promise<ToolResult>,
): RunTool {
  const findProblem = createInputCheck(inputSchema);
  return {
    ...(description !== undefined && { description }),
    ...(title !== undefined && { title }),
    // `DurableAgent` wants a validator, and ends the run when it says no. `execute` tells the model.
    inputSchema: jsonSchema(agentSchema(inputSchema), {
      validate: (value) => ({ success: true, value }),
    }),
    async execute(input) {
      const problem = findProblem(input);
      if (problem !== undefined) throw new Error(`Invalid input for tool ${name}: ${problem}`);
      return await call(input);
    },
    toModelOutput: ({ output }) => output,
  };
}
