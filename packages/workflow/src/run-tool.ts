import { jsonSchema } from "ai";
import type { OfferedTool, ToolResult } from "./step-protocol.ts";
import { createInputCheck } from "./validate-input.ts";

/**
 * A tool for `DurableAgent` and `WorkflowAgent`. Its types fit AI SDK 6 and 7, which have different
 * ones for the same.
 */
export interface RunTool {
  readonly description?: string;
  readonly title?: string;
  /** A schema of AI SDK, with a validator. */
  readonly inputSchema: any;
  /** Makes the call in a step. The result is what the model sees. */
  readonly execute: (input: any, options?: any) => Promise<any>;
  /** For agents that ask; the result is in the model's form already. */
  readonly toModelOutput: (result: any) => any;
}

/** A closure over names: an agent hands the whole conversation to `execute`, and the log needs none of it. */
export function createRunTool(
  { title, description, inputSchema }: OfferedTool,
  call: (input: unknown) => Promise<ToolResult>,
): RunTool {
  const findProblem = createInputCheck(inputSchema);
  // An agent may compile it for one dialect, and refuses a schema that names another.
  const { $schema: _, ...plainSchema } = inputSchema;
  return {
    ...(description !== undefined && { description }),
    ...(title !== undefined && { title }),
    inputSchema: jsonSchema(plainSchema, {
      validate(value) {
        const problem = findProblem(value);
        return problem === undefined
          ? { success: true, value }
          : { success: false, error: new Error(problem) };
      },
    }),
    execute: async (input) => await call(input),
    toModelOutput: ({ output }) => output,
  };
}
