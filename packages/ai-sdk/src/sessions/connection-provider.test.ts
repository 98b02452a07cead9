import { describe, expect, test } from "vitest";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { type AgentSession, alice, bob, callForText, startApplication } from "../../test/step.ts";
import { createConnectionProvider } from "./create-connection-provider.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";

const notebook = (url: string) =>
  defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" });

const list = async (registry: { tools: () => Promise<any> }) => {
  await callForText(await registry.tools(), "notes__list_notes");
};

const add = (text: string) => async (registry: { tools: () => Promise<any> }) => {
  await callForText(await registry.tools(), "notes__add_note", { text });
};

describe("one session over three steps", () => {
  test("keeps what the first step wrote, with one request for one call", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server.url) });

    let session: AgentSession = await application.step({}, async (registry) => {
      await callForText(await registry.tools(), "notes__add_note", { text: "milk" });
    });
    expect(server.log).toEqual([
      "POST initialize",
      "POST notifications/initialized",
      "POST tools/list",
      "POST tools/call",
    ]);

    server.requests.length = 0;
    session = await application.step(session, async (registry) => {
      await callForText(await registry.tools(), "notes__add_note", { text: "bread" });
    });
    expect(server.log).toEqual(["POST tools/call"]);

    server.requests.length = 0;
    await application.step(session, async (registry) => {
      const notes = await callForText(await registry.tools(), "notes__list_notes");
      expect(notes).toBe("milk, bread");
    });
    expect(server.log).toEqual(["POST tools/call"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("sends nothing to create a run, to list on resumption and to dispose of it", async () => {
    const server = await startNotebookServer({ instructions: "Be brief." });
    const application = startApplication({ notes: notebook(server.url) });
    await application.step({}, () => undefined);
    expect(server.log).toEqual([]);

    const session = await application.step({}, (registry) => registry.tools());
    const handshake = ["POST initialize", "POST notifications/initialized"];
    expect(server.log).toEqual([...handshake, "POST tools/list"]);

    server.requests.length = 0;
    await application.step(session, async (registry) => {
      expect(Object.keys(await registry.tools())).toContain("notes__add_note");
      expect(await registry.instructions()).toEqual({ notes: "Be brief." });
      const client = await registry.client("notes");
      expect(client.serverInfo.name).toBe("notebook");
    });
    expect(server.log).toEqual([]);
  });

  test("sends the session's id and version with every request that has a session", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server.url) });
    await application.step(await application.step({}, list), list);

    const [initialize, ...others] = server.requests;
    expect(initialize?.headers).not.toHaveProperty("mcp-session-id");
    expect(others).toHaveLength(4);
    for (const { headers } of others) {
      expect(headers).toMatchObject({
        "mcp-session-id": server.sessionIds[0],
        "mcp-protocol-version": "2025-11-25",
      });
    }
  });
});

describe("principals", () => {
  const connections = { notes: notebook("http://127.0.0.1:9/mcp") };

  test.each([undefined, null])("are needed for a stateful connection: %s", (principal) => {
    const provider = createConnectionProvider({ connections });
    expect(() => provider.create({ principal: principal as never })).toThrow(
      expect.objectContaining({ code: "PRINCIPAL_REQUIRED" }),
    );
  });

  test.each([
    ["alice", "principal.type"],
    [{}, "principal.type"],
    [{ type: "admin" }, "principal.type"],
    [{ type: "user", id: "alice" }, "principal.issuer"],
    [{ type: "user", issuer: "", id: "alice" }, "principal.issuer"],
    [{ type: "user", issuer: "https://idp.test" }, "principal.id"],
    [{ type: "user", issuer: "https://idp.test", id: 42 }, "principal.id"],
  ])("of the wrong shape are refused with the field: %j", (principal, field) => {
    const provider = createConnectionProvider({ connections });
    expect(() => provider.create({ principal: principal as never })).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }),
    );
  });

  test("are not needed when all connections are stateless", async () => {
    const server = await startNotebookServer();
    const url = server.url;
    const provider = createConnectionProvider({
      connections: { notes: defineMcpClientConnection({ url, description: "A notebook." }) },
    });
    await using registry = provider.create({});
    expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("");
  });

  test("never share a slot, in one state", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server.url) });
    let session = await application.step({}, add("of alice"), alice);
    session = await application.step(session, add("of bob"), bob);
    session = await application.step(session, add("of everybody"), { type: "app" });
    session = await application.step(session, add("of nobody"), { type: "anonymous" });
    expect(server.sessionIds).toHaveLength(4);

    for (const [principal, note] of [
      [alice, "of alice"],
      [bob, "of bob"],
      [{ type: "app" }, "of everybody"],
      [{ type: "anonymous" }, "of nobody"],
      [{ type: "user", issuer: "https://other.test", id: "alice" }, ""],
    ] as const) {
      await application.step(
        session,
        async (registry) => {
          expect(await callForText(await registry.tools(), "notes__list_notes")).toBe(note);
        },
        principal,
      );
    }
    expect(server.sessionIds).toHaveLength(5);
  });

  test("are never read from the state", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server.url) });
    const session = await application.step({}, async (registry) => {
      await callForText(await registry.tools(), "notes__add_note", { text: "of alice" });
    });
    const state = { ...(session.state as object), principal: alice, user: alice };

    await application.step(
      { ...session, state },
      async (registry) => {
        expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("");
      },
      bob,
    );
    expect(() => application.provider.create({ state })).toThrow(
      expect.objectContaining({ code: "PRINCIPAL_REQUIRED" }),
    );
  });
});

describe("connections as a function", () => {
  test("are those of the principal", async () => {
    const server = await startNotebookServer();
    const asked: unknown[] = [];
    const application = startApplication((principal) => {
      asked.push(principal);
      return principal === bob ? {} : { notes: notebook(server.url) };
    });
    await application.step({}, (registry) => {
      expect(registry.connections).toEqual([
        { name: "notes", description: "A notebook.", session: "stateful" },
      ]);
    });
    await application.step({}, async (registry) => expect(await registry.tools()).toEqual({}), bob);
    expect(asked).toEqual([alice, bob]);
  });

  test.each([
    ["a promise", Promise.resolve({})],
    ["a map", new Map()],
    ["a list", [notebook("http://127.0.0.1:9/mcp")]],
    ["nothing", undefined],
    ["something else", { notes: { url: "http://127.0.0.1:9/mcp" } }],
  ])("that returns %s is refused", (_, connections) => {
    const provider = createConnectionProvider({ connections: () => connections as never });
    expect(() => provider.create({ principal: alice })).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID" }),
    );
  });
});

test("commit refuses a run that another provider made", () => {
  const connections = { notes: notebook("http://127.0.0.1:9/mcp") };
  const registry = createConnectionProvider({ connections }).create({ principal: alice });
  expect(() => createConnectionProvider({ connections }).commit(registry, {})).toThrow(TypeError);
});

test("an observer that throws changes nothing", async () => {
  const server = await startNotebookServer();
  const application = startApplication(
    { notes: notebook(server.url) },
    {
      onEvent: {
        every() {
          throw new Error("observer");
        },
      },
    },
  );
  const session = await application.step({}, async (registry) => {
    expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("");
  });
  expect(session.state).toHaveProperty("mcpSessions");
});
