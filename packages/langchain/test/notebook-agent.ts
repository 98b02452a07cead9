import { defineMcpClientConnection, type McpClientConnectionOptions } from "@durable-mcp/ai-sdk";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { AIMessage, createAgent, fakeModel, HumanMessage } from "langchain";
import {
  type NotebookServerOptions,
  startNotebookServer,
} from "../../sessions/test/notebook-server.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { sessionToolsMiddleware } from "../src/session-tools-middleware.ts";

/** A notebook, and an application with it as `notes`. */
export async function startNotes(
  options: Partial<McpClientConnectionOptions> = {},
  server?: NotebookServerOptions,
) {
  const notebook = await startNotebookServer(server);
  const notes = defineMcpClientConnection({
    ...{ url: notebook.url, description: "A notebook.", session: "stateful", ...options },
  });
  return { server: notebook, application: startApplication({ notes }) };
}

type ToolCalls = Parameters<ReturnType<typeof fakeModel>["respondWithTools"]>[0];

/** A model that makes these calls, turn by turn, and is done then. */
export function saying(...turns: ToolCalls[]) {
  return turns
    .reduce((model, calls) => model.respondWithTools(calls), fakeModel())
    .respond(new AIMessage("Done."));
}

/** An agent that has its tools from the middleware, with such a model. */
export const agentSaying = (...turns: ToolCalls[]) =>
  createAgent({ model: saying(...turns), middleware: [sessionToolsMiddleware()] });

/** With what an agent begins. */
export const input = { messages: [new HumanMessage("Go.")] };

/** Calls a tool as an agent does. */
export async function call(
  tools: readonly DynamicStructuredTool[],
  name: string,
  args: object = {},
): Promise<{ content: any; artifact: any }> {
  const found = tools.find((tool) => tool.name === name);
  if (found === undefined) throw new Error(`No ${name}: ${tools.map((tool) => tool.name).join()}`);
  const toolCall = { type: "tool_call" as const, id: "call-1", name, args };
  return (await found.invoke(toolCall as never)) as never;
}
