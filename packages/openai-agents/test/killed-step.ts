/** A step of an agent in a process of its own, which a test may kill. */
import { createOAuth } from "@durable-mcp/oauth";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { StepContext } from "@durable-mcp/testing";
import { Agent, type AgentInputItem, run as runAgent } from "@openai/agents";
import { ScriptedModel, type ScriptedModelInput } from "@openai/agents/testing";
import { bindAgentsTools, createDurableSessions, defineMcpClientConnection } from "../src/index.ts";

const principal = { type: "user", issuer: "https://app.test", id: "ada" } as const;

export interface KilledInput {
  readonly url: string;
  readonly path: string;
  readonly saved?: string;
  readonly turns: readonly ScriptedModelInput[];
  /** Whether a person has to approve calls. */
  readonly asks?: boolean;
  /** @default "stateless" */
  readonly session?: "stateful";
  /** The call that was approved. */
  readonly approved?: string;
}

/** What the agent and its user have, in whatever process. */
export function open(
  { url, path, session }: Pick<KilledInput, "url" | "path" | "session">,
  context?: StepContext,
) {
  const opened = createSqliteStore({ path, now: context?.now });
  const store = context?.watch(opened) ?? opened;
  const keys = { current: new Uint8Array(32).fill(7) };
  const redirectUrl = "http://localhost:3000/oauth/callback";
  const oauth = createOAuth({ store, keys, redirectUrl, fetch: context?.fetch, now: context?.now });
  const shop = defineMcpClientConnection({
    ...{ url, description: "A shop.", auth: oauth, waiting: { record: "first" }, session },
    fetch: context?.fetch,
  });
  const sessions = createDurableSessions({
    ...{ connections: { shop }, store, onEvent() {}, now: context?.now },
  });
  const use = { principal, connection: "shop", url };
  return {
    sessions,
    close: () => opened.close(),
    answer: async (responses: object) => {
      const [call] = (await sessions.waiting("chat", { principal })).filter(({ id }) => id);
      await sessions.answer("chat", call!.id!, responses as never, { principal });
    },
    signIn: async (consent: (url: string) => string | URL) => {
      const start = await oauth.start(new Request("http://localhost:3000/oauth/start"), use);
      return await oauth.callback(new Request(consent(start.headers.get("location")!)), use);
    },
  };
}

export default async function step(input: KilledInput, context: StepContext) {
  const { saved, turns, asks = false, approved } = input;
  const { sessions, close } = open(input, context);
  const result = await sessions.run("chat", { principal }, async (run) => {
    const bound = await bindAgentsTools(run, saved, { approval: () => asks });
    if (approved) await bound.approve(approved);
    const agent = new Agent({ name: "shop", model: new ScriptedModel(turns), tools: bound.tools });
    const { input: state = "Go.", goesOn } = await bound.load(agent);
    if (!goesOn) return { saved: saved!, results: [] };
    const done = await runAgent(agent, state);
    const outputs = done.history.flatMap((item: AgentInputItem) =>
      item.type === "function_call_result" ? [JSON.stringify(item.output)] : [],
    );
    return { saved: await bound.save(done), results: outputs };
  });
  await close();
  return result;
}
