import { createMCPClient } from "@ai-sdk/mcp";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { generateText, isStepCount, type ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sendJson } from "../../../core/test/http-server.ts";
import { answer, on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { scriptedModel, toolResults } from "@durable-mcp/testing/ai-sdk";
import { alice, callTool, startApplication } from "../../test/step.ts";
import type { ConnectionEvent } from "../../../sessions/src/events/connection-event.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "../index.ts";

/** The tools of one connection named `notes`. */
async function openTools(
  url: string,
  options: Partial<McpClientConnectionOptions> = {},
): Promise<{ tools: ToolSet; events: ConnectionEvent[] }> {
  const notes = defineMcpClientConnection({
    url,
    description: "A notebook.",
    session: "stateful",
    ...options,
  });
  const { provider, events } = startApplication({ notes });
  const registry = provider.create({ principal: alice });
  return { tools: await registry.tools(), events };
}

/** A server whose `tools/list` is answered with these pages. */
function startPagedServer(pages: { tools: object[]; nextCursor?: string }[]) {
  return startNotebookServer({
    setUp(mcp) {
      mcp.server.registerCapabilities({ tools: {} });
      mcp.server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
        const page = pages[Number(params?.cursor ?? 0)];
        return { ...page, tools: page?.tools ?? [] };
      });
      mcp.server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
        answer(`this is ${params.name}`),
      );
    },
  });
}

test.each(["stateful", "stateless"] as const)(
  "a list that names an empty cursor again ends there, and one that never ends is cut: %s",
  async (session) => {
    let count = 0;
    let isEndless = false;
    const server = await startNotebookServer({
      setUp(mcp) {
        mcp.server.registerCapabilities({ tools: {} });
        mcp.server.setRequestHandler(ListToolsRequestSchema, () => {
          count += 1;
          return { tools: [definition("one")], nextCursor: isEndless ? String(count) : "" };
        });
      },
    });
    const { tools } = await openTools(server.url, { session });
    expect([Object.keys(tools), count]).toEqual([["notes__one"], 2]);
    isEndless = true;
    count = 0;
    const { tools: cut, events } = await openTools(server.url, { session });
    expect([Object.keys(cut), count]).toEqual([["notes__one"], 100]);
    expect(events.filter(({ type }) => type === "list-cut")).toEqual([
      { type: "list-cut", connection: "notes", method: "tools/list" },
    ]);
  },
);

const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;

const definition = (name: string) => ({ name, inputSchema: { type: "object" } });

describe("the tools of a connection", () => {
  test("are those of @ai-sdk/mcp in all but the name", async () => {
    const server = await startNotebookServer({
      setUp(mcp) {
        mcp.registerTool(
          "draw",
          {
            title: "Draw",
            description: "Draws a shape.",
            inputSchema: { shape: z.enum(["circle", "square"]) },
            annotations: { title: "Old title", readOnlyHint: true, openWorldHint: false },
            _meta: { "vendor.test/cost": 3, ui: { resourceUri: "ui://draw" } },
          },
          ({ shape }) => ({
            content: [
              { type: "text", text: shape },
              { type: "image", data: "aGk=", mimeType: "image/png" },
            ],
          }),
        );
      },
    });
    const client = await createMCPClient({
      transport: { type: "http", url: server.url },
      clientName: "durable-mcp",
    });
    const plain: ToolSet = await client.tools();
    const { tools } = await openTools(server.url);

    expect(Object.keys(tools)).toEqual(["notes__draw"]);
    expect(json(tools["notes__draw"])).toEqual(json(plain["draw"]));
    expect(json(tools["notes__draw"])).toMatchObject({
      title: "Draw",
      description: "Draws a shape.",
      metadata: { toolName: "draw", annotations: { readOnlyHint: true } },
      _meta: { "vendor.test/cost": 3 },
    });
    const input = { shape: "circle" };
    const output = await callTool(tools, "notes__draw", input);
    expect(output).toEqual(await callTool(plain, "draw", input));
    const asModelOutput = (set: ToolSet, name: string) =>
      set[name]?.toModelOutput?.({ toolCallId: "call-1", input, output });
    expect(await asModelOutput(tools, "notes__draw")).toEqual(await asModelOutput(plain, "draw"));
    expect(await asModelOutput(tools, "notes__draw")).toMatchObject({
      type: "content",
      value: [
        { type: "text", text: "circle" },
        { type: "file", mediaType: "image/png" },
      ],
    });
    await client.close();
  });

  test("are called by the server's names, however they are shortened", async () => {
    const long = "x".repeat(70);
    const names = [long, "files/read", "__proto__", "constructor"];
    const server = await startPagedServer([{ tools: names.map(definition) }]);
    const { tools } = await openTools(server.url);
    expect(Object.keys(tools)).toHaveLength(4);
    for (const [name, tool] of Object.entries(tools)) {
      expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      const { toolName } = tool.metadata as { toolName: string };
      expect(await callTool(tools, name)).toMatchObject(answer(`this is ${toolName}`));
    }
  });

  test("are only those that are allowed", async () => {
    const server = await startNotebookServer();
    const { tools } = await openTools(server.url, {
      tools: { allow: ["add_note", "notes__list_notes", "no_such_tool"] },
    });
    expect(Object.keys(tools)).toEqual(["notes__add_note"]);
  });

  test("are all but those that are blocked", async () => {
    const server = await startNotebookServer();
    const { tools } = await openTools(server.url, { tools: { block: ["fail", "wait"] } });
    expect(Object.keys(tools)).toEqual(["notes__add_note", "notes__list_notes"]);
  });

  test("come from all pages of the server's list", async () => {
    const server = await startPagedServer([
      { tools: [definition("a")], nextCursor: "1" },
      { tools: [], nextCursor: "2" },
      { tools: [definition("b"), definition("c")] },
    ]);
    const notes = defineMcpClientConnection({
      url: server.url,
      description: "Pages.",
      session: "stateful",
    });
    const application = startApplication({ notes });
    const names = ["notes__a", "notes__b", "notes__c"];
    const session = await application.step({}, async (registry) => {
      expect(Object.keys(await registry.tools())).toEqual(names);
    });
    expect(server.log.filter((line) => line === "POST tools/list")).toHaveLength(3);

    server.requests.length = 0;
    await application.step(session, async (registry) => {
      expect(Object.keys(await registry.tools())).toEqual(names);
    });
    expect(server.log).toEqual([]);
  });

  test("are none of a server without tools, which is not asked for any", async () => {
    const server = await startNotebookServer({ setUp: () => undefined, instructions: "Listen." });
    const { tools, events } = await openTools(server.url);
    expect(tools).toEqual({});
    expect(events.map(({ type }) => type)).toEqual(["started"]);
    expect(server.log).not.toContain("POST tools/list");
  });

  test("are missing when the server's list never answers", async () => {
    const server = await startNotebookServer();
    server.intercept(on("tools/list", () => undefined));
    const { tools, events } = await openTools(server.url, { timeouts: { connectMs: 1_000 } });
    expect(tools).toEqual({});
    expect(events.map(({ type }) => type)).toEqual(["started", "unavailable"]);
  });
});

const startCalculator = () =>
  startNotebookServer({
    setUp(mcp) {
      mcp.registerTool(
        "add",
        { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
        ({ a, b }) => ({ content: [], structuredContent: { sum: a + b } }),
      );
      mcp.registerTool("subtract", {}, () => answer("0"));
    },
  });

describe("schemas", () => {
  const schemas = {
    add: {
      inputSchema: z.object({ a: z.number(), b: z.number().default(1) }),
      outputSchema: z.object({ sum: z.number() }),
    },
  };
  test("offer their tools only", async () => {
    const { tools } = await openTools((await startCalculator()).url, { schemas });
    expect(Object.keys(tools)).toEqual(["notes__add"]);
  });

  test("validate input and output in the loop; what is wrong is not sent", async () => {
    const server = await startCalculator();
    const { tools } = await openTools(server.url, { schemas });
    const model = scriptedModel(
      [{ tool: "notes__add", input: { a: "one" } }],
      [{ tool: "notes__add", input: { a: 1 } }],
      "done",
    );
    const { steps } = await generateText({
      model,
      tools,
      prompt: "Add.",
      stopWhen: isStepCount(5),
    });
    expect(steps[0]?.content.map(({ type }) => type)).toEqual(["tool-call", "tool-error"]);
    expect(steps[1]?.toolResults).toMatchObject([{ output: { sum: 2 } }]);
    expect(toolResults(model)).toHaveLength(2);
    expect(server.log.filter((line) => line === "POST tools/call")).toHaveLength(1);
  });

  test("refuse an output that does not match", async () => {
    const server = await startCalculator();
    server.intercept(
      on("tools/call", ({ message }, response) =>
        sendJson(response, 200, {
          jsonrpc: "2.0",
          id: message.id,
          result: { content: [], structuredContent: { sum: "two" } },
        }),
      ),
    );
    const { tools } = await openTools(server.url, { schemas });
    await expect(callTool(tools, "notes__add", { a: 1, b: 1 })).rejects.toThrow(/outputSchema/);
  });
});
