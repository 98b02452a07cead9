import { describe, expect, test } from "vitest";
import { createRawClient, toolCall } from "../../test/raw-client.ts";
import { createReplicas, startSession } from "../../test/replicas.ts";

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

test("while a handler drains it adopts nobody", async () => {
  const { client, handler, id } = await startSession({ unknownSession: "adopt" });
  await client.post(id, toolCall(1, "wait", { ms: 100 }));
  const drained = handler.drain();
  expect(await client.call("unknown", "list")).toMatchObject({ status: 503 });
  await drained;
});
