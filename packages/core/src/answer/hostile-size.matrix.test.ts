import { describe, expect, test } from "vitest";
import {
  eventText,
  initializeResult,
  sendResult,
  startEvents,
  startMcpServer,
} from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { MAX_MESSAGE_BYTES } from "../wire/read-answer.ts";

const block = Buffer.alloc(1_048_576, "a");

/** A resumed step on a server that never stops sending; `sent` counts the bytes. */
async function startEndless(status: number, type: string, start: string) {
  const server = await startMcpServer();
  const step = startStep(server, { snapshot: await saveSession(server) });
  let sent = 0;
  server.use(({ message }, response, next) => {
    if (message?.method !== "tools/call" || message.params?.name !== "endless") return next();
    response.writeHead(status, { "content-type": type });
    response.write(start);
    const write = () => {
      while (!response.destroyed && sent < 4 * MAX_MESSAGE_BYTES) {
        sent += block.length;
        if (response.write(block)) continue;
        response.once("drain", write);
        return;
      }
      response.end();
    };
    write();
  });
  return { ...step, server, sent: () => sent };
}

describe("a server that never stops sending", () => {
  test.each([
    ["an endless line", "text/event-stream", 'data: {"jsonrpc":"2.0","result":{"text":"'],
    ["an endless comment", "text/event-stream", ": "],
    ["an endless JSON body", "application/json", '{"jsonrpc":"2.0","result":{"text":"'],
  ])("%s is cut off, and the outcome is unknown", async (_, type, start) => {
    const { client, sent } = await startEndless(200, type, start);
    expect(await client.request("tools/call", { name: "endless" })).toMatchObject({
      error: { data: { code: "OUTCOME_UNKNOWN" } },
    });
    expect(sent()).toBeLessThan(2 * MAX_MESSAGE_BYTES);
    expect(await client.request("tools/call", { name: "next" })).toHaveProperty("result");
  });

  test("an endless refusal is cut off", async () => {
    const { client, sent } = await startEndless(400, "text/plain", "No: ");
    const { status, messages } = await client.request("tools/call", { name: "endless" });
    expect(status).toBe(400);
    expect(messages[0].length).toBe(1_048_576);
    expect(sent()).toBeLessThan(MAX_MESSAGE_BYTES);
  });

  test("many messages of a usual size are not cut off", async () => {
    const server = await startMcpServer();
    const { client } = startStep(server, { snapshot: await saveSession(server) });
    const note = eventText({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { data: "a".repeat(1_000_000) },
    });
    server.use(({ message }, response) => {
      startEvents(response);
      for (let n = 0; n < 80; n += 1) response.write(note);
      response.end(eventText({ jsonrpc: "2.0", id: message.id, result: { done: true } }));
    });
    expect(await client.request("tools/call")).toMatchObject({ result: { done: true } });
  });
});

test.each([
  ["too large", { instructions: "a".repeat(1_000_001) }],
  ["too deep", { _meta: JSON.parse(`${'{"a":'.repeat(500)}1${"}".repeat(500)}`) as object }],
])("an initialize result that is %s to be kept is refused, not saved", async (_, fields) => {
  const server = await startMcpServer();
  const { client, slot } = startStep(server);
  server.use(({ message }, response, next) =>
    message?.method === "initialize"
      ? sendResult(
          response,
          message.id,
          { ...initializeResult, ...fields },
          { "mcp-session-id": "a" },
        )
      : next(),
  );
  await expect(client.request("tools/call")).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    message: expect.stringContaining("cannot be kept"),
  });
  expect(slot.snapshot).toBeUndefined();
});
