import { describe, expect, test } from "vitest";
import { askingRequest, principal, url } from "../../../test/asking-server.ts";
import { createMemoryStore } from "../../index.ts";
import { sendLeg } from "./send-leg.ts";
import { createWaitingContext } from "../claims/waiting-context.ts";
import { createWaitingFetch } from "../steps/waiting-fetch.ts";
import type { WaitingRecord } from "../record/waiting-record.ts";
import { createWaitingStore } from "../record/waiting-store.ts";

const content = [{ type: "text", text: "Done." }];

/** What a client gets of a server's answer to its request 7. */
async function answered(response: Response): Promise<string> {
  const owner = { agent: "default", sessionId: "chat", principal };
  const calls = createWaitingStore(createMemoryStore(), owner);
  const where = { url: new URL(url), connection: "shop" };
  const context = createWaitingContext(calls, { now: Date.now });
  const waitingFetch = createWaitingFetch(context, async () => response, where);
  const body = JSON.stringify(askingRequest({ id: 7 }));
  return await (await waitingFetch(url, { method: "POST", body })).text();
}

function events(...messages: object[]): Response {
  const lines = messages.map((message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`);
  return new Response(lines.join(""), { headers: { "content-type": "text/event-stream" } });
}

/** A server that answers any request with the content, and says nothing of the kind of result. */
const fetch: typeof globalThis.fetch = async (_, init) => {
  const { id } = JSON.parse(init?.body as string) as { id: string };
  return Response.json({ jsonrpc: "2.0", id, result: { content } });
};

describe("a result without a resultType is a complete one (M17)", () => {
  const message = { jsonrpc: "2.0", id: 7, result: { content } };
  const complete = { ...message, result: { resultType: "complete", content } };

  test("in a JSON answer", async () => {
    expect(JSON.parse(await answered(Response.json(message)))).toEqual(complete);
  });

  test("in an event, and the events before it stay as they are", async () => {
    const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } };
    const text = await answered(events(progress, message));
    const [first, last] = text.split("\n\n");
    expect(first).toBe(`event: message\ndata: ${JSON.stringify(progress)}`);
    expect(JSON.parse(last!.slice("data: ".length))).toEqual(complete);
  });

  test("in the answer to a retry", async () => {
    const request = { method: "tools/call", params: { name: "order" }, headers: {} } as const;
    const call = { url: "https://mcp.test/", request } as unknown as WaitingRecord;
    const outcome = await sendLeg(call, {}, { fetch });
    expect(outcome).toEqual({ type: "settles", answer: { result: complete.result } });
  });
});

test.each([
  { jsonrpc: "2.0", id: 7, result: { resultType: "complete", content } },
  { jsonrpc: "2.0", id: 7, result: { resultType: "task", taskId: "1" } },
  { jsonrpc: "2.0", id: 7, error: { code: -32602, message: "No." } },
  { jsonrpc: "2.0", id: 8, result: { content } },
  { jsonrpc: "2.0", id: 7, result: "no object" },
])("an answer of another kind stays as it is (M38): %j", async (message) => {
  const text = ` ${JSON.stringify(message)} `;
  const headers = { "content-type": "application/json" };
  expect(await answered(new Response(text, { headers }))).toBe(text);
});
