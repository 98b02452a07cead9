import { describe, expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob, callForText, startApplication } from "../step.ts";
import { createConnectionProvider, defineMcpClientConnection } from "../../src/index.ts";

const notebook = (url: string) =>
  defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" });

describe("principals", () => {
  const connections = { notes: notebook("http://127.0.0.1:9/mcp") };

  test.each([undefined, null])("are needed for a stateful connection: %s", (principal) => {
    const provider = createConnectionProvider({ connections });
    expect(() => provider.create({ principal: principal as never })).toThrow(
      expect.objectContaining({ code: "PRINCIPAL_REQUIRED" }),
    );
  });

  test.each([
    [{ type: "admin" }, "principal.type"],
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
