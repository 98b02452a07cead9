import { expect, test } from "vitest";
import { readMessages, takeEventId, whenListening } from "../../test/raw-client.ts";
import { startSession } from "../../test/replicas.ts";

/** A session, and the parts of one of its event ids, which its client may put together anew. */
async function startForging() {
  const { client, id, ...replicas } = await startSession({ limits: { requestsPerSession: 20 } });
  const { messages = [] } = await client.call(id, "list");
  const [seal, place, instance, number, replica, renewals, ids] = messages[0]!.eventId!.split(".");
  const parts = { seal, place, instance, number, replica, renewals, ids };
  const forge = (changed: Partial<typeof parts>) =>
    Object.values({ ...parts, ...changed }).join(".");
  const records = async () => (await replicas.store.list({ limit: 1_000 })).records;
  return { ...replicas, client, id, parts, forge, records };
}

test("event ids of made-up calls leave few records behind, and each client hears of its outcome", async () => {
  const { client, id, forge, records } = await startForging();
  const before = (await records()).length;
  for (let n = 0; n < 100; n += 1) {
    const forged = forge({ place: "0", number: `z${n.toString(36)}`, replica: "nobody" });
    const [answer] = await readMessages(await client.get(id, forged));
    expect(answer?.message.error?.data?.code).toBe("OUTCOME_UNKNOWN");
  }
  // As many as the session may have calls in flight.
  expect((await records()).length - before).toBe(20);
});

const many = (count: number) =>
  encodeURIComponent(JSON.stringify(Array.from({ length: count }, (_, n) => n % 10)));

test("an event id of many requests leaves no large record behind", async () => {
  const { client, id, forge, records } = await startForging();
  const get = (ids: string) => client.get(id, forge({ place: "0", replica: "nobody", ids }));
  expect((await get(many(501))).status).toBe(400);
  await readMessages(await get(many(500)));
  const sizes = (await records()).map(({ value }) => JSON.stringify(value).length);
  expect(Math.max(...sizes)).toBeLessThan(250_000);
});

test.each([
  ["of another session", () => "AAAAAAAAAAAAAAAAAAAAAA.0"],
  ["with 20 kB of ids", ({ seal }: Parts) => `${seal}.0.a.0.b.0.${"%20".repeat(7_000)}`],
  ["with ids that are no JSON", ({ seal }: Parts) => `${seal}.0.a.0.b.0.%5B1`],
  ["without ids", ({ seal }: Parts) => `${seal}.0.a.0.b.0.%5B%5D`],
  ["with a long place", ({ seal }: Parts) => `${seal}.zzzzzzzzz`],
  ["with a place that is no number", ({ seal }: Parts) => `${seal}.NaN!`],
  ["that ends early", ({ seal }: Parts) => `${seal}.0.a.0.b`],
  ["with a name that leaves its key", ({ seal }: Parts) => `${seal}.0.a"],.0.b.0.%5B1%5D`],
  ["that is a seal alone", ({ seal }: Parts) => seal],
  ["that is empty", () => ""],
])("an event id %s is refused, and leaves nothing behind", async (_, make) => {
  const { client, id, parts, records, events } = await startForging();
  const before = (await records()).length;
  const response = await client.get(id, make(parts as Parts));
  await response.body?.cancel();
  expect(response.status).toBe(400);
  expect((await records()).length).toBe(before);
  expect(events.at(-1)).toEqual({ type: "refused", reason: "event-id" });
});

interface Parts {
  readonly seal: string;
}

test("a made-up place of the listening stream holds back no message that is sent later", async () => {
  const { client, id, parts } = await startForging();
  const forged = await whenListening(await client.get(id, `${parts.seal}.zzzzzzzz`));
  await client.call(id, "announce");
  expect(await takeEventId(forged)).toBeDefined();
});

test("a made-up place of a call is after its end, or before its answer", async () => {
  const { client, id, forge } = await startForging();
  expect((await client.get(id, forge({ place: "zzzzzzzz" }))).status).toBe(204);
  expect((await client.get(id, forge({ place: "zz" }))).status).toBe(204);
  expect(await readMessages(await client.get(id, forge({ place: "0" })))).toHaveLength(1);
});

test("a made-up process, or a call that this one never had, is an unknown outcome", async () => {
  const { client, id, forge } = await startForging();
  for (const changed of [
    { number: "zz" },
    { instance: "x" },
    { renewals: "zzzzzzz", number: "y" },
  ]) {
    const [answer] = await readMessages(await client.get(id, forge({ place: "0", ...changed })));
    expect(answer?.message.error?.data?.code).toBe("OUTCOME_UNKNOWN");
  }
});
