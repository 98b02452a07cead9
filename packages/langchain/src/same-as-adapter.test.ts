import { ToolMessage } from "@langchain/core/messages";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { loadMcpTools, type LoadMcpToolsOptions } from "@langchain/mcp-adapters";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { type NotebookServer, startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { notebook } from "../../ai-sdk/test/saved-session.ts";
import { alice, startApplication } from "../../ai-sdk/test/step.ts";
import { registerGallery } from "../test/gallery-server.ts";
import { loadSessionTools } from "./load-session-tools.ts";

/** The tools of one server: the plain adapter's, on a client of its own, and ours. */
async function loadBoth(options: LoadMcpToolsOptions = {}) {
  const server = await startNotebookServer({ setUp: registerGallery });
  const plain = await connectPlain(server);
  const registry = startApplication({ notes: notebook(server) }).provider.create({
    principal: alice,
  });
  onTestFinished(() => registry.dispose());
  return {
    server,
    registry,
    plain: await loadMcpTools("notes", plain, { ...options, prefixToolNameWithServerName: true }),
    ours: await loadSessionTools(registry, options),
  };
}

async function connectPlain({ url }: NotebookServer): Promise<Client> {
  const client = new Client({ name: "plain", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  return client;
}

/** What comes of a call as an agent makes it: the message, or the error. */
async function outcomeOf(tool: DynamicStructuredTool, args: object = {}): Promise<unknown> {
  const call = { type: "tool_call" as const, id: "call-1", name: tool.name, args };
  try {
    const message: unknown = await tool.invoke(call as never);
    expect(ToolMessage.isInstance(message)).toBe(true);
    return JSON.parse(JSON.stringify(message)) as unknown;
  } catch (error) {
    const { name, message, cause } = error as Error;
    return { error: { name, message, cause } };
  }
}

async function expectSameOutcomes(options: LoadMcpToolsOptions, argsOf: Record<string, object>) {
  const { plain, ours } = await loadBoth(options);
  expect(plain.length).toBeGreaterThan(10);
  for (const [index, tool] of plain.entries()) {
    const args = argsOf[tool.name] ?? {};
    const expected = await outcomeOf(tool, args);
    const showsMeta = tool.name === "notes__with_meta" && options.outputHandling !== "artifact";
    // The adapter shows the model the server's metadata.
    if (showsMeta) Object.assign((expected as { kwargs: object }).kwargs, { content: "one" });
    expect({ [tool.name]: await outcomeOf(ours[index]!, args) }).toEqual({ [tool.name]: expected });
  }
}

describe("beside the official adapter on the same server", () => {
  test("the tools have the same names, descriptions, schemas and metadata", async () => {
    const { plain, ours } = await loadBoth();
    expect(ours.map(face)).toEqual(plain.map(face));
  });

  test.each<[string, LoadMcpToolsOptions]>([
    ["by default", {}],
    ["with standard content blocks", { useStandardContentBlocks: true }],
    ["with all output as artifacts", { outputHandling: "artifact" }],
    ["with output by kind", { outputHandling: { image: "artifact", resource: "content" } }],
  ])("messages, artifacts, structured content and errors are the same %s", async (_, options) => {
    await expectSameOutcomes(options, { notes__structured: { a: 1 } });
  });

  test("arguments that do not fit are refused with the same error", async () => {
    await expectSameOutcomes({}, { notes__structured: { a: "one" } });
  });

  test("structured content that breaks the tool's schema is the same error", async () => {
    const { server, plain, ours } = await loadBoth();
    server.intercept((request, response) => {
      if (request.message?.params?.name !== "wrong_structure") return "next";
      const result = { content: [], structuredContent: { sum: "many" } };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: request.message.id, result }));
      return undefined;
    });
    const [expected, actual] = [plain, ours].map((tools) => named(tools, "wrong_structure"));
    expect(await outcomeOf(actual!)).toEqual(await outcomeOf(expected!));
    expect(await outcomeOf(actual!)).toMatchObject({
      error: { name: "ToolException", message: expect.stringContaining("does not match") },
    });
  });

  test("hooks around calls, progress and LangChain's callbacks are called the same", async () => {
    const seen: Record<"plain" | "ours", unknown[]> = { plain: [], ours: [] };
    for (const side of ["plain", "ours"] as const) {
      const { [side]: tools } = await loadBoth(optionsFor(seen[side]));
      const calls = [["progress"], ["structured", { a: 1 }], ["one_text"], ["refused"]] as const;
      for (const [name, args = {}] of calls) {
        const callbacks = [
          {
            handleToolStart: (_: unknown, input: string) => void seen[side].push(["start", input]),
            handleToolEnd: (output: { content: unknown }) =>
              void seen[side].push(["end", output.content]),
            handleToolError: (error: Error) => void seen[side].push(["error", error.message]),
          },
        ];
        const tool = named(tools, name);
        const call = { type: "tool_call" as const, id: "call-1", name: tool.name, args };
        await tool.invoke(call as never, { callbacks }).catch(() => undefined);
      }
    }
    expect(seen.ours).toEqual(seen.plain);
    expect(seen.ours.map(([kind]: any) => kind)).toEqual([
      ...["start", "before", "progress", "progress", "after", "end"],
      ...["start", "before", "after", "end"],
      ...["start", "before", "after", "end"],
      ...["start", "before", "error"],
    ]);
  });

  test("a time limit given with a call and an abort end it with the same error", async () => {
    for (const config of [{ timeout: 50 }, { signal: AbortSignal.timeout(50) }]) {
      const outcomes = [];
      for (const side of ["plain", "ours"] as const) {
        const { server, [side]: tools } = await loadBoth();
        const held = Promise.withResolvers<void>();
        onTestFinished(() => held.resolve());
        server.intercept(({ message }) =>
          message?.method === "tools/call" ? held.promise.then(() => "next") : "next",
        );
        const signal = "signal" in config ? { signal: AbortSignal.timeout(50) } : config;
        const error: unknown = await named(tools, "one_text")
          .invoke({}, signal)
          .catch((reason: unknown) => reason);
        outcomes.push({ name: (error as Error).name, message: (error as Error).message });
      }
      expect(outcomes[1]).toEqual(outcomes[0]);
    }
  });

  test("headers from a hook are refused the same: they belong to the connection", async () => {
    const { plain, ours } = await loadBoth({ beforeToolCall: () => ({ headers: { a: "b" } }) });
    const [expected, actual] = [plain, ours].map((tools) => named(tools, "one_text"));
    expect(await outcomeOf(actual!)).toEqual(await outcomeOf(expected!));
    expect(await outcomeOf(actual!)).toHaveProperty("error.name", "ToolException");
  });
});

function named(tools: DynamicStructuredTool[], name: string): DynamicStructuredTool {
  const found = tools.find((tool) => tool.name === `notes__${name}`);
  if (found === undefined) throw new Error(`There is no tool ${name}.`);
  return found;
}

/** What a model and an agent see of a tool. */
function face({
  name,
  description,
  schema,
  metadata,
  responseFormat,
  returnDirect,
}: DynamicStructuredTool) {
  return { name, description, schema, metadata, responseFormat, returnDirect };
}

/** Options whose functions write down how they were called. */
function optionsFor(side: unknown[]): LoadMcpToolsOptions {
  return {
    onProgress: (progress, source) => void side.push(["progress", progress, source]),
    beforeToolCall: (request) => {
      side.push(["before", request]);
      return request.name === "structured" ? { args: { b: 5 } } : undefined;
    },
    afterToolCall: ({ name, args, serverName, result }) => {
      side.push(["after", name, args, serverName, result]);
      return name === "one_text" ? { result: "another" } : undefined;
    },
  };
}
