import { createMemoryStore } from "@durable-mcp/core";
import { createOAuth } from "@durable-mcp/oauth";
import type { McpClientConnectionOptions } from "@durable-mcp/sessions";
import { createFaultyServer } from "@durable-mcp/testing";
import {
  Agent,
  type AgentInputItem,
  run as runAgent,
  type RunContext,
  type RunResult,
  type RunState,
  type StreamedRunResult,
} from "@openai/agents";
import {
  assistantMessage,
  functionCall,
  ScriptedModel,
  type ScriptedModelInput,
} from "@openai/agents/testing";
import { onTestFinished } from "vitest";
import {
  type AgentsTools,
  bindAgentsTools,
  type BindOptions,
  createDurableSessions,
  defineMcpClientConnection,
} from "../src/index.ts";

export const user = { type: "user", issuer: "https://app.test", id: "ada" } as const;
export const sure = { sure: { message: "Sure?", form: { yes: { type: "boolean" } } } };
export const yes = { sure: { action: "accept", content: { yes: true } } } as const;

export const order = (item: string, callId = `call-${item}`) =>
  functionCall("shop__order", { item }, { callId });
export const says = (text: string) => [assistantMessage(text)];

type Result = RunResult<any, any> | StreamedRunResult<any, any>;

interface StepOptions extends BindOptions {
  /** Changes the agent, which has the tools of the run and of the application. */
  readonly agent?: (bound: AgentsTools, model: ScriptedModel) => Agent<any, any>;
  readonly before?: (bound: AgentsTools) => Promise<void>;
  readonly run?: (
    agent: Agent<any, any>,
    input: RunState<any, any> | AgentInputItem[] | string,
  ) => Promise<Result>;
  readonly definition?: Partial<McpClientConnectionOptions<undefined>>;
  /** What the application's own code gets. */
  readonly context?: RunContext<any>;
}

/** A shop, and an application in which each step is a process of its own: it has the store, and what was saved. */
export async function startShop(
  turns: readonly ScriptedModelInput[],
  definition: Partial<McpClientConnectionOptions<undefined>> = {},
) {
  const tools = {
    order: ({ item }: { item: string }) => `Ordered ${item}.`,
    cancel: ({ item }: { item: string }) => `Cancelled ${item}.`,
  };
  const server = await createFaultyServer({ tools });
  onTestFinished(() => server.close());
  const store = createMemoryStore();
  const events: unknown[] = [];
  const redirectUrl = "http://localhost:3000/oauth/callback";
  const oauth = createOAuth({ store, keys: { current: new Uint8Array(32).fill(7) }, redirectUrl });
  const model = new ScriptedModel(turns);
  const sessions = (own: Partial<McpClientConnectionOptions<undefined>> = {}) =>
    createDurableSessions({
      connections: {
        shop: defineMcpClientConnection({
          ...{ url: server.url, description: "A shop.", waiting: true, ...definition, ...own },
        }),
      },
      ...{ store, onEvent: { every: (event: unknown) => void events.push(event) } },
    });
  const step = async (saved?: string, options: StepOptions = {}) => {
    const { before, definition: own, context, ...binding } = options;
    const { run: go = async (agent, input) => await runAgent(agent, input, { context }) } = options;
    const make =
      options.agent ?? ((bound) => new Agent({ name: "shop", model, tools: bound.tools }));
    return await sessions(own).run("chat", { principal: user }, async (run) => {
      const bound = await bindAgentsTools(run, saved, binding);
      await before?.(bound);
      const agent = make(bound, model);
      const { input = "Order tea.", goesOn, refused } = await bound.load(agent, context);
      const result = goesOn ? await go(agent, input as never) : undefined;
      // As a database would have it.
      const next = result ? await bound.save(result) : saved!;
      const held = await bound.held();
      return {
        ...{ saved: next, result, refused, goesOn, held },
        text: held.length > 0 ? undefined : result?.finalOutput,
      };
    });
  };
  return {
    ...{ server, store, oauth, model, events, sessions, step },
    items: () => server.ledger.map(({ tool, input }) => `${tool} ${input.item}`),
    answer: async (responses: object = yes) => {
      const entries = await sessions().waiting("chat", { principal: user });
      const call = entries.find(({ id }) => id !== undefined)!;
      await sessions().answer("chat", call.id!, responses as never, { principal: user });
    },
    /** What the user does in a browser. */
    signIn: async (consent: (url: string) => string | URL) => {
      const use = { principal: user, connection: "shop", url: server.url };
      const start = await oauth.start(new Request("http://localhost:3000/oauth/start"), use);
      await oauth.callback(new Request(consent(start.headers.get("location")!)), use);
    },
    waiting: async () => await sessions().waiting("chat", { principal: user }),
  };
}

/** What the model was given for its calls, by the ids of the calls. */
export const results = (history: readonly AgentInputItem[]) =>
  Object.fromEntries(
    history.flatMap((item) =>
      item.type === "function_call_result" ? [[item.callId, textIn(item.output)]] : [],
    ),
  );

const textIn = (output: unknown): unknown =>
  typeof output === "object" && output !== null && "text" in output ? output.text : output;
