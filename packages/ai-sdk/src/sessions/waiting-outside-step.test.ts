import { describe, expect, test } from "vitest";
import { callsOf } from "../../test/calls-of.ts";
import { startAskingServer, yes } from "../../test/asking-server.ts";
import { alice, bob, callTool } from "../../test/step.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import { createConnectionProvider } from "./create-connection-provider.ts";

/** An application whose agent session is JSON, and whose claims are a set in a database. */
async function startShop() {
  const server = await startAskingServer();
  const { url } = server;
  let isBusy = false;
  const fetch: typeof globalThis.fetch = async (...request) =>
    isBusy ? new Response(null, { status: 429 }) : await globalThis.fetch(...request);
  const claimed = new Set<string>();
  const claims = ({ key }: { key: string }) => !claimed.has(key) && claimed.add(key).has(key);
  const start = () =>
    createConnectionProvider({
      connections: {
        shop: defineMcpClientConnection({ url, description: "A shop.", input: "pause", fetch }),
      },
      claim: claims,
      onEvent: () => undefined,
    });
  const asking = await start().run({ session: {}, principal: alice }, async (run) => {
    await callTool(await run.tools(), "shop__order", { item: "tea" });
  });
  const session = JSON.parse(JSON.stringify(asking.session)) as { state?: unknown };
  return { server, start, session, setBusy: (busy: boolean) => void (isBusy = busy) };
}

const use = { principal: alice };

describe("a call that waits in a state that the application carries", () => {
  test("is answered in another process, and its result is in the next state", async () => {
    const { server, start, session } = await startShop();
    const [question] = callsOf(await start().waiting(session, use));
    expect(question).toMatchObject({ tool: "order", round: 1, state: "waiting" });
    const answered = await start().answer(session, question!.id, yes, use);
    expect(answered.call.state).toBe("settled");
    expect(server.legs).toHaveLength(2);
    expect(await start().waiting(answered.session, use)).toEqual([]);

    const placeholder = { id: question!.id, toolCallId: "call-1", item: "tea" };
    const { result } = await start().run({ session: answered.session, ...use }, async (run) =>
      run.waiting.resume(messagesWith(placeholder), { tools: await run.tools() }),
    );
    expect(JSON.stringify(result.messages)).toContain("order tea is done");
    expect(server.legs).toHaveLength(2);
  });

  test("is sent once, although two processes have loaded the same state", async () => {
    const { server, start, session } = await startShop();
    const [question] = callsOf(await start().waiting(session, use));
    const both = await Promise.allSettled(
      [1, 2].map(() => start().answer(session, question!.id, yes, use)),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(both.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "NOT_WAITING", data: { state: "answering" } },
    });
    expect(server.legs).toHaveLength(2);
  });

  test("waits on after a leg that was not carried out, under the state that onSession gets", async () => {
    const { start, session, setBusy } = await startShop();
    const [question] = callsOf(await start().waiting(session, use));
    let saved = session;
    const onSession = (changed: typeof session) => void (saved = changed);
    setBusy(true);
    await expect(
      start().answer(session, question!.id, yes, { ...use, onSession }),
    ).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
    expect(saved).not.toBe(session);
    setBusy(false);
    const { call } = await start().answer(saved, question!.id, yes, use);
    expect(call.state).toBe("settled");
  });

  test("is another principal's secret, and goes with the agent session", async () => {
    const { start, session } = await startShop();
    const [question] = callsOf(await start().waiting(session, use));
    const others = { principal: bob };
    expect(await start().waiting(session, others)).toEqual([]);
    for (const act of [
      start().answer(session, question!.id, yes, others),
      start().withdraw(session, question!.id, others),
    ]) {
      await expect(act).rejects.toMatchObject({ code: "NOT_WAITING" });
    }
    expect((await start().end(session, others)).session).toBe(session);
    const { session: named } = await start().end(session, { ...use, name: "research" });
    expect(named).toBe(session);
    const { session: ended } = await start().end(session, { ...use, connection: "shop" });
    expect(ended).toEqual({ state: {} });
    const { session: withdrawn, call } = await start().withdraw(session, question!.id, use);
    expect(call.state).toBe("withdrawn");
    expect(await start().waiting(withdrawn, use)).toEqual([]);
  });

  test("is refused without a claim when the provider is created, which says why", () => {
    const connections = {
      shop: defineMcpClientConnection({
        url: "http://localhost/",
        description: "-",
        input: "pause",
      }),
    };
    const refused =
      /connections\.shop\.input "pause" needs a place .* two processes could send the same answer/;
    expect(() => createConnectionProvider({ connections })).toThrow(refused);
    // Whose connections they are is only known with a principal.
    const provider = createConnectionProvider({ connections: () => connections });
    expect(() => provider.create({ state: {}, principal: alice })).toThrow(refused);
  });
});

/** A conversation in which the call has its placeholder. */
function messagesWith({ id, toolCallId, item }: { id: string; toolCallId: string; item: string }) {
  const call = { toolCallId, toolName: "shop__order" };
  const text = { type: "text", text: "-", providerOptions: { "durable-mcp": { waiting: id } } };
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call, input: { item } }] },
    {
      role: "tool",
      content: [{ type: "tool-result", ...call, output: { type: "content", value: [text] } }],
    },
  ];
}
