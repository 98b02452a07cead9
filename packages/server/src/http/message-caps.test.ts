import { createMemoryStore } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { countOperations } from "../../test/counted-store.ts";
import { readMessages, cancellation } from "../../test/raw-client.ts";
import { createReplicas, startSession } from "../../test/replicas.ts";

const version = { "mcp-protocol-version": "2025-03-26" };

function startCounted(limits = {}) {
  const counted = countOperations(createMemoryStore());
  const replicas = createReplicas({ store: counted.store, limits });
  return { ...replicas, ...counted };
}

const ping = (id: number) => ({ id, method: "ping" });
const response = (n: number) => ({ id: `process${n}.1`, result: {} });
const progress = (n: number) => ({
  method: "notifications/progress",
  params: { progressToken: `process${n}.1`, progress: n },
});
const kinds = { requests: ping, responses: response, progress, cancellations: cancellation };

describe.each(Object.entries(kinds))("a batch of %s", (_, make) => {
  test("that is too long gets 413 before the store is asked", async () => {
    const { start, counts, events } = startCounted();
    const { client } = start();
    const id = await client.initialize({}, "2025-03-26");
    counts.clear();
    const batch = Array.from({ length: 20_000 }, (_item, n) => make(n));
    expect((await client.post(id, batch, version)).status).toBe(413);
    expect(counts.size).toBe(0);
    expect(events.at(-1)).toEqual({ type: "refused", reason: "too-many-messages" });
    expect((await client.post(id, batch.slice(0, 101), version)).status).toBe(413);
  });

  test("is for clients of revision 2025-03-26 alone", async () => {
    const { client } = createReplicas().start();
    const batch = [make(1), make(2)];
    for (const revision of ["2025-11-25", "2025-06-18"]) {
      const id = await client.initialize({}, revision);
      const refused = await client.post(id, batch, { "mcp-protocol-version": revision });
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain("2025-03-26");
    }
    const id = await client.initialize({}, "2025-03-26");
    expect((await client.post(id, batch, version)).status).toBeLessThan(300);
  });

  test("counts against the messages that a session may have in flight", async () => {
    const { start, counts, events } = startCounted({ requestsPerSession: 10 });
    const { client } = start();
    const id = await client.initialize({}, "2025-03-26");
    counts.clear();
    const batch = Array.from({ length: 11 }, (_item, n) => make(n));
    expect((await client.post(id, batch, version)).status).toBe(429);
    expect(events.at(-1)).toEqual({ type: "refused", reason: "too-many-requests" });
    // The session was read; nothing was written.
    expect(Object.fromEntries(counts)).toEqual({ get: 1 });
    expect((await client.post(id, batch.slice(1), version)).status).toBeLessThan(300);
  });
});

test("messages that come at once count, although each is a POST of its own", async () => {
  const { client, id } = await startSession({ limits: { requestsPerSession: 5 } });
  const posts = Array.from({ length: 50 }, () => client.post(id, response(1)));
  const statuses = (await Promise.all(posts)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 202)).toHaveLength(5);
  expect(statuses.filter((status) => status === 429)).toHaveLength(45);
  // They are over, and take no room.
  expect((await client.post(id, response(1))).status).toBe(202);
  const requests = Array.from({ length: 5 }, (_item, n) => client.post(id, ping(n)));
  for (const answer of await Promise.all(requests))
    expect(await readMessages(answer)).toHaveLength(1);
});

test.each(["sse", "json"] as const)(
  "a request takes its room until its answer (%s)",
  async (responseFormat) => {
    const { client, id } = await startSession({
      responseFormat,
      limits: { requestsPerSession: 2 },
    });
    const call = (n: number) => client.call(id, "wait", { ms: 40 }, n);
    const [one, two, three] = await Promise.all([call(1), call(2), call(3)]);
    expect([one, two, three].map(({ status }) => status)).toEqual([200, 200, 429]);
    expect((await Promise.all([call(4), call(5)])).map(({ status }) => status)).toEqual([200, 200]);
  },
);

test.each([
  ["messages", 3, (n: number) => (n % 2 ? response : progress)(n % 3)],
  ["cancellations", 1, cancellation],
])(
  "a batch's %s for other processes are one write for each that waits",
  async (_, writes, make) => {
    const { start, counts } = startCounted();
    const { client } = start();
    const id = await client.initialize({}, "2025-03-26");
    counts.clear();
    const batch = Array.from({ length: 99 }, (_item, n) => make(n));
    expect((await client.post(id, batch, version)).status).toBe(202);
    expect((counts.get("put") ?? 0) + (counts.get("batch") ?? 0)).toBe(writes);
  },
);
