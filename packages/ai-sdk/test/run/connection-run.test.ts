import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, test } from "vitest";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { alice, callTool, startApplication } from "../step.ts";
import type { McpClientConnectionOptions } from "../../src/index.ts";

const sessions = ["stateful", "stateless"] as const;

/** A run with one connection named `notes`. */
async function startRegistry(options: Partial<McpClientConnectionOptions> = {}) {
  const server = await startNotebookServer();
  const application = startApplication({ notes: notebook(server, options) });
  const registry = application.provider.create({ principal: alice });
  return { server, registry, ...application };
}

test("connections says what is declared", async () => {
  const server = await startNotebookServer();
  const { provider } = startApplication({
    notes: notebook(server, { session: { mode: "stateful" } }),
    plain: notebook(server, { session: "stateless", description: "Plain." }),
  });
  expect(provider.create({ principal: alice }).connections).toEqual([
    { name: "notes", description: "A notebook.", session: "stateful" },
    { name: "plain", description: "Plain.", session: "stateless" },
  ]);
});

describe("client", () => {
  test.each(sessions)("is one for 100 callers at once, and the tools: %s", async (session) => {
    const { server, registry } = await startRegistry({ session });
    const callers = Array.from({ length: 100 }, () => registry.client("notes"));
    const [tools, ...clients] = await Promise.all([registry.tools(), ...callers]);
    expect(new Set(clients).size).toBe(1);
    expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
    await callTool(tools, "notes__add_note", { text: "a" });
    const result = await clients[0]?.callTool({ name: "list_notes" });
    expect(result).toMatchObject({ content: [{ text: "a" }] });
    await registry.dispose();
  });

  test("is tried again after a failure, which all callers are told", async () => {
    const { server, registry } = await startRegistry();
    server.intercept((_, response) => void response.writeHead(500).end());
    const failures = await Promise.allSettled([registry.client("notes"), registry.client("notes")]);
    for (const failure of failures) {
      expect(failure).toMatchObject({
        status: "rejected",
        reason: { code: "CONNECTION_UNAVAILABLE", data: { connection: "notes", status: 500 } },
      });
    }
    server.intercept(() => "next");
    await expect(registry.client("notes")).resolves.toHaveProperty("serverInfo.name", "notebook");
    await registry.dispose();
  });

  test.each(["nope", "", "__proto__", "constructor"])("is refused for %j", async (name) => {
    const { registry } = await startRegistry();
    const refusal = expect.objectContaining({ code: "CONNECTION_INVALID" });
    await expect(registry.client(name as never)).rejects.toEqual(refusal);
    expect(() => registry.fetch(name as never)).toThrow(refusal);
  });

  test("keeps the session's errors for direct calls as they are for tools", async () => {
    const { server, registry } = await startRegistry();
    const client = await registry.client("notes");
    server.intercept(
      on("tools/call", (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).end(": gone\n\n");
      }),
    );
    await expect(client.callTool({ name: "list_notes" })).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      data: { method: "tools/call", origin: server.origin, connection: "notes" },
    });
    await registry.dispose();
  });
});

describe("fetch", () => {
  test("gives another client the session of the slot", async () => {
    const { server, registry, provider } = await startRegistry();
    await callTool(await registry.tools(), "notes__add_note", { text: "milk" });
    server.requests.length = 0;

    const client = new Client({ name: "other", version: "1" });
    const fetch = registry.fetch("notes");
    const transport = new StreamableHTTPClientTransport(new URL(server.url), { fetch });
    await client.connect(transport);
    const listed = await client.callTool({ name: "list_notes" });
    expect(listed).toMatchObject({ content: [{ text: "milk" }] });
    expect(server.log).toEqual(["POST tools/call"]);
    await client.close();
    await registry.dispose();
    expect(server.log).toEqual(["POST tools/call"]);
    expect(provider.commit(registry, {})).toMatchObject({ state: expect.anything() });
  });
});

describe("instructions", () => {
  test("are those of the servers that have some, by connection", async () => {
    const [a, b] = [
      await startNotebookServer({ instructions: "Write neatly." }),
      await startNotebookServer(),
    ];
    const { provider } = startApplication({
      a: notebook(a),
      b: notebook(b),
      c: notebook(a, { session: "stateless" }),
    });
    await using registry = provider.create({ principal: alice });
    expect(await registry.instructions()).toEqual({ a: "Write neatly.", c: "Write neatly." });
  });
});
