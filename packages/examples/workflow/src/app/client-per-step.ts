import { createMCPClient } from "@ai-sdk/mcp";
import { DurableAgent } from "@workflow/ai/agent";
import { asSchema, jsonSchema, type UIMessageChunk } from "ai";
import { getWritable } from "workflow";
import { orderModel } from "./order-model.ts";
import { type OrderRun, readAnswers } from "./order-run.ts";

/** What a run can do without durable-mcp: a client in each step, for tools cannot leave one. */
async function connect(connection: string) {
  const url = process.env[`${connection.toUpperCase()}_URL`]!;
  return await createMCPClient({ transport: { type: "http", url } });
}

async function listTools(connection: string) {
  "use step";
  const client = await connect(connection);
  try {
    const tools = Object.entries(await client.tools()).map(async ([name, tool]) => {
      const inputSchema = await asSchema(tool.inputSchema as never).jsonSchema;
      return { name, description: String(tool.description), inputSchema };
    });
    return await Promise.all(tools);
  } finally {
    await client.close();
  }
}

async function callTool(connection: string, name: string, input: unknown) {
  "use step";
  const client = await connect(connection);
  try {
    const tool = (await client.tools())[name]!;
    const result = await tool.execute(input, { toolCallId: "call", messages: [], context: {} });
    const { content } = result as { content: { type: string; text?: string }[] };
    return content.map(({ text = "" }) => text).join("\n");
  } finally {
    await client.close();
  }
}
callTool.maxRetries = 0;

export async function orderDrinksWithout({ connections, prompt }: OrderRun) {
  "use workflow";
  const lists = connections.map(async (connection) =>
    (await listTools(connection)).map(({ name, description, inputSchema }) => [
      `${connection}__${name}`,
      {
        description,
        inputSchema: jsonSchema(inputSchema, { validate: (value) => ({ success: true, value }) }),
        execute: (input: unknown) => callTool(connection, name, input),
      },
    ]),
  );
  const tools = Object.fromEntries((await Promise.all(lists)).flat());
  const agent = new DurableAgent({ model: orderModel, tools });
  const { messages } = await agent.stream({
    messages: [{ role: "user", content: prompt }],
    writable: getWritable<UIMessageChunk>(),
  });
  return { answers: readAnswers(messages) };
}
