import type { CallToolResult } from "@ai-sdk/mcp";
import {
  generateText,
  type InferToolInput,
  type InferToolOutput,
  ToolLoopAgent,
  type ToolSet,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { Principal } from "@durable-mcp/core";
import type { ProvidedArgumentContext } from "../../../sessions/src/declare/tool-options.ts";
import { createConnectionProvider, defineMcpClientConnection } from "../index.ts";
import { defineMcpStdioConnection } from "../stdio.ts";
import { type McpClientConnection } from "../../../sessions/src/declare/define-connection.ts";

const url = "http://127.0.0.1/mcp";
const plain = defineMcpClientConnection({ url, description: "No schemas." });
const math = defineMcpClientConnection({
  url,
  description: "A calculator.",
  session: "stateful",
  schemas: {
    add: {
      inputSchema: z.object({ a: z.number(), b: z.number().default(1) }),
      outputSchema: z.object({ sum: z.number() }),
    },
    clear: { inputSchema: z.object({}) },
  },
});
const text = defineMcpClientConnection({
  url,
  description: "Text.",
  schemas: { upper: { inputSchema: z.object({ text: z.string() }) } },
});

type ToolsOf<REGISTRY extends { tools: () => Promise<unknown> }> = Awaited<
  ReturnType<REGISTRY["tools"]>
>;

const registryOf = <C extends Record<string, McpClientConnection>>(connections: C) =>
  createConnectionProvider({ connections }).create({ principal: { type: "app" } });

describe("the tools of a run", () => {
  const registry = registryOf({ math, text, plain });
  type Tools = ToolsOf<typeof registry>;
  const run = (tools: Tools) =>
    generateText({ model: new MockLanguageModelV4(), tools, prompt: "" });

  test("are a ToolSet for every function of the AI SDK", () => {
    expectTypeOf<Tools>().toExtend<ToolSet>();
    const agent = (tools: Tools) => new ToolLoopAgent({ model: new MockLanguageModelV4(), tools });
    expectTypeOf(agent).returns.toHaveProperty("generate");
  });

  test("with schemas are known by name, input and output", () => {
    type Add = NonNullable<Tools["math__add"]>;
    expectTypeOf<InferToolInput<Add>>().toEqualTypeOf<{ a: number; b: number }>();
    expectTypeOf<InferToolOutput<Add>>().toEqualTypeOf<{ sum: number }>();
    type Upper = NonNullable<Tools["text__upper"]>;
    expectTypeOf<InferToolInput<Upper>>().toEqualTypeOf<{ text: string }>();
    expectTypeOf<InferToolOutput<Upper>>().toEqualTypeOf<CallToolResult>();
  });

  test("have the prefix of their connection", () => {
    const schemas = { find: { inputSchema: z.object({ q: z.string() }) } };
    const own = defineMcpClientConnection({
      url,
      description: "x",
      schemas,
      toolNames: { prefix: false },
    });
    const shop = defineMcpStdioConnection({
      command: "shop",
      description: "x",
      schemas: { ...schemas, buy: { inputSchema: z.object({}) } },
      toolNames: { prefix: "shop_" },
    });
    const byDefault = defineMcpClientConnection({ url, description: "x", schemas, toolNames: {} });
    const prefix: string = "x_";
    const atRunTime = defineMcpClientConnection({
      url,
      description: "x",
      schemas,
      toolNames: { prefix },
    });
    const prefixed = createConnectionProvider({
      connections: { own, shop, myOwn: byDefault, atRunTime },
    }).create({});
    type Prefixed = ToolsOf<typeof prefixed>;
    expectTypeOf<keyof Prefixed>().toEqualTypeOf<
      "find" | "shop_find" | "shop_buy" | "myOwn__find"
    >();
    expectTypeOf<InferToolInput<NonNullable<Prefixed["find"]>>>().toEqualTypeOf<{ q: string }>();
    expectTypeOf(own).toExtend<McpClientConnection>();
    expectTypeOf(own).toExtend<McpClientConnection<typeof schemas>>();
    const maybe: { prefix?: "a_" | undefined } = {};
    defineMcpClientConnection({ url, description: "x", toolNames: maybe });
    // @ts-expect-error true is no prefix
    defineMcpClientConnection({ url, description: "x", toolNames: { prefix: true } });
  });

  test("may be missing: their connection may be down", () => {
    expectTypeOf<undefined>().toExtend<Tools["math__add"]>();
  });

  test("without schemas are there at run time only", () => {
    expectTypeOf<keyof Tools>().toEqualTypeOf<"math__add" | "math__clear" | "text__upper">();
  });

  test("are known to the calls of a run", () => {
    type Call = Awaited<ReturnType<typeof run>>["staticToolCalls"][number];
    type Upper = Extract<Call, { toolName: "text__upper" }>;
    expectTypeOf<Upper["input"]>().toEqualTypeOf<{ text: string }>();
  });

  test("are a plain ToolSet when no connection has schemas, or none is known", () => {
    const none = registryOf({ plain });
    expectTypeOf<ToolsOf<typeof none>>().toEqualTypeOf<ToolSet>();
    const unknownSchemas: McpClientConnection = plain;
    const wide = registryOf({ plain: unknownSchemas });
    expectTypeOf<ToolsOf<typeof wide>>().toEqualTypeOf<ToolSet>();
    const unknownNames: Record<string, McpClientConnection> = {};
    const some = registryOf(unknownNames);
    expectTypeOf<ToolsOf<typeof some>>().toEqualTypeOf<ToolSet>();
  });
});

describe("the names of a run", () => {
  test("are those of its connections", () => {
    const registry = registryOf({ math, plain });
    type Registry = typeof registry;
    expectTypeOf<Parameters<Registry["client"]>>().toEqualTypeOf<["math" | "plain"]>();
    expectTypeOf<Parameters<Registry["fetch"]>>().toEqualTypeOf<["math" | "plain"]>();
    expectTypeOf<ReturnType<Registry["fetch"]>>().toEqualTypeOf<typeof fetch>();
  });
});

describe("a definition", () => {
  test("keeps the type of its schemas", () => {
    expectTypeOf(plain).toEqualTypeOf<McpClientConnection<undefined, undefined>>();
    expectTypeOf(math).toExtend<McpClientConnection>();
  });

  test("supplies arguments of JSON, or functions that return it", () => {
    const providedArguments = {
      fixed: { list: ["a", 1, null] },
      asked: ({ principal, sessionId, tool, toolCallId }: ProvidedArgumentContext) => {
        expectTypeOf(principal).toEqualTypeOf<Principal | undefined>();
        expectTypeOf([sessionId, toolCallId]).toEqualTypeOf<(string | undefined)[]>();
        return Promise.resolve(tool);
      },
    };
    const common = { url, description: "x" };
    defineMcpClientConnection({ ...common, providedArguments });
    defineMcpClientConnection({ ...common, providedArguments: undefined });
    // @ts-expect-error a date is no JSON
    defineMcpClientConnection({ ...common, providedArguments: { at: new Date() } });
    // @ts-expect-error nor is nothing
    defineMcpClientConnection({ ...common, providedArguments: { at: () => undefined } });
  });

  test("has no unknown keys", () => {
    type Options = Parameters<typeof defineMcpClientConnection>[0];
    expectTypeOf<Options>().not.toHaveProperty("header");
    // @ts-expect-error header is a typo of headers
    defineMcpClientConnection({ url, description: "x", header: {} });
    // @ts-expect-error not a mode of sessions
    defineMcpClientConnection({ url, description: "x", session: "statefull" });
  });
});

test("commit gives back the type of the agent session", () => {
  const provider = createConnectionProvider({ connections: { plain } });
  const session = { id: "chat-1", state: { cart: [1] } };
  const committed = provider.commit(provider.create({}), session);
  expectTypeOf(committed).toEqualTypeOf<{ id: string; state: { cart: number[] } }>();
});
