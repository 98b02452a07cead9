import { inspect } from "node:util";
import { createMemoryStore } from "@durable-mcp/core";
import type { ModelMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { escapedForms } from "../../../sessions/test/escaped-forms.ts";
import { confirm, startAskingServer } from "../../../sessions/test/asking-server.ts";
import { collectEvents } from "../collect-events.ts";
import { collectMetrics } from "../../../sessions/test/collect-metrics.ts";
import { collectSpans } from "../../../sessions/test/collect-spans.ts";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import {
  createDurableAgent,
  createDurableSessions,
  defineMcpClientConnection,
} from "../../src/index.ts";
import { openTelemetry } from "../../../sessions/src/opentelemetry/index.ts";

const { spans, reset } = collectSpans();
const { take } = collectMetrics();

const sessionId = "canary-chat";
const principal = { type: "user", issuer: "https://canary-issuer", id: "canary-user" } as const;
const use = { principal };
const options = { sessionId, principal };
const secretAnswer = "canary-answer";
const question = {
  method: "elicitation/create",
  params: {
    message: "To whom?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
  },
};
const answers = {
  confirm: { action: "accept", content: { name: secretAnswer } },
} as const;

const methods = ["log", "info", "warn", "error", "debug"] as const;
const logged: unknown[] = [];
beforeEach(async () => {
  reset();
  await take();
  logged.length = 0;
  for (const method of methods) {
    vi.spyOn(console, method).mockImplementation((...said) => void logged.push(said));
  }
});
afterEach(() => vi.restoreAllMocks());

const print = (value: unknown) => inspect(value, { depth: Infinity, showHidden: true });

/** An application, and a server with canaries. `reply` is the server's to the second round's answer. */
async function start(reply: (echo: string, token: string) => object | undefined = () => undefined) {
  const server = await startAskingServer({
    question: () => question,
    answer(leg) {
      const { requestState, inputResponses } = leg.params;
      if (inputResponses === undefined || requestState !== server.states[1]) return undefined;
      const key = String(leg.params.arguments?.["key"]);
      const echo = escapedForms(`state ${requestState}, key ${key}`);
      return reply(echo, escapedForms(String(leg.headers.authorization)));
    },
  });
  const { url } = server;
  const { onEvent, events, clientEvents } = collectEvents();
  const asked: unknown[] = [];
  const onWaiting = (call: unknown) => void asked.push(call);
  const store = createMemoryStore();
  const sessions = createDurableSessions({
    connections: {
      shop: defineMcpClientConnection({
        url: `${url}?key=canary%2Fquery%3D`,
        description: "A shop.",
        waiting: { onWaiting },
        auth: { getToken: () => ({ token: `canary-token/+&<='` }) },
        providedArguments: { key: () => `canary-provided/+ "&<=` },
      }),
    },
    telemetry: openTelemetry({ propagate: true }),
    ...{ store, onEvent },
  });
  const errors: unknown[] = [];
  const results: unknown[] = [];
  /** Keeps what a method of the application gave it. */
  const keep = async <T>(act: PromiseLike<T>): Promise<T | undefined> => {
    try {
      const result = await act;
      results.push(result);
      return result;
    } catch (error) {
      errors.push(error);
      return undefined;
    }
  };
  return { server, sessions, store, keep, errors, results, events, clientEvents, asked };
}

type Application = Awaited<ReturnType<typeof start>>;

/** A call with two rounds, and what an application does with it. */
async function goThrough({ sessions, store, keep, server }: Application) {
  const agent = (...turns: Parameters<typeof scriptedModel>) => {
    const model = scriptedModel(...turns);
    return { model, agent: createDurableAgent({ sessions, model }) };
  };
  const order = [{ tool: "shop__order_twice", input: { item: "tea" } }];
  const first = agent(order, "never");
  const stored = async () => print((await store.list({ limit: 9 })).records);
  const messages: ModelMessage[] = [{ role: "user", content: "Order." }];
  const { responseMessages } = await first.agent.generate({ messages, options });
  messages.push(...responseMessages);
  const [call] = callsOf(await sessions.waiting(sessionId, use));
  const { id } = call!;
  expect(await stored()).toContain(server.states[0]);
  const wrong = { confirm: { action: "accept", content: { name: 1, other: secretAnswer } } };
  await keep(sessions.answer(sessionId, id, wrong as never, use));
  await keep(sessions.answer(sessionId, id, { x: answers.confirm }, use));
  await keep(sessions.answer(sessionId, id, answers, { ...use, round: 7 }));
  const both = [0, 1].map(() => keep(sessions.answer(sessionId, id, answers, use)));
  await Promise.all(both);
  expect(server.legs).toHaveLength(2);
  await keep(sessions.answer(sessionId, id, answers, use));
  await keep(sessions.withdraw(sessionId, id, use));
  await keep(sessions.answer(sessionId, "canary-unknown", answers, use));
  const later = agent("Done.");
  await keep(later.agent.generate({ messages, options }));
  const told = JSON.stringify(later.model.doGenerateCalls.map(({ prompt }) => prompt));
  const lists = [
    (await sessions.list({ ...use, sessionId })).sessions,
    await sessions.list(use),
    await sessions.admin.list(),
    await sessions.status(sessionId, use),
  ];
  const { records } = await store.list({ limit: 9 });
  return { id, told, lists, records };
}

/** All that a log, a trace or a metric can have of it. */
async function shown({ events, clientEvents, errors }: Application): Promise<string> {
  return [
    print(logged),
    print([...events, ...clientEvents]),
    print(errors),
    // The tracer's own fields hold nothing of ours.
    print(
      spans().map(({ name, attributes, events: of, status, links }) => [
        name,
        attributes,
        of,
        status,
        links,
      ]),
    ),
    print((await take()).map(({ descriptor, dataPoints }) => [descriptor, dataPoints])),
  ].join("\n");
}

const askWith = (state: string) => ({
  ...confirm,
  params: { ...confirm.params, message: `Yes? ${state}` },
});

type Reply = Parameters<typeof start>[0];
const content = (text: string) => [{ type: "text", text }];
const replies: [name: string, state: string, reply: Reply][] = [
  ["a result", "settled", undefined],
  [
    "a JSON-RPC error",
    "settled",
    (echo, token) => ({ error: { code: -32000, message: `${echo} ${token}`, data: { echo } } }),
  ],
  [
    "a refusal of the state",
    "expired",
    (echo) => ({
      error: { code: -32602, message: echo, data: { reason: "invalid_request_state", echo } },
    }),
  ],
  [
    "a tool's error",
    "settled",
    (echo) => ({
      result: {
        ...{ resultType: "complete", isError: true, structuredContent: { [echo]: [echo] } },
        content: [...content(echo), { type: "resource", resource: { uri: "note:1", text: echo } }],
      },
    }),
  ],
  [
    "400, as JSON-RPC",
    "settled",
    (echo) => ({
      status: 400,
      error: { code: -32000, message: echo, data: echo },
    }),
  ],
  ["400, as text", "withdrawn", (echo) => ({ status: 400, text: echo })],
  ["401, as text", "withdrawn", (echo) => ({ status: 401, text: echo })],
  ["500, as text", "outcome-unknown", (echo) => ({ status: 500, text: echo })],
  ["no JSON", "outcome-unknown", (echo) => ({ text: echo })],
];

describe("no requestState, answer, id or principal is in a log, event, span, metric or error", () => {
  test.each(replies)("when the server answers with %s", async (_, state, reply) => {
    const application = await start(reply);
    const { server, errors, results, asked } = application;
    const { id, told, lists, records } = await goThrough(application);

    expect(errors.length).toBeGreaterThan(5);
    const all = await shown(application);
    expect(all).toContain("waiting-call");
    expect(all).toContain("answer order_twice");
    expect(all).not.toMatch(/canary/);
    const states = server.states.map((each) => each.slice(0, 40));
    for (const secret of [...states, id]) expect(all).not.toContain(secret);

    // What an application is given on purpose.
    const given = [print(results), print(asked), print(lists)].join("\n");
    for (const secret of [...states, secretAnswer, "canary-token", "canary-provided"]) {
      expect(given).not.toContain(secret);
    }
    expect(print(lists)).not.toContain(id);
    expect(told).not.toContain("canary-token");
    expect(told).not.toContain("canary-provided");
    for (const secret of states) expect(told).not.toContain(secret);

    // The server got them, and the store kept them until the call was over.
    expect(JSON.stringify(server.legs.map(({ params }) => params))).toContain(secretAnswer);
    const kept = records.find(({ key }) => key.includes("waiting/"))!;
    expect(kept.value).toMatchObject({ state });
    // Some are in it as the model got them.
    for (const secret of states) expect(print(kept.value)).not.toContain(secret);
    expect(print(kept.value)).not.toContain("canary-token");
    expect(print(kept.value)).not.toContain(secretAnswer);
  });

  test("but a question is the server's own to word", async () => {
    const server = await startAskingServer({ question: askWith });
    const { url } = server;
    const sessions = createDurableSessions({
      connections: { shop: defineMcpClientConnection({ url, description: "A.", waiting: true }) },
      store: createMemoryStore(),
    });
    const model = scriptedModel([{ tool: "shop__order" }], "never");
    await createDurableAgent({ sessions, model }).generate({ prompt: "Order.", options });
    const [call] = callsOf(await sessions.waiting(sessionId, use));
    expect(call?.requests["confirm"]?.params).toMatchObject({
      message: `Yes? ${server.states[0]}`,
    });
  });
});
