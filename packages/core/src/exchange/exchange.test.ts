import { describe, expect, test } from "vitest";
import {
  eventText,
  sendResult,
  sendText,
  startEvents,
  startMcpServer,
} from "../../test/mcp-server.ts";
import { createRpcClient, readMessages } from "../../test/rpc-client.ts";
import { saveSession, startHeldStep, startStep } from "../../test/step.ts";

const call = (id: unknown, params: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params,
});

describe("request ids", () => {
  test("do not meet those of another process on the session, and each gets its own answer", async () => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    const steps = [startStep(server, { snapshot }), startStep(server, { snapshot })];
    const answers = await Promise.all(
      steps.flatMap(({ client }, step) =>
        Array.from({ length: 20 }, async (_, n) => {
          const { result } = await client.request("tools/call", { arguments: [step, n] });
          return [result.content[0].text, JSON.stringify([step, n])];
        }),
      ),
    );
    for (const [received, expected] of answers) expect(received).toBe(expected);
    expect(new Set(server.requests.map(({ message }) => message.id)).size).toBe(40);
  });

  test("are told apart when two clients of one fetch use the same id at once", async () => {
    const { fetch, server, held, arrived } = await startHeldStep();
    const clients = [createRpcClient(fetch, server.url), createRpcClient(fetch, server.url)];
    const waiting = clients.map((client, n) => client.request("tools/call", { n }));
    await arrived(2);
    for (const { message, response } of held.toReversed()) {
      sendResult(response, message.id, { n: message.params.n });
    }
    expect(await Promise.all(waiting)).toMatchObject([
      { id: 0, result: { n: 0 } },
      { id: 0, result: { n: 1 } },
    ]);
  });

  test.each([0, 7, "0", "seven"])(
    "%j comes back with its JSON type, as JSON and as SSE",
    async (id) => {
      const { client, held, arrived } = await startHeldStep();
      const answers = [client.post(call(id)), client.post(call(id))];
      await arrived(2);
      sendResult(held[0]!.response, held[0]!.message.id, {});
      startEvents(held[1]!.response);
      held[1]!.response.end(eventText({ jsonrpc: "2.0", id: held[1]!.message.id, result: {} }));
      const bodies = await Promise.all(answers.map(async (answer) => readMessages(await answer)));
      expect(bodies.flat().map((message) => message.id)).toEqual([id, id]);
    },
  );
});

describe("one-way messages", () => {
  const changed = { jsonrpc: "2.0", method: "notifications/roots/list_changed" };

  test("go out as they are", async () => {
    const server = await startMcpServer();
    const { client } = startStep(server, { snapshot: await saveSession(server) });
    expect((await client.post(changed)).status).toBe(202);
    expect(server.requests).toMatchObject([{ message: changed }]);
  });

  test("make no session", async () => {
    const server = await startMcpServer();
    const { client } = startStep(server);
    expect((await client.post(changed)).status).toBe(202);
    expect(server.requests).toEqual([]);
  });

  test("that meet a lost session are not repeated; the next request makes a new one", async () => {
    const server = await startMcpServer();
    const { client, events, slot } = startStep(server, { snapshot: await saveSession(server) });
    server.forgetSessions();
    expect((await client.post(changed)).status).toBe(202);
    expect(slot.snapshot).toEqual({ version: 1, kind: "sessionless", url: server.url, lost: {} });
    expect(events).toContainEqual({ type: "lost", method: changed.method, status: 404 });
    await client.request("ping");
    expect(server.log).toEqual([
      `POST ${changed.method}`,
      "POST initialize",
      "POST notifications/initialized",
      "POST ping",
    ]);
  });

  test("show the client a refusal that is no loss", async () => {
    const server = await startMcpServer();
    const { client } = startStep(server, { snapshot: await saveSession(server) });
    server.use((_, response) => sendText(response, 401, "who are you?"));
    const response = await client.post(changed);
    expect([response.status, await response.text()]).toEqual([401, "who are you?"]);
  });
});
