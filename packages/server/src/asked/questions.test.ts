import { expect, test } from "vitest";
import {
  readMessages,
  takeEvents,
  whenListening,
  cancellation,
  toolCall,
} from "../../test/raw-client.ts";
import { createReplicas, startSession, startTwo } from "../../test/replicas.ts";

const answer = { result: { action: "accept", content: { name: "Ada" } } };

test.each([1, 2] as const)(
  "a question's answer finds the call that asked, on whichever replica it arrives (SDK %i)",
  async (sdk) => {
    const { one, two, id } = await startTwo({ sdk }, { elicitation: { form: {} } });
    const response = await one.client.post(id, toolCall(7, "ask_related"));
    const [own, copy] = response.body!.tee();
    const [question] = await takeEvents(new Response(own), 1);
    expect(question?.message.method).toBe("elicitation/create");
    const sent = await two.client.post(id, { id: question!.message.id, ...answer });
    expect(sent.status).toBe(202);
    const messages = await readMessages(
      new Response(copy, { headers: { "content-type": "text/event-stream" } }),
    );
    expect(messages.at(-1)?.message.result?.content?.[0]?.text).toBe('{"name":"Ada"}');
  },
);

test("in JSON a question goes to the listening stream", async () => {
  const { client, id } = await startSession(
    { responseFormat: "json" },
    { elicitation: { form: {} } },
  );
  const listening = takeEvents(await whenListening(await client.get(id)), 1);
  const call = client.post(id, toolCall(7, "ask_related"));
  const [question] = await listening;
  await client.post(id, { id: question!.message.id, ...answer });
  const [result] = await readMessages(await call);
  expect(result?.message.result?.content?.[0]?.text).toBe('{"name":"Ada"}');
});

test("a restored server asks under other ids than its predecessor", async () => {
  const replicas = createReplicas();
  const ids = [];
  let session: string | undefined;
  for (const replica of [replicas.start(), replicas.start()]) {
    session ??= await replica.client.initialize({ elicitation: { form: {} } });
    const [question] = await takeEvents(
      await replica.client.post(session, toolCall(`q${ids.length}`, "ask_related")),
      1,
    );
    ids.push(question!.message.id);
  }
  expect(new Set(ids).size).toBe(2);
});

test("a late answer to a predecessor's question does not reach the successor's", async () => {
  const replicas = createReplicas();
  const one = replicas.start();
  const id = await one.client.initialize({ elicitation: { form: {} } });
  const [old] = await takeEvents(await one.client.post(id, toolCall(7, "ask_related")), 1);
  one.kill();
  const two = replicas.start();
  const response = await two.client.post(id, toolCall(8, "ask_related"));
  const [head, rest] = response.body!.tee();
  const [question] = await takeEvents(new Response(head), 1);
  const wrong = { result: { action: "accept", content: { name: "wrong" } } };
  expect((await two.client.post(id, { id: old!.message.id, ...wrong })).status).toBe(202);
  await two.client.post(id, { id: question!.message.id, ...answer });
  const messages = await readMessages(
    new Response(rest, { headers: { "content-type": "text/event-stream" } }),
  );
  expect(messages.at(-1)?.message.result?.content?.[0]?.text).toBe('{"name":"Ada"}');
});

test.each([
  ["sse", 1],
  ["json", 1],
  ["sse", 2],
] as const)(
  "a cancellation reaches the call on another replica and ends its request (%s, SDK %i)",
  async (responseFormat, sdk) => {
    const { one, two, id, ...replicas } = await startTwo({ responseFormat, sdk });
    const call = one.client.post(id, toolCall(7, "wait", { ms: 60_000 }));
    await one.client.whenInFlight(id, 7);
    await two.client.post(id, cancellation(7));
    await readMessages(await call);
    expect(replicas.lines).toContain("aborted");
    expect(await two.client.call(id, "list", {}, 7)).toMatchObject({ status: 200 });
  },
);

test("the stream of a batch ends with its last answer when another one was cancelled", async () => {
  const { client, id } = await startSession({}, {}, "2025-03-26");
  const response = await client.post(id, [toolCall(1, "hang"), toolCall(2, "wait", { ms: 50 })]);
  await client.post(id, cancellation(1));
  expect((await readMessages(response)).map(({ message }) => message.id)).toEqual([2]);
});

test("a question that is asked before the client listens is not lost", async () => {
  const { promise: name, resolve } = Promise.withResolvers<unknown>();
  const { client } = createReplicas().start({
    setUp: ({ server }) => {
      server.oninitialized = () => {
        const requestedSchema = { type: "object" as const, properties: {} };
        const asked = server.elicitInput({ message: "Your name?", requestedSchema });
        void asked.then(({ content }) => resolve(content));
      };
    },
  });
  const id = await client.initialize({ elicitation: { form: {} } });
  const [question] = await takeEvents(await client.get(id), 1);
  await client.post(id, { id: question!.message.id, ...answer });
  expect(await name).toEqual({ name: "Ada" });
});
