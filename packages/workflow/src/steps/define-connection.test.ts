import { defineMcpClientConnection as defineForAiSdk } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { z } from "zod";
import { answer, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { callInStep } from "./call-step.ts";
import { defineMcpClientConnection } from "./define-connection.ts";
import { openInStep } from "./open-step.ts";
import { createSealedSessions } from "./sealed-sessions.ts";
import type { StepConnection } from "./step-sessions.ts";

const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;

async function open(definition: StepConnection["definition"]) {
  const sessions = createSealedSessions({
    ...{ keys: { current: new Uint8Array(32) }, expiresInMs: 60_000, now: Date.now },
    ...{ emit: () => undefined, emitRefused: () => undefined },
  });
  const of = { connection: "notes", principal, sessionId: undefined };
  const { opened } = await openInStep(sessions, { ...of, definition, slot: undefined }, "throw");
  const { slot, tools } = opened;
  const call = async (tool: string, input: object) =>
    await callInStep(
      sessions,
      { ...of, definition, slot },
      { ...of, slot, tool, input, mayRunTwice: false, tellLoss: false },
    );
  return { tools, call };
}

test("a connection that is declared here has a client that answers its server's questions", async () => {
  const server = await startNotebookServer({
    setUp: (mcp) =>
      void mcp.registerTool("ask", { description: "Asks." }, async () => {
        const { action } = await mcp.server.elicitInput({
          message: "Really?",
          requestedSchema: { type: "object", properties: {} },
        });
        return answer(action);
      }),
  });
  const { tools, call } = await open(
    defineMcpClientConnection({
      ...{ url: server.url, description: "Notes.", session: "stateful" },
      onElicitation: async () => ({ action: "accept", content: {} }),
    }),
  );
  expect(tools).toMatchObject([{ name: "notes__ask", tool: "ask", description: "Asks." }]);
  const output = { type: "content", value: [{ type: "text", text: "accept" }] };
  expect(await call("ask", {})).toEqual({ ok: true, output });
  expect(server.sessionIds).toHaveLength(1);
});

test("a connection of AI SDK's package has its schemas, and what they make of a result", async () => {
  const server = await startNotebookServer({
    setUp: (mcp) =>
      void mcp.registerTool(
        "add",
        { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
        async ({ a, b }) => ({ content: [], structuredContent: { sum: a + b } }),
      ),
  });
  const inputSchema = z.object({ a: z.number(), b: z.number().describe("Its double is added.") });
  const { tools, call } = await open(
    defineForAiSdk({
      ...{ url: server.url, description: "Sums.", session: "stateful" },
      schemas: { add: { inputSchema, outputSchema: z.object({ sum: z.number() }) } },
    }),
  );
  const b = { type: "number", description: "Its double is added." };
  expect(tools).toMatchObject([{ tool: "add", inputSchema: { properties: { b } } }]);
  const output = { type: "json", value: { sum: 3 } };
  expect(await call("add", { a: 1, b: 2 })).toMatchObject({ ok: true, output });
});
