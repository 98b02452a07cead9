import { currentConnections } from "@durable-mcp/sessions";
import { runInternalsOf } from "@durable-mcp/sessions/internal";
import { ToolMessage } from "@langchain/core/messages";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { isGraphBubbleUp } from "@langchain/langgraph";
import { createMiddleware, MiddlewareError, ToolInvocationError } from "langchain";
import {
  checkSessionToolsOptions,
  listWaiting,
  loadTools,
  type SessionToolsOptions,
} from "./load-session-tools.ts";
import { ToolException } from "./tool-exception.ts";

type ToolsByName = ReadonlyMap<string, DynamicStructuredTool>;

/**
 * Middleware for `createAgent`. It gives the agent, in each run, the tools of that run's session. Make
 * the agent once, at start, and use it inside `run.enter`, `sessions.run` or `withConnections`, or in a
 * script with `autoSession`. The tools are loaded once for each run, when the model or a resumed tool
 * call first needs them; with `autoSession` once between two pauses. Errors of these tools reach the model,
 * as without middleware.
 *
 * Put it first. Other middleware then sees the tools, their calls and their errors.
 *
 * @example
 * const agent = createAgent({ model, middleware: [sessionToolsMiddleware()] });
 *
 * await sessions.run(chatId, { principal }, () => agent.invoke({ messages }));
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option. When the agent is called: `RUN_REQUIRED` outside of
 *   a run, and the errors of `loadSessionTools`
 */
export function sessionToolsMiddleware(options: SessionToolsOptions = {}) {
  checkSessionToolsOptions(options);
  const loaded = new WeakMap<object, Promise<ToolsByName>>();

  const currentTools = async (): Promise<ToolsByName> => {
    const run = currentConnections();
    // The run of `autoSession` stays, but its tools are those of the one that it borrows.
    return await runInternalsOf(run)(async (borrowed) => {
      const found = loaded.get(borrowed);
      if (found !== undefined) return await found;
      const loading = loadTools(run, options).then(byName);
      loaded.set(borrowed, loading);
      try {
        return await loading;
      } catch (error) {
        loaded.delete(borrowed);
        throw error;
      }
    });
  };

  return createMiddleware({
    name: "SessionTools",
    async wrapModelCall(request, handler) {
      const tools = new Map(await currentTools());
      // The agent's own tools stand for themselves, as in `wrapToolCall`.
      for (const { name } of request.tools) tools.delete(String(name));
      return await handler({ ...request, tools: [...request.tools, ...tools.values()] });
    },
    async wrapToolCall(request, handler) {
      const { toolCall, tool: known, runtime } = request;
      const { name } = toolCall;
      const findWaiting = async () =>
        byName(await loadTools(currentConnections(), options, listWaiting())).get(name);
      const tool = known ?? (await currentTools()).get(name) ?? (await findWaiting());
      if (known !== undefined || tool === undefined) return await handler(request);
      try {
        return await handler({ ...request, tool });
      } catch (error) {
        if (runtime.signal?.aborted || isForLangChain(error)) throw error;
        return new ToolMessage({
          content: ToolException.textOf(error),
          tool_call_id: toolCall.id!,
          name,
          status: "error",
        });
      }
    },
  });
}

function byName(tools: readonly DynamicStructuredTool[]): ToolsByName {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/** Interrupts, errors of other middleware, and arguments that do not fit the tool. */
function isForLangChain(error: unknown): boolean {
  return (
    isGraphBubbleUp(error) ||
    MiddlewareError.isInstance(error) ||
    ToolInvocationError.isInstance(error)
  );
}
