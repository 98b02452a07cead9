import { ElicitationRequestSchema, createMCPClient } from "@ai-sdk/mcp";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { createFaultyProxy } from "@durable-mcp/testing";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test, vi } from "vitest";
import { openTestStore } from "../durable/store-place.ts";
import type { TestServer } from "../servers/server-process.ts";
import { startRoundRobin } from "../wire/round-robin.ts";
import { type CallsInFlight, runCallsInFlight, startTellingServer } from "./calls-in-flight-run.ts";

// More calls, on each store: `npm run lab -- kill-calls --ask --store postgres`.

const calls = 64;
const clean = {
  ...{ calls, other: 0, hung: 0, foreign: 0, disordered: 0, lost: 0, doubled: 0, askedTwice: 0 },
};

async function runOn(how: "kill" | "drain"): Promise<CallsInFlight> {
  const seed = Math.floor(Math.random() * 1e6);
  const store = await openTestStore("sqlite");
  try {
    const run = await runCallsInFlight({ store: store.location, calls, seed, how, asks: true });
    console.log(`${how}, seed ${seed}`, run);
    return run;
  } finally {
    await store.close();
  }
}

test("calls that ask end in their own answer, or say that it is unknown, at killed replicas", async () => {
  const run = await runOn("kill");
  expect(run).toMatchObject(clean);
  expect(run.answered).toBeGreaterThan(0);
});

test("a deploy loses no question, no answer to it, and no call that asks", async () => {
  const run = await runOn("drain");
  const { refused, broken } = run;
  expect(run).toMatchObject({ ...clean, unknown: 0, answered: calls - refused - broken });
});

/** Two replicas in processes of their own on one SQLite file, behind a round robin. */
async function withReplicas(
  use: (place: { one: TestServer; two: TestServer; url: string }) => Promise<void>,
): Promise<void> {
  const { location, close } = await openTestStore("sqlite");
  const [one, two] = await Promise.all([0, 1].map(() => startTellingServer(location, true)));
  const roundRobin = await startRoundRobin([new URL(one!.url), new URL(two!.url)]);
  try {
    await use({ one: one!, two: two!, url: roundRobin.url });
  } finally {
    await roundRobin.close();
    await Promise.all([one, two].map((replica) => replica!.stop()));
    await close();
  }
}

const args = { call: "<one>", steps: 1, ms: 10 };
const portOf = ({ url }: TestServer) => new URL(url).port;

/** Sends to one replica until it is dead, then to the other. */
function pinnedFetch(first: TestServer, then: TestServer) {
  let isFirst = true;
  const send: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    url.port = portOf(isFirst ? first : then);
    return await fetch(url, init);
  };
  return { fetch: send, turn: () => void (isFirst = false) };
}

test("the asker is killed before the answer: the call ends at the other replica, once", async () => {
  await withReplicas(async ({ one, two }) => {
    const route = pinnedFetch(one, two);
    const client = new Client(
      { name: "person", version: "1" },
      { capabilities: { elicitation: { form: {} } } },
    );
    const asked: string[] = [];
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      asked.push(params.message);
      await one.kill();
      route.turn();
      return { action: "accept" as const, content: { said: params.message } };
    });
    const url = new URL(one.url);
    await client.connect(new StreamableHTTPClientTransport(url, { fetch: route.fetch }));
    const { content } = await client.callTool({ name: "tell", arguments: args });
    expect(content).toEqual([{ type: "text", text: `<one> by ${portOf(two)}` }]);
    expect(asked).toEqual(["<one>"]);
    for (const name of ["asked", "done"]) {
      const listed = await client.callTool({ name, arguments: {} });
      expect(listed.content).toEqual([{ type: "text", text: '["<one>"]' }]);
    }
    await client.close();
  });
});

test("the client of the AI SDK answers at another replica, and gets its result on its stream", async () => {
  await withReplicas(async ({ one, two }) => {
    const route = pinnedFetch(one, two);
    // Without discovery the client begins a session.
    const client = await createMCPClient({
      transport: { type: "http", url: one.url, fetch: route.fetch },
      capabilities: { elicitation: { form: {} } },
    });
    client.onElicitationRequest(ElicitationRequestSchema, async ({ params }) => {
      route.turn();
      return { action: "accept", content: { said: params.message } };
    });
    const { tell } = await client.tools();
    const options = { toolCallId: "1", messages: [], context: {} };
    expect(await tell!.execute(args, options)).toMatchObject({
      content: [{ text: `<one> by ${portOf(two)}` }],
    });
    await client.close();
  });
});

/** A call of a connection of ours that asks. Each use of `open` is a process of its own. */
async function startAsking(url: string) {
  const store = createMemoryStore();
  const principal = { type: "app" } as const;
  const events: string[] = [];
  const onEvent = ({ type }: { type: string }) => void events.push(type);
  const open = () =>
    createDurableSessions({
      connections: {
        lab: defineMcpClientConnection({
          ...{ url, description: "A lab.", session: "stateful" as const },
          waiting: true,
        }),
      },
      ...{ store, onEvent },
    });
  await open().run("chat", { principal }, async (run) => {
    const { lab__tell } = (await run.tools()) as Record<string, { execute: Function }>;
    await lab__tell!.execute(args, { toolCallId: "1", messages: [], context: {} });
  });
  const [call] = (await open().waiting("chat", { principal })) as WaitingCall[];
  expect(call).toMatchObject({ state: "waiting", round: 1 });
  const { id, round, requests } = call!;
  const text = { type: "text", text: "-", providerOptions: { "durable-mcp": { waiting: id } } };
  const named = { toolCallId: "1", toolName: "lab__tell" };
  const messages = [
    { role: "assistant", content: [{ type: "tool-call", ...named, input: args }] },
    {
      role: "tool",
      content: [{ type: "tool-result", ...named, output: { type: "content", value: [text] } }],
    },
  ];
  return {
    events,
    answer: async () => {
      const accepted = { action: "accept" as const, content: { said: "<one>" } };
      const responses = Object.fromEntries(Object.keys(requests).map((key) => [key, accepted]));
      return await open().answer("chat", id, responses, { principal, round });
    },
    /** Until the result is in the messages. @returns them */
    endsWith: async (result: string) => {
      return await vi.waitFor(async () => {
        await open().check("chat", { principal });
        const resumed = await open().run("chat", { principal }, async (run) =>
          run.waiting.resume(messages as never, { tools: await run.tools() }),
        );
        const said = JSON.stringify(resumed);
        expect(said).toContain(result);
        return said;
      }, 30_000);
    },
  };
}

test("a connection of ours that waits is answered by another process, after the asker was killed", async () => {
  await withReplicas(async ({ one, two, url }) => {
    const { answer, endsWith } = await startAsking(url);
    await one.kill();
    await answer();
    const result = `<one> by ${portOf(two)}`;
    expect(await endsWith(result)).not.toContain("not done yet");
  });
});

test.each(["before", "after"])(
  "an answer that a proxy loses %s the server has it arrives, and once",
  async (when) => {
    await withReplicas(async ({ one }) => {
      const proxy = await createFaultyProxy({ target: new URL(one.url) });
      let answers = 0;
      proxy.setGuard(async ({ body, carryOut }) => {
        const isAnswer = /"result"/.test(body);
        if (isAnswer) answers += 1;
        if (!isAnswer || answers > 1) return await carryOut(one.url);
        if (when === "after") await carryOut(one.url);
        return new Response("Bad gateway", { status: 502 });
      });
      const { answer, endsWith, events } = await startAsking(proxy.url);
      await answer();
      await endsWith(`<one> by ${portOf(one)}`);
      expect(answers).toBe(when === "before" ? 2 : 1);
      expect(events).toContain("answer-unsure");
      await proxy.close();
    });
  },
);
