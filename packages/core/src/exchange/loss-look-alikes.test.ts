import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventText, sendText, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, sessionSnapshot, startStep } from "../../test/step.ts";
import { classifyLoss } from "../session/lost-session.ts";

/** What applications say that sounds like a lost session, among anything else. */
const words = fc.constantFrom(
  ...["session", "Session not found", "not found", "expired", "invalid", "unknown", "404", "400"],
  ...[
    "No valid session ID provided",
    "Server not initialized",
    "Mcp-Session-Id header is required",
  ],
);
const text = fc.oneof(
  fc.array(words, { minLength: 1, maxLength: 5 }).map((list) => list.join(" ")),
  fc.string(),
);
const code = fc.oneof(fc.constantFrom(-32000, -32001, -32600, 404, 400), fc.integer());
/** An answer of the application: a result, or a JSON-RPC error, under HTTP 200. */
const answer = fc.oneof(
  fc.record({ result: fc.record({ isError: fc.boolean(), content: fc.array(text) }) }),
  fc.record({ error: fc.record({ code, message: text, data: fc.oneof(text, fc.jsonValue()) }) }),
);

test("an application's answer under 200 is no loss by itself, whatever it says", async () => {
  const url = "http://127.0.0.1/mcp";
  const snapshot = sessionSnapshot(url, { sessionId: "x".repeat(40) });
  await fc.assert(
    fc.asyncProperty(answer, fc.boolean(), fc.boolean(), async (fields, isEvents, hasId) => {
      const { client, events, slot } = startStep(
        { url },
        {
          snapshot,
          fetch: async (_, init) => {
            const sent = JSON.parse(init?.body as string) as { id: string };
            const message = { jsonrpc: "2.0", id: hasId ? sent.id : null, ...fields };
            const body = isEvents ? eventText(message) : JSON.stringify(message);
            const type = isEvents ? "text/event-stream" : "application/json";
            return new Response(body, { headers: { "content-type": type } });
          },
        },
      );
      await client.post({ jsonrpc: "2.0", id: 0, method: "tools/call" }).then((r) => r.text());
      expect(events.map(({ type }) => type)).not.toContain("lost");
      expect(slot.snapshot).toEqual(snapshot);
    }),
    { numRuns: 500 },
  );
});

test("a refusal with a meaning of its own is never taken for a loss, whatever it says", () => {
  const other = fc.constantFrom(-32601, -32602, -32020, -32021, -32022);
  const body = fc
    .tuple(other, text, fc.jsonValue())
    .map(([own, message, data]) =>
      JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: own, message, data } }),
    );
  const notOfSessions = fc.oneof(
    fc.constantFrom(401, 403, 408, 429),
    fc.integer({ min: 500, max: 599 }),
  );
  fc.assert(
    fc.property(body, text, notOfSessions, (meaning, said, status) => {
      expect(classifyLoss({ status: 404, body: meaning })).toBe("none");
      expect(classifyLoss({ status: 400, body: meaning })).toBe("none");
      expect(classifyLoss({ status, body: said })).toBe("none");
      expect(classifyLoss({ status: 400, body: `${said} MCP-Protocol-Version` })).toBe("none");
    }),
    { numRuns: 1_000 },
  );
});

describe("a refusal that speaks of another session", () => {
  test.each([
    [400, "Login session expired, please sign in again"],
    [422, "browser session bs_1 not found"],
    [409, "invalid upload session"],
    [
      404,
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32002, message: "Resource not found" },
      }),
    ],
  ])("leaves the MCP session alone, and reaches the client: %i %s", async (status, said) => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    server.use(({ message }, response, next) =>
      message?.method === "tools/call" ? sendText(response, status, said) : next(),
    );
    const { client, slot, events } = startStep(server, { snapshot });
    const refusal = await client.post({ jsonrpc: "2.0", id: 1, method: "tools/call" });
    expect([refusal.status, await refusal.text()]).toEqual([status, said]);
    expect([slot.snapshot, server.sessionIds.length]).toEqual([snapshot, 1]);
    expect(events.map(({ type }) => type)).toEqual(["resumed"]);
  });
});
