import { createMemoryStore, type Principal } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { countOperations } from "../../test/counted-store.ts";
import { createRawClient, initializeRequest } from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";

/** Replicas whose clients name their users, and the clock that the test moves. */
function startFor(sessionsPerPrincipal: number, idleMs = 60_000) {
  const clock = { now: 1_000_000 };
  const now = () => clock.now;
  const counted = countOperations(createMemoryStore({ now }));
  const replicas = createReplicas({
    limits: { sessionsPerPrincipal },
    timeouts: { idleMs },
    now,
    principal: (request): Principal => {
      const id = request.headers.get("x-user");
      return id === null
        ? { type: "anonymous" }
        : { type: "user", issuer: "https://i.example", id };
    },
  });
  const start = () => {
    const { handler } = replicas.start({ store: counted.store });
    return (user?: string) =>
      createRawClient(handler, user === undefined ? {} : { "x-user": user });
  };
  return { ...replicas, ...counted, clock, start };
}

test("a principal has so many sessions, and then 429, an event and a time to come back", async () => {
  const { start, events } = startFor(2);
  const as = start();
  const ada = as("ada");
  const first = await ada.initialize();
  await ada.initialize();
  await expect(ada.initialize()).rejects.toThrow("429");
  expect(events.at(-1)).toEqual({ type: "refused", reason: "too-many-sessions" });
  const refused = await ada.post(undefined, initializeRequest);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
  expect(await refused.text()).toContain("limits.sessionsPerPrincipal");
  // Those that exist go on; other principals and anonymous clients have their own room.
  expect(await ada.call(first, "add", { text: "a" })).toMatchObject({ text: "1 notes" });
  await as("bob").initialize();
  for (let n = 0; n < 4; n += 1) await as().initialize();
});

test("sessions that ended or expired do not count", async () => {
  const { start, clock } = startFor(2, 30_000);
  const ada = start()("ada");
  const first = await ada.initialize();
  await ada.initialize();
  await ada.end(first);
  await ada.initialize();
  await expect(ada.initialize()).rejects.toThrow("429");
  clock.now += 30_001;
  await ada.initialize();
});

test("sessions that other processes start or end are counted soon", async () => {
  const { start, clock } = startFor(2);
  const [here, there] = [start()("ada"), start()("ada")];
  const first = await here.initialize();
  await there.initialize();
  // This process has not heard of the second one yet.
  await here.initialize();
  clock.now += 10_001;
  await expect(here.initialize()).rejects.toThrow("429");
  await there.end(first);
  clock.now += 1_001;
  await expect(here.initialize()).rejects.toThrow("429");
});

test("a session costs its principal no list of all others", async () => {
  const { start, counts } = startFor(1_000);
  const ada = start()("ada");
  for (let n = 0; n < 50; n += 1) await ada.initialize();
  expect(counts.get("list")).toBe(1);
  counts.clear();
  const anonymous = start()();
  await anonymous.initialize();
  expect(counts.get("list")).toBeUndefined();
});

test("a principal that has too many does not make the store list them for each refusal", async () => {
  const { start, counts } = startFor(2);
  const ada = start()("ada");
  for (let n = 0; n < 2; n += 1) await ada.initialize();
  counts.clear();
  for (let n = 0; n < 50; n += 1) await expect(ada.initialize()).rejects.toThrow("429");
  expect(counts.get("list") ?? 0).toBeLessThan(2);
  expect(counts.get("put")).toBeUndefined();
});
