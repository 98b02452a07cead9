import { expect, test } from "vitest";
import {
  readMessages,
  takeEventId,
  takeEvents,
  whenListening,
  toolCall,
} from "../../test/raw-client.ts";
import { createReplicas, startSession, startTwo } from "../../test/replicas.ts";

test("gives a stored answer to a client that resumes on another replica", async () => {
  const { one, two, id } = await startTwo();
  const broken = await one.client.post(id, toolCall(7, "wait", { ms: 60 }));
  const first = await takeEventId(broken);

  const rest = await readMessages(await two.client.get(id, first));
  expect(rest.map(({ message }) => message.id)).toEqual([7]);
  expect(rest[0]?.message.result?.content?.[0]?.text).toBe("waited");
  // Once more, after the answer is stored, from both.
  expect(await readMessages(await one.client.get(id, first))).toEqual(rest);
  // There is no more, and the client is told not to come back for it.
  expect((await two.client.get(id, rest[0]!.eventId)).status).toBe(204);
});

// The official clients forget where they were when a resumed stream ends without an event id, and hang.
test("a stream that is resumed while a deploy begins tells its client where to go on", async () => {
  const replicas = createReplicas();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: drains, resolve: drain } = Promise.withResolvers<void>();
  const { store } = replicas;
  const two = replicas.start();
  const one = replicas.start({
    store: {
      ...store,
      get: async (key) => {
        if (key.includes('"answer"')) {
          ask();
          await drains;
        }
        return await store.get(key);
      },
    },
  });
  const id = await two.client.initialize();
  const first = await takeEventId(await two.client.post(id, toolCall(7, "wait", { ms: 100 })));
  const resuming = one.client.get(id, first);
  await asked;
  const drained = one.handler.drain();
  drain();
  const again = await takeEventId(await resuming);
  const rest = await readMessages(await two.client.get(id, again));
  expect(rest.map(({ message }) => message.id)).toEqual([7]);
  await drained;
});

test("a resumed stream begins with an event id, in its first bytes", async () => {
  const { client, id } = await startSession();
  const first = await takeEventId(await client.post(id, toolCall(7, "wait", { ms: 100 })));
  const resumed = await client.get(id, first);
  const { value } = await resumed.body!.getReader().read();
  expect(new TextDecoder().decode(value)).toContain(`id: ${first}\n`);
});

test.each([1, 2] as const)(
  "goes on with the messages before the answer where the client left (SDK %i)",
  async (sdk) => {
    const { one, two, id } = await startTwo({ sdk });
    // The tool closes its stream after the first message, as servers may that let clients poll.
    const started = await readMessages(
      await one.client.post(id, toolCall(7, "report", { steps: 3 })),
    );
    expect(started.map(({ message }) => message.params?.["data"])).toEqual(["step 1"]);
    const rest = await readMessages(await two.client.get(id, started[0]!.eventId));
    expect(rest.map(({ message }) => message.params?.["data"] ?? message.id)).toEqual([
      "step 2",
      "step 3",
      7,
    ]);
  },
);

test("tells a client whose call died with a replica that the outcome is unknown", async () => {
  const { one, two, id, ...replicas } = await startTwo({ timeouts: { leaseMs: 300 } });
  const first = await takeEventId(await one.client.post(id, toolCall("x", "hang")));
  one.kill();
  const [answer] = await readMessages(await two.client.get(id, first));
  expect(answer?.message).toMatchObject({
    id: "x",
    error: { data: { code: "OUTCOME_UNKNOWN" } },
  });
  expect(replicas.events).toContainEqual({
    type: "outcome-unknown",
    session: expect.stringMatching(/^[\w-]{8}$/),
  });
  // The same answer for every further GET, and the id may be used again.
  const again = await readMessages(await two.client.get(id, first));
  expect(again[0]?.message).toEqual(answer?.message);
  expect(await two.client.call(id, "add", { text: "a" }, "x")).toMatchObject({ text: "1 notes" });
});

test("a request id that is in flight on another replica may be used: each has its own answer", async () => {
  const { one, two, id } = await startTwo();
  const slow = await one.client.post(id, toolCall("x", "wait", { ms: 300 }));
  const first = await takeEventId(slow);
  expect(await two.client.call(id, "list", {}, "x")).toMatchObject({ status: 200, text: "" });
  const rest = await readMessages(await two.client.get(id, first));
  expect(rest.map(({ message }) => message.result?.content?.[0]?.text)).toEqual(["waited"]);
});

test("keeps no more of a stream than it may, and the answer rather than earlier messages", async () => {
  const { client, id } = await startSession({ events: { maxEvents: 3 } });
  const call = client.post(id, toolCall(7, "report", { steps: 10 }));
  const first = await takeEventId(await call);
  await expect.poll(async () => (await client.call(id, "list", {}, 7)).status).toBe(200);
  const other = client.post(id, toolCall(8, "report", { steps: 10 }));
  const second = await takeEventId(await other);
  await expect
    .poll(async () => {
      const rest = await readMessages(await client.get(id, second));
      return rest.map(({ message }) => message.params?.["data"] ?? message.id);
    })
    .toEqual(["step 9", "step 10", 8]);
  // The client has used the request id again meanwhile: the event id still names the older request.
  const older = await readMessages(await client.get(id, first));
  expect(older.at(-1)?.message).toMatchObject({ id: 7, result: {} });
  expect(older).toHaveLength(3);
});

test.each([1, 2] as const)(
  "a listening stream gets the messages of all replicas, and goes on where it broke (SDK %i)",
  async (sdk) => {
    const { one, two, id } = await startTwo({ sdk });
    const seen = takeEvents(await whenListening(await one.client.get(id)), 2);
    await one.client.call(id, "announce");
    await two.client.call(id, "announce");
    const events = await seen;
    expect(events.map(({ message }) => message.method)).toEqual([
      "notifications/resources/list_changed",
      "notifications/resources/list_changed",
    ]);
    await two.client.call(id, "announce");
    const more = await takeEvents(await two.client.get(id, events[0]!.eventId), 2);
    expect(more[0]?.eventId).toBe(events[1]?.eventId);
  },
);

test("a handler can end the listening stream, for its client to come back", async () => {
  const { client, id } = await startSession();
  const listening = await whenListening(await client.get(id));
  await client.call(id, "hang_up");
  expect(await listening.text()).toContain("id: ");
});

test("each message goes to one listening stream; another takes over when that one ends", async () => {
  const { one, two, id } = await startTwo();
  const older = takeEvents(await whenListening(await one.client.get(id)), 1);
  const newer = takeEvents(await whenListening(await two.client.get(id)), 1);
  await one.client.call(id, "announce");
  const [first] = await newer;
  // The older one missed the messages of the newer one, and gets the later ones once that is gone.
  const said = setInterval(() => void one.client.call(id, "announce"), 30);
  const [second] = await older.finally(() => clearInterval(said));
  expect(second?.eventId).not.toBe(first?.eventId);
});

test("the first listening stream gets earlier messages, and a second one does not", async () => {
  const { client, id } = await startSession();
  await client.call(id, "announce");
  const first = await takeEvents(await client.get(id), 1);
  expect(first[0]?.message.method).toBe("notifications/resources/list_changed");
  await client.call(id, "announce");
  const [second] = await takeEvents(await client.get(id), 1);
  expect(second?.eventId).not.toBe(first[0]?.eventId);
});
