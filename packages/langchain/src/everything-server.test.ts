import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { loadMcpTools } from "@langchain/mcp-adapters";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { alice, startApplication } from "../../ai-sdk/test/step.ts";
import { startEverythingServer } from "../../e2e/src/servers/everything.ts";
import { loadSessionTools } from "./load-session-tools.ts";

const calls: [tool: string, args?: object][] = [
  ["echo", { message: "hello" }],
  ["get-annotated-message", { messageType: "error", includeImage: true }],
  ["get-resource-links", { count: 3 }],
  ["get-resource-reference", { resourceType: "Text", resourceId: 1 }],
  ["get-structured-content", { location: "Chicago" }],
  ["get-sum", { a: 1, b: 2 }],
  ["get-sum", { a: "one" }],
  ["get-tiny-image"],
  ["trigger-long-running-operation", { duration: 0.2, steps: 2 }],
];

/** The message as the model and code see it, or the error. */
async function outcomeOf(tools: DynamicStructuredTool[], name: string, args: object) {
  const tool = tools.find((candidate) => candidate.name === `all__${name}`)!;
  const call = { type: "tool_call" as const, id: "call-1", name: tool.name, args };
  const outcome: unknown = await tool.invoke(call as never).catch((error: unknown) => ({
    name: (error as Error).name,
    message: (error as Error).message,
  }));
  // Resources say when they were made.
  return JSON.stringify(outcome).replaceAll(/\d+:\d+:\d+( [AP]M)?/g, "(time)");
}

test("the reference server's tools give what they give through the plain adapter", async () => {
  const server = await startEverythingServer();
  onTestFinished(() => server.stop());
  const plainClient = new Client({ name: "plain", version: "1.0.0" });
  await plainClient.connect(new StreamableHTTPClientTransport(new URL(server.url)));
  onTestFinished(() => plainClient.close());
  const plain = await loadMcpTools("all", plainClient, { prefixToolNameWithServerName: true });
  const { provider } = startApplication({
    all: defineMcpClientConnection({
      url: server.url,
      description: "Everything.",
      session: "stateful",
    }),
  });
  await using registry = provider.create({ principal: alice });
  const ours = await loadSessionTools(registry);
  // It only runs as a task, so each call of it would fail.
  const offered = plain.filter(({ name }) => name !== "all__simulate-research-query");
  expect(ours.map(({ name }) => name)).toEqual(offered.map(({ name }) => name));
  expect(offered.length).toBe(plain.length - 1);
  for (const [name, args = {}] of calls) {
    const actual = await outcomeOf(ours, name, args);
    expect(actual).toEqual(await outcomeOf(plain, name, args));
    expect(actual.length).toBeGreaterThan(10);
  }

  await server.restart();
  const { content } = JSON.parse(await outcomeOf(ours, "get-sum", { a: 1, b: 2 })).kwargs;
  expect(content).toMatch(/^Note: .* is gone; .*\n\nThe sum of 1 and 2 is 3\.$/);
}, 60_000);
