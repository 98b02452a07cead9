import { describe, expect, test } from "vitest";
import {
  type NotebookServer,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { callTool, startApplication } from "../step.ts";
import type { ConnectionEvent } from "../../../sessions/src/events/connection-event.ts";
import { defineMcpClientConnection } from "../../src/index.ts";

const protocolVersion = "2025-11-25";
const connection = "notes";

const notebook = ({ url }: NotebookServer) =>
  defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" });

const list = async (registry: { tools(): Promise<any> }) => {
  await callTool(await registry.tools(), "notes__list_notes");
};

describe("the events of a connection", () => {
  test("in the life of a session", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server) });
    const takeEvents = (): ConnectionEvent[] => application.events.splice(0);

    let session = await application.step({}, list);
    expect(takeEvents()).toEqual([
      { type: "started", connection, protocolVersion, changed: false },
    ]);

    session = await application.step(session, list);
    expect(takeEvents()).toEqual([{ type: "resumed", connection, protocolVersion }]);

    server.forgetSessions();
    session = await application.step(session, list);
    expect(takeEvents()).toEqual([
      { type: "resumed", connection, protocolVersion },
      { type: "lost", connection, method: "tools/call", status: 404 },
      { type: "recovered", connection, protocolVersion, changed: false },
    ]);

    await application.step(session, list);
    expect(takeEvents()).toEqual([{ type: "resumed", connection, protocolVersion }]);
  });

  test("of a step that does not use it are none", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server) });
    const session = await application.step({}, list);
    application.takeEvents();
    await application.step(session, () => undefined);
    expect(application.events).toEqual([]);
  });

  test("when the server names no session", async () => {
    const server = await startNotebookServer({ isSessionless: true });
    const application = startApplication({ notes: notebook(server) });
    await application.step(await application.step({}, list), list);
    const sessionless = { type: "sessionless", connection, protocolVersion };
    expect(application.events).toEqual([sessionless, sessionless]);
  });

  test("when the state does not parse", async () => {
    const server = await startNotebookServer();
    const application = startApplication({ notes: notebook(server) });
    await application.step({ state: { mcpSessions: "x" } }, list);
    expect(application.events).toEqual([
      { type: "discarded", connection, reason: "invalid" },
      { type: "started", connection, protocolVersion, changed: false },
    ]);
  });

  test("when the new session has other tools than the lost one", async () => {
    let generation = 0;
    const server = await startNotebookServer({
      setUp(mcp) {
        generation += 1;
        mcp.registerTool(`tool_${generation}`, {}, () => ({ content: [] }));
      },
    });
    const application = startApplication({ notes: notebook(server) });
    const session = await application.step({}, (registry) => registry.tools());
    application.takeEvents();
    server.forgetSessions();
    await application.step(session, async (registry) => {
      const tools = await registry.tools();
      await callTool(tools, "notes__tool_1");
      expect(Object.keys(await registry.tools())).toEqual(["notes__tool_2"]);
    });
    expect(application.events).toContainEqual({
      type: "tools-changed",
      connection,
      reason: "new-session",
      added: ["tool_2"],
      removed: ["tool_1"],
      changed: [],
    });
  });

  test("name the connection", async () => {
    const [a, b] = [await startNotebookServer(), await startNotebookServer()];
    b.intercept((_, response) => void response.writeHead(500).end());
    const application = startApplication({ a: notebook(a), b: notebook(b) });
    await application.step({}, (registry) => registry.tools());
    expect(application.events).toEqual(
      expect.arrayContaining([
        { type: "started", connection: "a", protocolVersion, changed: false },
        { type: "unavailable", connection: "b", reason: "refused", error: expect.anything() },
      ]),
    );
    expect(application.events).toHaveLength(2);
  });
});
