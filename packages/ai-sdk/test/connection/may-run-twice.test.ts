import type { StatefulSessionOptions } from "../../src/index.ts";
import { describe, expect, test } from "vitest";
import { answer, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { callTool, startApplication } from "../step.ts";
import { mayRunTwice } from "../../../sessions/src/declare/define-connection.ts";
import type { ConnectionResend } from "../../../sessions/src/declare/connection-options.ts";

test.each<[string, ConnectionResend | undefined, boolean]>([
  ["by default", undefined, false],
  ["with always", "always", true],
  ["with never", "never", false],
  ["that the application names", ["buy"], true],
  ["that it does not name", ["sell"], false],
  ["that its function allows", ({ annotations }) => annotations?.["readOnlyHint"] === true, true],
  ["that its function does not allow", ({ name }) => name === "sell", false],
])("whether a tool may run twice: one %s", (_, resend, expected) => {
  const annotations = { readOnlyHint: true };
  expect(mayRunTwice({ name: "buy", annotations }, resend)).toBe(expected);
});

/** A saved session on a server that calls it invalid, which is a probable loss. */
async function startDoubtful(options: Partial<StatefulSessionOptions>) {
  const server = await startNotebookServer({
    setUp: (mcp) =>
      mcp.registerTool("peek", { annotations: { readOnlyHint: true } }, () => answer("seen")),
  });
  const notes = notebook(server, { session: { mode: "stateful", ...options } });
  const application = startApplication({ notes });
  const session = await application.step({}, (registry) => registry.tools());
  server.requests.length = 0;
  const [old] = server.sessionIds;
  server.intercept(({ headers }, response) => {
    if (headers["mcp-session-id"] !== old) return "next" as const;
    response.writeHead(400).end("invalid session");
    return undefined;
  });
  const peek = () =>
    application.step(session, async (registry) => {
      await callTool(await registry.tools(), "notes__peek");
    });
  const calls = () => server.log.filter((line) => line === "POST tools/call");
  return { server, peek, calls };
}

describe("a connection whose server has probably lost the session", () => {
  test("runs a tool again that the application named", async () => {
    const { server, peek, calls } = await startDoubtful({ resend: ["peek"] });
    await peek();
    expect([calls().length, server.sessionIds.length]).toEqual([2, 2]);
  });

  test("asks the application's function about the tool as the server listed it", async () => {
    const asked: unknown[] = [];
    const resend = (tool: object) => asked.push(tool) > 0;
    const { server, peek, calls } = await startDoubtful({ resend });
    await peek();
    expect([calls().length, server.sessionIds.length]).toEqual([2, 2]);
    expect(asked).toEqual([{ name: "peek", annotations: { readOnlyHint: true } }]);
  });

  test("runs no other tool again, and replaces the session all the same", async () => {
    const { server, peek, calls } = await startDoubtful({});
    await expect(peek()).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect([calls().length, server.sessionIds.length]).toEqual([1, 2]);
  });
});
