import { describe, expect, test } from "vitest";
import { createRawClient } from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";
import { startMemoryHandler } from "../../test/memory-handler.ts";
import { type ServerSessionEvent, wrapFetchHandler } from "../index.ts";

const list = { id: 1, method: "tools/call", params: { name: "list", arguments: {} } };

describe("unknownSession: adopt", () => {
  test("a request with an unknown id gets a session of its own, whose id the answer carries", async () => {
    const replicas = createReplicas({ unknownSession: "adopt" });
    const [one, two] = [replicas.start(), replicas.start()];
    const first = await one.client.call("unknown", "add", { text: "a" });
    expect(first).toMatchObject({ status: 200, text: "1 notes" });
    expect(first.sessionId).toMatch(/^[\w-]{43}$/);
    expect(await two.client.call(first.sessionId!, "list")).toMatchObject({ text: "a" });
    expect(replicas.events[0]).toEqual({ type: "unknown", session: expect.any(String) });
    expect(replicas.events[1]).toMatchObject({ type: "adopted", again: false });
  });

  test("warns of a client that does not take the id from the answer", async () => {
    const replicas = createReplicas({ unknownSession: "adopt" });
    const { client } = replicas.start();
    await client.call("unknown", "list");
    await client.call("unknown", "list");
    const adopted = replicas.events.filter(({ type }) => type === "adopted");
    expect(adopted).toMatchObject([{ again: false }, { again: true }]);
  });

  test("has the revision of the header and the capabilities that the author names", async () => {
    const seen: unknown[] = [];
    const { handler } = createReplicas().start({
      unknownSession: "adopt",
      adoptedCapabilities: { sampling: {} },
      createServer: ({ session }) => {
        seen.push(session.protocolVersion, session.clientCapabilities);
        throw new Error("seen");
      },
    });
    const client = createRawClient(handler, { "mcp-protocol-version": "2025-06-18" });
    await client.call("unknown", "list");
    expect(seen).toEqual(["2025-06-18", { sampling: {} }]);
  });

  test("only requests are adopted: streams, ends and notifications get 404", async () => {
    const { client } = createReplicas({ unknownSession: "adopt" }).start();
    expect((await client.get("unknown")).status).toBe(404);
    expect((await client.end("unknown")).status).toBe(404);
    expect((await client.post("unknown", { method: "notifications/x" })).status).toBe(404);
  });
});

function wrap(unknownSession: "adopt" | "reject", refusal?: "400") {
  const events: ServerSessionEvent[] = [];
  const onEvent = (event: ServerSessionEvent) => void events.push(event);
  const handler = wrapFetchHandler(startMemoryHandler({ refusal }), { unknownSession, onEvent });
  return { client: createRawClient(handler), events };
}

describe("wrapFetchHandler", () => {
  test.each([undefined, "400"] as const)(
    "adopts for a handler that knows nothing of it (%s)",
    async (refusal) => {
      const { client, events } = wrap("adopt", refusal);
      const first = await client.call("lost", "add", { text: "a" });
      expect(first).toMatchObject({ status: 200, text: "1 notes" });
      expect(await client.call(first.sessionId!, "list")).toMatchObject({ text: "a" });
      expect(events.map(({ type }) => type)).toEqual(["unknown", "adopted"]);
    },
  );

  test("rejects with the standard answer where the handler had another", async () => {
    const { client } = wrap("reject", "400");
    const response = await client.post("lost", list);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: -32001 }, id: null });
  });

  test("leaves everything else to the handler", async () => {
    const { client, events } = wrap("adopt");
    const id = await client.initialize();
    expect(await client.call(id, "list")).toMatchObject({ status: 200 });
    const unsupported = { "mcp-protocol-version": "1999-01-01" };
    expect((await client.post(id, list, unsupported)).status).toBe(400);
    expect((await client.post(undefined, list)).status).toBe(400);
    expect((await client.end("lost")).status).toBe(404);
    expect(events).toEqual([]);
  });
});

test("while a handler drains it adopts nobody", async () => {
  const { client, handler } = createReplicas({ unknownSession: "adopt" }).start();
  const id = await client.initialize();
  const params = { name: "wait", arguments: { ms: 100 } };
  await client.post(id, { id: 1, method: "tools/call", params });
  const drained = handler.drain();
  expect(await client.call("unknown", "list")).toMatchObject({ status: 503 });
  await drained;
});

test("requests on a client's behalf do not carry the length of another body", async () => {
  const lengths: (string | null)[] = [];
  const existing = startMemoryHandler();
  const handler = wrapFetchHandler(
    (request) => {
      lengths.push(request.headers.get("content-length"));
      return existing(request);
    },
    { unknownSession: "adopt" },
  );
  const body = JSON.stringify({ jsonrpc: "2.0", ...list });
  const headers = { "content-length": `${body.length}`, "mcp-session-id": "lost" };
  expect((await createRawClient(handler).send("POST", headers, body)).status).toBe(200);
  expect(lengths).toEqual([`${body.length}`, null, null, null]);
});
