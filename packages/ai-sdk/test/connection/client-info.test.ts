/** The name and version under which a server knows its client. */
import { describe, expect, test } from "vitest";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import {
  type NotebookServer,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { notebook, startNotes } from "../saved-session.ts";
import { alice, callForText, startApplication } from "../step.ts";
import { createConnectionProvider } from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

const client = { name: "shop", version: "2.3.4" };
const own = { name: "durable-mcp", version: "1.0.0" };

const clientsSeenBy = ({ requests }: NotebookServer) =>
  requests.flatMap(({ message }) =>
    message?.method === "initialize" ? [message.params.clientInfo] : [],
  );

describe("client", () => {
  test.each(["stateful", "stateless"] as const)("is what the server sees: %s", async (session) => {
    const server = await startNotebookServer();
    const application = startApplication({
      named: notebook(server, { session, client }),
      unnamed: notebook(server, { session }),
    });
    await application.step({}, async (registry) => {
      await registry.client("named");
      await registry.client("unnamed");
    });
    expect(clientsSeenBy(server)).toEqual([client, own]);
  });

  test("is what the preparation of a session and a session after a loss say, too", async () => {
    const { server, application } = await startNotes({
      session: { mode: "stateful", onStart() {} },
      client,
    });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      server.forgetSessions();
      await callForText(tools, "notes__list_notes");
    });
    expect(clientsSeenBy(server)).toEqual([client, client]);
  });

  test("that changed lets a kept session go on, without another handshake", async () => {
    const server = await startNotebookServer();
    const before = startApplication({ notes: notebook(server) });
    const session = await before.step({}, async (registry) => {
      await callForText(await registry.tools(), "notes__add_note", { text: "a" });
    });
    server.requests.length = 0;
    const after = startApplication({ notes: notebook(server, { client }) });
    await after.step(session, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("a");
    });
    expect(server.log).toEqual(["POST tools/call"]);
  });

  test("is what a stdio server sees", async () => {
    const server = { ...describingProgram(), description: "It." };
    const provider = createConnectionProvider({
      connections: {
        named: defineMcpStdioConnection({ ...server, client }),
        unnamed: defineMcpStdioConnection(server),
      },
    });
    await using registry = provider.create({ principal: alice });
    const tools = await registry.tools();
    const seen = [];
    for (const name of ["named", "unnamed"]) {
      seen.push(JSON.parse(await callForText(tools, `${name}__describe`)).clientInfo);
    }
    expect(seen).toEqual([client, own]);
  });
});
