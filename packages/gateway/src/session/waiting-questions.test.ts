import { expect, test } from "vitest";
import { startOwnServer } from "../../test/own-server.ts";
import { begin, messagesOf, post, readEvents, request, toolCall } from "../../test/raw-client.ts";
import { serveGateway } from "../../test/serve-gateway.ts";

const waiting = { connection: { waiting: true } };

test("a question waits in the store, whatever the client declares, and its result comes by a tool", async () => {
  const server = await startOwnServer();
  const { url, store, kill } = await serveGateway(server.url, waiting);
  const session = await begin(url);
  const [list] = await messagesOf(await post(url, request(1, "tools/list"), { session }));
  const names = list.result.tools.map(({ name }: { name: string }) => name);
  expect(names).toEqual(["work", "ask-anyone", "ask", "waiting_result"]);
  const [asked] = await messagesOf(await post(url, toolCall(2, "ask"), { session }));
  const [text] = asked.result.content.map(({ text: words }: { text: string }) => words);
  expect(asked.result.isError).toBe(true);
  expect(text).toContain("The server asks: Which size?");
  const call = /"call":"([^"]+)"/.exec(text)?.[1];
  const ask = async (at: string, id: number) =>
    (await messagesOf(await post(at, toolCall(id, "waiting_result", { call }), { session })))[0];
  expect((await ask(url, 3)).result.content[0].text).toContain("waits for a person");
  // Another process has the answer, and another one the result.
  await kill();
  const { gateway } = await serveGateway(server.url, { ...waiting, store });
  const { calls } = await gateway.waiting();
  expect(calls).toMatchObject([{ call: { connection: "shop", tool: "ask" } }]);
  const [key] = Object.keys(calls[0]!.call.requests);
  const responses = { [key!]: { action: "accept", content: { size: "M" } } } as const;
  await gateway.answer(calls[0]!, responses, { by: "the operator" });
  const third = await serveGateway(server.url, { ...waiting, store });
  await expect.poll(async () => (await ask(third.url, 4)).result.content[0].text).toBe("size M");
  expect(server.done).toBe(1);
});

test("nobody else gets the result of a call that waits", async () => {
  const server = await startOwnServer();
  const { url } = await serveGateway(server.url, waiting);
  const [session, other] = await Promise.all([begin(url), begin(url)]);
  const [asked] = await messagesOf(await post(url, toolCall(2, "ask"), { session }));
  const call = /"call":"([^"]+)"/.exec(asked.result.content[0].text)?.[1];
  const own = toolCall(1, "waiting_result", { call });
  const [answer] = await messagesOf(await post(url, own, { session: other }));
  expect(answer.result.content[0].text).toBe("There is no such call.");
});

test("without `waiting` a question goes to a client that declares it", async () => {
  const server = await startOwnServer();
  const { url } = await serveGateway(server.url);
  const session = await begin(url, { capabilities: { elicitation: {} } });
  const response = await post(url, toolCall(2, "ask"), { session });
  const events = readEvents(response);
  let question: any;
  while (question === undefined) {
    const event = await events.next();
    if (event?.message?.method === "elicitation/create") question = event.message;
  }
  const result = { action: "accept", content: { size: "L" } };
  await post(url, { jsonrpc: "2.0", id: question.id, result }, { session });
  expect((await events.rest()).at(-1)?.message.result.content[0].text).toBe("size L");
});
