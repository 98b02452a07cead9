/** `toolNames` of a definition: the names of tools for the model, and two tools of one name. */
import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { answer, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { scriptedModel, toolResults } from "@durable-mcp/testing/ai-sdk";
import { alice, callForText, startApplication } from "../step.ts";
import {
  createConnectionProvider,
  createDurableAgent,
  createDurableSessions,
  currentConnections,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";

type Options = Partial<McpClientConnectionOptions>;

/** A server with these tools, which say where they are. */
async function startTools(where: string, ...tools: string[]) {
  const server = await startNotebookServer({
    setUp(mcp) {
      for (const tool of tools) mcp.registerTool(tool, {}, () => answer(where));
    },
  });
  return (options: Options = {}) =>
    defineMcpClientConnection({
      url: server.url,
      description: where,
      session: "stateless",
      ...options,
    });
}

const unprefixed = { toolNames: { prefix: false } } as const;

describe("the names of a connection's tools", () => {
  test("are the server's own, or have the prefix of the definition", async () => {
    const shop = await startTools("shop", "search", "tools.buy", "x".repeat(70));
    const application = startApplication({
      byDefault: shop(),
      bare: shop(unprefixed),
      mastra: shop({ toolNames: { prefix: "shop_" } }),
      adapter: shop({ toolNames: { prefix: "mcp__shop__" } }),
    });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      const names = Object.keys(tools);
      expect(names.filter((name) => name.endsWith("search"))).toEqual([
        "byDefault__search",
        "search",
        "shop_search",
        "mcp__shop__search",
      ]);
      expect(names.filter((name) => !/^[A-Za-z0-9_-]{1,64}$/.test(name))).toEqual([]);
      expect(names.filter((name) => /^(shop_)?tools_buy_[0-9a-f]{8}$/.test(name))).toHaveLength(2);
      expect(new Set(names).size).toBe(12);
      for (const name of names) expect(await callForText(tools, name)).toBe("shop");
    });
    expect(application.takeEvents()).toEqual([]);
  });

  test.each(["", "with space", "a.b", true, 5])("cannot begin with %j", (prefix) => {
    const define = () =>
      defineMcpClientConnection({
        url: "http://127.0.0.1/mcp",
        description: "x",
        toolNames: { prefix: prefix as string },
      });
    expect(define).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field: "toolNames.prefix" } }),
    );
  });
});

describe("two tools of one name", () => {
  test.each<[string, Options, Options]>([
    ["allow lists", { tools: { allow: ["search", "a"] } }, { tools: { allow: ["search"] } }],
    [
      "schemas",
      { schemas: { search: { inputSchema: z.object({}) } } },
      { schemas: { search: { inputSchema: z.object({}) } }, tools: { block: ["other"] } },
    ],
  ])("are refused at once where %s name them", async (_, a, b) => {
    const url = "http://127.0.0.1/mcp";
    const define = (options: Options) =>
      defineMcpClientConnection({ url, description: "x", ...unprefixed, ...options });
    const connections = { web: define(a), mail: define(b) };
    const refused = expect.objectContaining({
      code: "CONNECTION_INVALID",
      data: { field: "connections.mail.toolNames", connection: "mail" },
      message: expect.stringMatching(
        /"search": search of connection web, search of connection mail\. Give .* toolNames\.prefix/,
      ),
    });
    expect(() => createConnectionProvider({ connections })).toThrow(refused);
    const provider = createConnectionProvider({ connections: () => connections });
    expect(() => provider.create({})).toThrow(refused);
    const apart = { ...connections, mail: define({ ...b, toolNames: {} }) };
    expect(() => createConnectionProvider({ connections: apart })).not.toThrow();
    const blocked = define({ ...b, tools: { block: ["search"] } });
    expect(() =>
      createConnectionProvider({ connections: { web: define(a), mail: blocked } }),
    ).not.toThrow();
  });

  test.each([[["web", "mail"]], [["mail", "web"]]] as const)(
    "are left out and told when they are listed, in the order %j as well",
    async (order) => {
      const web = (await startTools("web", "search", "open"))(unprefixed);
      const mail = (await startTools("mail", "search", "send"))(unprefixed);
      const declared = { web, mail };
      const application = startApplication(
        Object.fromEntries(order.map((name) => [name, declared[name]])),
      );
      await application.step({}, async (registry) => {
        const tools = await registry.tools();
        expect(Object.keys(tools).toSorted()).toEqual(["open", "send"]);
        expect(application.events).toEqual([
          {
            type: "tools-collide",
            connection: order[0],
            toolName: "search",
            tools: order.map((connection) => ({ connection, tool: "search" })),
          },
        ]);
        await expect(registry.tools({ onUnavailable: "throw" })).rejects.toMatchObject({
          code: "CONNECTION_INVALID",
          message: expect.stringContaining("toolNames.prefix"),
        });
        const only = await registry.tools({ connections: ["web", "web"] });
        expect(Object.keys(only)).toEqual(["search", "open"]);
      });
    },
  );

  test("are one, whichever of their servers is down", async () => {
    const mail = (await startTools("mail", "search"))(unprefixed);
    const down = defineMcpClientConnection({
      url: "http://127.0.0.1:1/mcp",
      description: "down",
      ...unprefixed,
    });
    for (const connections of [
      { down, mail },
      { mail, down },
    ]) {
      const application = startApplication<Record<string, typeof mail>>(connections);
      await application.step({}, async (registry) => {
        expect(await callForText(await registry.tools(), "search")).toBe("mail");
      });
      expect(application.takeEvents()).toEqual(["unavailable"]);
    }
  });

  test("are left out of a run that nothing entered, too, and said on the console", async () => {
    const connections = {
      web: (await startTools("web", "search"))(unprefixed),
      mail: (await startTools("mail", "search"))(unprefixed),
    };
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    const provider = createConnectionProvider({ connections });
    const registry = currentConnections({ ephemeral: true, provider });
    expect(await registry.tools()).toEqual({});
    expect(await registry.tools()).toEqual({});
    expect(warn.mock.calls).toEqual([
      [
        expect.stringMatching(
          /"search": search of connection web, search of connection mail\..* None of them is offered/,
        ),
      ],
    ]);
    warn.mockRestore();
  });
});

test("an agent's activeTools are compared with the names that the model sees", async () => {
  const web = await startTools("web", "search", "open");
  const mail = await startTools("mail", "send");
  const events: object[] = [];
  const connections = {
    web: web(unprefixed),
    mail: mail({ toolNames: { prefix: "post_" } }),
    down: defineMcpClientConnection({
      url: "http://127.0.0.1:1/mcp",
      description: "down",
      toolNames: { prefix: "down_" },
    }),
  };
  const sessions = createDurableSessions({
    connections,
    store: createMemoryStore(),
    onEvent: { every: (event) => event.type === "tools-unmatched" && events.push(event) },
  });
  const model = scriptedModel([{ tool: "search" }], [{ tool: "post_send" }], "Done.");
  const agent = createDurableAgent({
    sessions,
    model,
    activeTools: ["search", "web__open", "post_send", "post_find", "down_x"] as never,
  });
  await agent.generate({ prompt: "Go.", options: { sessionId: "chat", principal: alice } });
  expect(toolResults(model)).toEqual(["web", "mail"]);
  const unmatched = { type: "tools-unmatched", option: "activeTools" };
  expect(events).toEqual([
    { ...unmatched, connection: "web", tools: ["web__open"] },
    { ...unmatched, connection: "mail", tools: ["post_find"] },
  ]);
});
