import { createMemoryStore } from "@durable-mcp/core";
import {
  type Agent,
  createAgentUIStreamResponse,
  type InferAgentUIMessage,
  Output,
  tool,
  type ToolSet,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  createConnectionProvider,
  type createDurableSessions,
  defineMcpClientConnection,
} from "../index.ts";
import { type McpClientConnection } from "../../../sessions/src/declare/define-connection.ts";
import type { DurableAgentSession } from "./agent-sessions.ts";
import { createDurableAgent } from "./durable-agent.ts";
import { createDurableAgentUIStreamResponse } from "./durable-agent-ui-stream.ts";

const url = "http://127.0.0.1/mcp";
const plain = defineMcpClientConnection({ url, description: "No schemas." });
const math = defineMcpClientConnection({
  url,
  description: "A calculator.",
  schemas: {
    add: {
      inputSchema: z.object({ a: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
  },
});
const clock = tool({ inputSchema: z.object({ zone: z.string() }), execute: () => 12 });

declare const create: typeof createDurableSessions;
const sessionsOf = <C extends Record<string, McpClientConnection>>(connections: C) =>
  create({ provider: createConnectionProvider({ connections }), store: {} as never });
const model = new MockLanguageModelV4();
const session: DurableAgentSession = { sessionId: "chat-1", principal: { type: "app" } };

describe("a durable agent", () => {
  const agent = createDurableAgent({ sessions: sessionsOf({ math }), model, tools: { clock } });

  test("is an agent of the AI SDK", () => {
    expectTypeOf(agent).toExtend<Agent<DurableAgentSession, any, any, any>>();
  });

  test("takes the session with each call", () => {
    type Call = Parameters<typeof agent.stream>[0];
    expectTypeOf<{ prompt: string; options: DurableAgentSession }>().toExtend<Call>();
    void (() => agent.generate({ prompt: "", options: session }));
    // @ts-expect-error options are missing
    void (() => agent.generate({ prompt: "" }));
    // @ts-expect-error the principal is missing
    void (() => agent.stream({ prompt: "", options: { sessionId: "chat-1" } }));
    // @ts-expect-error there is no such option
    void (() => agent.generate({ prompt: "", options: { ...session, tone: "kind" } }));
  });

  test("knows its own tools and those of connections with schemas", async () => {
    type Result = Awaited<ReturnType<typeof agent.generate>>;
    type Call = Result["staticToolCalls"][number];
    expectTypeOf<Call["toolName"]>().toEqualTypeOf<"clock" | "math__add">();
    type Add = Extract<Call, { toolName: "math__add" }>;
    expectTypeOf<Add["input"]>().toEqualTypeOf<{ a: number }>();
    type Clock = Extract<Call, { toolName: "clock" }>;
    expectTypeOf<Clock["input"]>().toEqualTypeOf<{ zone: string }>();
  });

  test("knows the parts of its UI messages", () => {
    type Part = InferAgentUIMessage<typeof agent>["parts"][number];
    type Add = Extract<Part, { type: "tool-math__add"; state: "output-available" }>;
    expectTypeOf<Add["output"]>().toEqualTypeOf<{ sum: number }>();
  });

  test("knows its own tools where no connection has schemas", () => {
    const own = createDurableAgent({ sessions: sessionsOf({ plain }), model, tools: { clock } });
    expectTypeOf<keyof typeof own.tools>().toEqualTypeOf<"clock">();
    const none = createDurableAgent({ sessions: sessionsOf({ plain }), model });
    expectTypeOf<typeof none.tools>().toEqualTypeOf<ToolSet>();
  });
});

test("call options of its own stand beside the session's", () => {
  const agent = createDurableAgent({
    sessions: sessionsOf({ plain }),
    model,
    callOptionsSchema: z.object({ tone: z.string() }),
    prepareCall: ({ options, ...call }) => {
      expectTypeOf(options).toEqualTypeOf<DurableAgentSession & { tone: string }>();
      return call;
    },
  });
  void (() => agent.generate({ prompt: "", options: { ...session, tone: "kind" } }));
  // @ts-expect-error the agent's own option is missing
  void (() => agent.generate({ prompt: "", options: session }));
});

test("the output is that of the settings", async () => {
  const agent = createDurableAgent({
    sessions: sessionsOf({ plain }),
    model,
    output: Output.object({ schema: z.object({ total: z.number() }) }),
  });
  type Result = Awaited<ReturnType<typeof agent.generate>>;
  expectTypeOf<Result["output"]>().toEqualTypeOf<{ total: number }>();
});

test("settings have no unknown keys, and tools are named as they are known", () => {
  const sessions = sessionsOf({ math });
  expectTypeOf(createDurableAgent({ sessions, model })).toHaveProperty("open");
  // @ts-expect-error instruction is a typo of instructions
  createDurableAgent({ sessions, model, instruction: "Be kind." });
  createDurableAgent({ sessions, model, activeTools: ["math__add"] });
  // @ts-expect-error there is no such tool
  createDurableAgent({ sessions, model, activeTools: ["math__ad"] });
  // @ts-expect-error sessions are missing
  createDurableAgent({ model });
});

test("connections and a store take the place of sessions", () => {
  const store = createMemoryStore();
  const agent = createDurableAgent({ connections: { math }, store, model, tools: { clock } });
  expectTypeOf<keyof typeof agent.tools>().toEqualTypeOf<"clock" | "math__add">();
  type Selection = Parameters<typeof agent.sessions.end>[1];
  expectTypeOf<Selection["connection"]>().toEqualTypeOf<"math" | undefined>();
  createDurableAgent({ connections: { math }, store, model, activeTools: ["math__add"] });
  createDurableAgent({
    connections: { math },
    store,
    pool: {},
    agent: "planner",
    onEvent: (event) => expectTypeOf(event.connection).toEqualTypeOf<string>(),
    model,
    telemetry: { isEnabled: true },
  });
  // @ts-expect-error the store is missing
  createDurableAgent({ connections: { math }, model });
  // @ts-expect-error both
  createDurableAgent({ connections: { math }, store, sessions: sessionsOf({ math }), model });
  // @ts-expect-error the sessions have a store
  createDurableAgent({ store, sessions: sessionsOf({ math }), model });
});

describe("a stream of UI messages", () => {
  const agent = createDurableAgent({ sessions: sessionsOf({ math }), model });

  test("takes the agent, the messages and the session", () => {
    expectTypeOf(() =>
      createDurableAgentUIStreamResponse({ agent, uiMessages: [], options: session }),
    ).returns.resolves.toEqualTypeOf<Response>();
    // @ts-expect-error options are missing
    void (() => createDurableAgentUIStreamResponse({ agent, uiMessages: [] }));
  });

  test("is what AI SDK's helper makes of an open agent", () => {
    expectTypeOf(async () => {
      await using open = await agent.open(session);
      return await createAgentUIStreamResponse({ agent: open, uiMessages: [] });
    }).returns.resolves.toEqualTypeOf<Response>();
  });
});
