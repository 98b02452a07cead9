import type { SessionSnapshot } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { callTool, startApplication } from "../../test/step.ts";
import { defineMcpClientConnection } from "./define-connection.ts";
import type { StatefulSessionOptions } from "./connection-options.ts";
import { mayRunTwice } from "./may-run-twice.ts";

const call = (name: string) => ({
  jsonrpc: "2.0" as const,
  id: 1,
  method: "tools/call",
  params: { name },
});
const tool = (name: string, annotations?: object) => ({ name, inputSchema: {}, annotations });
const snapshot = {
  kind: "session",
  toolList: {
    listedAt: 0,
    tools: [
      tool("read", { readOnlyHint: true }),
      tool("put", { idempotentHint: true }),
      tool("say", { readOnlyHint: "true", destructiveHint: false }),
      tool("plain"),
    ],
  },
} as unknown as SessionSnapshot;

describe("a tool call may run twice", () => {
  test("when the application names its tool", () => {
    expect(mayRunTwice(call("buy"), { safeTools: ["buy"] }, undefined)).toBe(true);
    expect(mayRunTwice(call("sell"), { safeTools: ["buy"] }, undefined)).toBe(false);
    expect(mayRunTwice({ ...call("buy"), method: "x" }, { safeTools: ["buy"] }, snapshot)).toBe(
      false,
    );
  });

  test.each([
    ["read", true],
    ["put", true],
    ["say", false],
    ["plain", false],
    ["unlisted", false],
  ])("by the server's annotations, where these are trusted: %s %j", (name, expected) => {
    expect(mayRunTwice(call(name), { trustAnnotations: true }, snapshot)).toBe(expected);
    expect(mayRunTwice(call(name), {}, snapshot)).toBe(false);
    expect(mayRunTwice(call(name), { trustAnnotations: true }, undefined)).toBe(false);
  });
});

/** A saved session on a server that calls it invalid, which is a probable loss. */
async function startDoubtful(options: Partial<StatefulSessionOptions>) {
  const server = await startNotebookServer();
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "A notebook.",
    session: { mode: "stateful", ...options },
  });
  const application = startApplication({ notes });
  const session = await application.step({}, (registry) => registry.tools());
  server.requests.length = 0;
  const [old] = server.sessionIds;
  server.intercept(({ headers }, response) => {
    if (headers["mcp-session-id"] !== old) return "next" as const;
    response.writeHead(400).end("invalid session");
    return undefined;
  });
  const listNotes = () =>
    application.step(session, async (registry) => {
      await callTool(await registry.tools(), "notes__list_notes");
    });
  const calls = () => server.log.filter((line) => line === "POST tools/call");
  return { server, listNotes, calls };
}

describe("a connection whose server has probably lost the session", () => {
  test("runs a tool again that the application named", async () => {
    const { server, listNotes, calls } = await startDoubtful({ safeTools: ["list_notes"] });
    await listNotes();
    expect([calls().length, server.sessionIds.length]).toEqual([2, 2]);
  });

  test("runs no other tool again, and replaces the session all the same", async () => {
    const { server, listNotes, calls } = await startDoubtful({});
    await expect(listNotes()).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect([calls().length, server.sessionIds.length]).toEqual([1, 2]);
  });
});
