import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { type InputResponses, waitingCallOf } from "@durable-mcp/core/waiting";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AskingServer, startAskingServer } from "../servers/asking.ts";

let server: AskingServer;
beforeAll(async () => {
  server = await startAskingServer();
});
afterAll(() => server?.stop());

const owner = { principal: { type: "user", issuer: "https://idp.test", id: "ada" } } as const;
const yes: InputResponses = { confirm: { action: "accept", content: { ok: true } } };
const noon: InputResponses = { delivery: { action: "accept", content: { time: "12:00" } } };

type Execute = (input: object, options: object) => Promise<unknown>;

/** The processes of an application with a connection that has `waiting`: each has a token of its own. */
function startProcesses() {
  const store = createMemoryStore();
  const before = server.legs().length;
  let processes = 0;
  const open = () => {
    processes += 1;
    const token = `token-${processes}`;
    return createDurableSessions({
      connections: {
        shop: defineMcpClientConnection({
          ...{ url: server.url, description: "A shop.", waiting: true },
          auth: { getToken: () => ({ token }) },
        }),
      },
      store,
    });
  };
  return {
    legs: () => server.legs().slice(before),
    store,
    order: (item: string) =>
      open().run("chat", owner, async (run) => {
        const { shop__place_order: tool } = (await run.tools()) as unknown as Record<
          string,
          { execute: Execute }
        >;
        return waitingCallOf(
          await tool!.execute({ item }, { toolCallId: item, messages: [], context: {} }),
        );
      }),
    answer: (id: string, responses: InputResponses) => open().answer("chat", id, responses, owner),
  };
}

test("each leg has the token of the process that sends it, and no record holds one (M14, M40)", async () => {
  const processes = startProcesses();
  const call = await processes.order("tea");
  await processes.answer(call!.id, yes);
  const { records } = await processes.store.list({ limit: 100 });
  const kept = JSON.stringify(records);
  expect(kept).toContain("tea");
  expect(kept).not.toContain("token-");
  await processes.answer(call!.id, noon);
  const legs = processes.legs();
  expect(legs.map(({ headers }) => headers["authorization"])).toEqual([
    "Bearer token-1",
    "Bearer token-2",
    "Bearer token-3",
  ]);
  expect(legs.map(({ params }) => params.inputResponses)).toEqual([undefined, yes, noon]);
});
