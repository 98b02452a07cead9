import {
  type ConnectionTelemetry,
  createDurableSessions,
  type ConnectionRun,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import type { InputResponses, WaitingLimits } from "@durable-mcp/core/waiting";
import { Command, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { AIMessage, createAgent, fakeModel, HumanMessage } from "langchain";
import { startAskingServer } from "../../sessions/test/asking-server.ts";
import { alice } from "../../ai-sdk/test/step.ts";
import { sessionToolsMiddleware } from "../src/session-tools-middleware.ts";
import { loadSessionTools, type SessionToolsOptions, type WaitingInterrupt } from "../src/index.ts";

type ToolCalls = Parameters<ReturnType<typeof fakeModel>["respondWithTools"]>[0];
type AskingOptions = Parameters<typeof startAskingServer>[0];

export const accept = (ok: unknown): InputResponses => ({
  confirm: { action: "accept", content: { ok } },
});

interface State {
  readonly messages?: readonly { readonly type: string; readonly content: unknown }[];
  readonly __interrupt__?: readonly { readonly id?: string; readonly value?: unknown }[];
}

export const results = ({ messages = [] }: State): unknown[] =>
  messages.filter(({ type }) => type === "tool").map(({ content }) => content);

export const questions = ({ __interrupt__: interrupts = [] }: State) =>
  interrupts.map(({ value }) => value as WaitingInterrupt);

export const order = (item: string, name = "order") => ({
  name: `shop__${name}`,
  args: { item },
  id: `call-${item}`,
});

interface Uses {
  now?: () => number;
  fetch?: typeof globalThis.fetch;
  telemetry?: ConnectionTelemetry;
}

/** A shop whose server asks, and an application in which each step is a process of its own. */
export async function startShop(
  server: AskingOptions = {},
  { now = Date.now, fetch = globalThis.fetch, telemetry, ...limits }: WaitingLimits & Uses = {},
) {
  const shop = await startAskingServer(server);
  const store = createMemoryStore();
  const events: unknown[] = [];
  const { url } = shop;
  const definition = { url, description: "A shop.", waiting: limits, fetch };
  const sessions = () =>
    createDurableSessions({
      connections: { shop: defineMcpClientConnection(definition) },
      ...{ store, now },
      ...(telemetry && { telemetry }),
      onEvent: { every: (event) => events.push(event) },
    });
  const use = { principal: alice };
  const step = async <RESULT>(
    work: (run: ConnectionRun<any>) => Promise<RESULT>,
  ): Promise<RESULT> => await sessions().run("chat", use, work);
  return {
    ...{ shop, events, step },
    waiting: async () =>
      (await sessions().waiting("chat", use)).filter((entry) => entry.id !== undefined),
    answer: async (id: string, responses: InputResponses) =>
      await sessions().answer("chat", id, responses, use),
    withdraw: async (id: string) => await sessions().withdraw("chat", id, use),
    /** The legs as the server got them: the arguments, and the answers. */
    legs: () => shop.legs.map(({ params }) => [params.arguments?.["item"], params.inputResponses]),
  };
}

/** The ways to go on with a graph. */
export function resuming(run: (input: unknown) => Promise<State>) {
  return {
    run,
    resume: (resume: unknown) => run(new Command({ resume })),
    /** Answers the interrupts of a state by their ids. */
    answerAll: ({ __interrupt__: interrupts = [] }: State, responses: InputResponses) =>
      run(new Command({ resume: Object.fromEntries(interrupts.map(({ id }) => [id, responses])) })),
  };
}

type Step = <RESULT>(work: () => Promise<RESULT>) => Promise<RESULT>;

/** An agent that calls what it is told. Each run of it is a step, and is told by an agent that is made anew. */
export function createToldAgent(
  step: Step,
  turns: readonly ToolCalls[],
  {
    middleware = [],
    checkpointer = new MemorySaver(),
  }: { middleware?: readonly unknown[] | undefined; checkpointer?: MemorySaver } = {},
) {
  const model = turns
    .reduce((said, calls) => said.respondWithTools(calls), fakeModel())
    .respond(new AIMessage("Done."))
    // For a graph that runs twice at once.
    .respond(new AIMessage("Done."));
  const config = { configurable: { thread_id: "chat" } };
  const run = async (input: unknown, within = step): Promise<State> => {
    const agent = createAgent({
      ...{ model, checkpointer },
      middleware: [sessionToolsMiddleware(), ...(middleware as never[])],
    });
    return await within(async () => (await agent.invoke(input as never, config)) as State);
  };
  return {
    ...{ model, checkpointer },
    ...resuming(run),
    run,
    start: () => run({ messages: [new HumanMessage("Go.")] }),
    /** Runs the graph again where it stopped, with nothing new. */
    goOn: (within = step) => run(null, within),
  };
}

/** A graph of the application's own, whose one task makes all calls of a message. */
export function createToolNode(step: Step, options: SessionToolsOptions = {}) {
  const checkpointer = new MemorySaver();
  const run = async (input: unknown, thread = "chat"): Promise<State> =>
    await step(async () => {
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("tools", new ToolNode(await loadSessionTools(undefined, options)))
        .addEdge("__start__", "tools")
        .compile({ checkpointer });
      return await graph.invoke(input as never, { configurable: { thread_id: thread } });
    });
  const start = (calls: ToolCalls, thread?: string) => {
    const tool_calls = calls.map((call) => ({ ...call }));
    return run({ messages: [new AIMessage({ content: "", tool_calls })] }, thread);
  };
  return { ...resuming(run), run, start };
}

/** An agent on that shop. */
export async function startAgent(
  turns: readonly ToolCalls[],
  server?: AskingOptions,
  { middleware, ...limits }: Parameters<typeof startShop>[1] & { middleware?: unknown[] } = {},
) {
  const application = await startShop(server, limits);
  return { ...application, ...createToldAgent(application.step, turns, { middleware }) };
}
