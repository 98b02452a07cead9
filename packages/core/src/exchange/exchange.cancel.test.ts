import { describe, expect, test } from "vitest";
import { eventText, sendResult, startEvents } from "../../test/mcp-server.ts";
import { createRpcClient, readMessages } from "../../test/rpc-client.ts";
import { startHeldStep } from "../../test/step.ts";

const call = (id: unknown, params: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params,
});

const cancelled = (requestId: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId, reason: "why" },
});

const cancellations = (server: { requests: readonly { message: any }[] }) =>
  server.requests
    .map(({ message }) => message)
    .filter((message) => message?.method === "notifications/cancelled");
const settled = () =>
  new Promise((resolve) => {
    setTimeout(resolve, 40);
  });

describe("a client's notifications/cancelled", () => {
  test("names the request by the id that the server knows", async () => {
    const { client, held, arrived, server } = await startHeldStep();
    const answer = client.request("tools/call");
    await arrived(1);
    expect((await client.post(cancelled(0))).status).toBe(202);
    expect(server.requests[1]?.message).toEqual(cancelled(held[0]?.message.id));
    sendResult(held[0]!.response, held[0]!.message.id, {});
    await answer;
  });

  test.each([1, "0", undefined])("is kept back for an unknown request: %j", async (requestId) => {
    const { client, held, arrived, server } = await startHeldStep();
    const answer = client.request("tools/call");
    await arrived(1);
    expect((await client.post(cancelled(requestId))).status).toBe(202);
    sendResult(held[0]!.response, held[0]!.message.id, {});
    await answer;
    expect((await client.post(cancelled(0))).status).toBe(202);
    expect(server.log).toEqual(["POST tools/call"]);
  });

  test("is kept back when two clients wait under the id", async () => {
    const { client, held, arrived, server } = await startHeldStep();
    const answers = [client.post(call(0)), client.post(call(0))];
    await arrived(2);
    expect((await client.post(cancelled(0))).status).toBe(202);
    expect(server.requests).toHaveLength(2);
    for (const { message, response } of held) sendResult(response, message.id, {});
    await Promise.all(answers);
  });
});

describe("cancelOnAbort", () => {
  test("cancels an aborted call once, under the id that the server knows", async () => {
    const { client, held, arrived, server } = await startHeldStep({ cancelOnAbort: true });
    const controller = new AbortController();
    const answer = client.request("tools/call", {}, { signal: controller.signal });
    await arrived(1);
    controller.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
    await expect.poll(() => cancellations(server)).toHaveLength(1);
    await settled();
    expect(cancellations(server)).toMatchObject([{ params: { requestId: held[0]!.message.id } }]);
    expect(server.requests.at(-1)?.headers["mcp-session-id"]).toBe(server.sessionIds[0]);
  });

  test("cancels also while the answer streams, with authorization", async () => {
    const { fetch, held, arrived, server } = await startHeldStep({ cancelOnAbort: true });
    const client = createRpcClient(fetch, server.url, { authorization: "Bearer t" });
    const controller = new AbortController();
    const answer = client.post(call(0), { signal: controller.signal });
    await arrived(1);
    startEvents(held[0]!.response);
    const reading = readMessages(await answer);
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    await expect.poll(() => cancellations(server)).toHaveLength(1);
  });

  test.each([
    ["off by default", {}],
    ["off", { cancelOnAbort: false }],
    ["off at the time", { cancelOnAbort: () => false }],
  ])("sends nothing when it is %s", async (_, options) => {
    const { client, arrived, server } = await startHeldStep(options);
    const controller = new AbortController();
    const answer = client.request("tools/call", {}, { signal: controller.signal });
    await arrived(1);
    controller.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
    await settled();
    expect(cancellations(server)).toEqual([]);
  });

  test("sends nothing after the answer, even while its stream is still open", async () => {
    const { client, held, arrived, server } = await startHeldStep({ cancelOnAbort: true });
    const controller = new AbortController();
    const finished = client.request("tools/call", {}, { signal: controller.signal });
    await arrived(1);
    sendResult(held[0]!.response, held[0]!.message.id, {});
    await finished;
    const answer = client.post(call(1), { signal: controller.signal });
    await arrived(2);
    const { response, message } = held[1]!;
    startEvents(response);
    response.write(eventText({ jsonrpc: "2.0", id: message.id, result: {} }));
    const streaming = await answer;
    await streaming.body!.getReader().read();
    controller.abort();
    await settled();
    expect(cancellations(server)).toEqual([]);
  });

  test("does not make anything of a cancellation that fails", async () => {
    const { client, server } = await startHeldStep({ cancelOnAbort: true });
    server.use(({ message }, response) => {
      if (message?.method === "notifications/cancelled") response.destroy();
    });
    const controller = new AbortController();
    const answer = client.request("tools/call", {}, { signal: controller.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
    await expect.poll(() => cancellations(server)).toHaveLength(1);
  });
});
