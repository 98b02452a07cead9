import type { ToolSet } from "ai";
import type { LendTool } from "@durable-mcp/sessions";
import type { Execute } from "./connection-tools.ts";

type Tool = ToolSet[string];

/** A tool that calls the one of the run of the time. @param listed the tool as it was listed */
export function borrowTool(listed: Tool, lend: LendTool<Tool>): Tool {
  /** The tool that was called last. It knows what the model is to be told with the result. */
  let called = listed;
  const execute: Execute = (input, options) =>
    lend(async (find) => {
      called = await find();
      return await (called as { execute: Execute }).execute(input, options);
    });
  const { toModelOutput, needsApproval } = listed;
  return {
    ...listed,
    execute,
    ...(toModelOutput && {
      toModelOutput: (result: Parameters<typeof toModelOutput>[0]) =>
        (called.toModelOutput ?? toModelOutput)(result),
    }),
    ...(typeof needsApproval === "function" && {
      needsApproval: async (...call: Parameters<typeof needsApproval>) =>
        await lend(async (find) => {
          // A server that is down is the call's affair.
          const current = (await find().catch(() => listed)).needsApproval;
          return await (typeof current === "function" ? current : needsApproval)(...call);
        }),
    }),
  } as Tool;
}
