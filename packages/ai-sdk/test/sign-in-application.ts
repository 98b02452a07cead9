import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { ModelMessage, ToolSet } from "ai";
import type { DurableSessionsOptions, McpClientConnectionOptions } from "../src/index.ts";
import { createDurableSessions, defineMcpClientConnection, stopWhenWaiting } from "../src/index.ts";
import { type AskingServer, startAskingServer } from "../../sessions/test/asking-server.ts";
import { collectEvents } from "./collect-events.ts";
import type { ReceivedRequest } from "../../core/test/http-server.ts";
import { answer, startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { createSignIns } from "./sign-ins.ts";
import { startSseServer } from "../../sessions/test/sse-server.ts";
import { alice } from "./step.ts";
import { majors } from "./waiting-tool.ts";

type Ai = (typeof majors)[number]["ai"];
export const { ai: ai7 } = majors[1]!;

type Options = Partial<McpClientConnectionOptions> & {
  readonly ai?: Ai;
  readonly sessionsOptions?: Partial<DurableSessionsOptions<any>>;
};

export const use = { principal: alice };
export const user: ModelMessage = { role: "user", content: "Work." };
export const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Counts what is asked of a store. */
export function countedStore(store: SessionStore, operations: string[]): SessionStore {
  return new Proxy(store, {
    get(target, name: keyof SessionStore) {
      const own = target[name] as (...args: unknown[]) => unknown;
      if (typeof own !== "function") return own;
      return (...args: unknown[]) => {
        operations.push(name);
        return own.apply(target, args);
      };
    },
  });
}

/** An application with one connection, `work`, to a server that needs a sign-in. Each step is a process of its own. */
function startApplication(
  url: string,
  log: string[],
  signIns: ReturnType<typeof createSignIns>,
  { ai = ai7, sessionsOptions, ...options }: Options,
) {
  const operations: string[] = [];
  const store = countedStore(createMemoryStore(), operations);
  const { onEvent, events } = collectEvents();
  const { auth } = signIns;
  const connection = (own: Options = {}) =>
    defineMcpClientConnection({ url, description: "Work.", auth, ...options, ...own });
  const sessions = (own: Partial<DurableSessionsOptions<any>> = {}) =>
    createDurableSessions({
      connections: { work: connection() },
      ...{ store, onEvent, ...sessionsOptions },
      ...own,
    } as DurableSessionsOptions<any>);
  return {
    ...{ sessions, connection, events, store, log, url, signIns },
    /** What was sent and stored since the last look. */
    take: () => ({ sent: log.splice(0), stored: operations.splice(0) }),
    calls: () => log.filter((each) => each === "POST tools/call"),
    signIn: async () => await signIns.signIn(alice, new URL(url).href),
    waiting: async () => await sessions().waiting("chat", use),
    async step(before: readonly ModelMessage[], turns: readonly Turn[] = [], of = sessions()) {
      const model = scriptedModel(...turns);
      const after = await of.run("chat", use, async (run) => {
        const tools = await run.tools();
        const { messages, stillWaiting } = await run.waiting.resume(before, { tools });
        if (stillWaiting.length > 0) return messages;
        const stop = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });
        const given = { model, tools: tools as ToolSet, messages };
        const result = await ai.generateText({ ...given, ...stop });
        return [...messages, ...(result.responseMessages ?? result.response.messages)];
      });
      return { messages: asJson(after), model, told: toolResults(model) };
    },
  };
}

const scopes = { list_notes: "notes.read", look: "orders.read", order: "orders.write" };

function startGuarded() {
  const signIns = createSignIns({ scopes });
  const log: string[] = [];
  const guard: typeof signIns.guard = (request: ReceivedRequest, response) => {
    log.push(`${request.method} ${request.message?.method ?? ""}`.trim());
    return signIns.guard(request, response);
  };
  return { signIns, log, guard };
}

/** With the stateful notebook server. Its tool `list_notes` needs a scope. */
export async function startLockedNotebook(
  options: Options = {},
  notebook: Parameters<typeof startNotebookServer>[0] = {},
) {
  const { signIns, log, guard } = startGuarded();
  const server = await startNotebookServer(notebook);
  server.intercept(guard);
  const app = startApplication(server.url, log, signIns, { session: "stateful", ...options });
  return { ...app, server };
}

/** With the server of revision 2026-07-28 that asks. Its tools `look` and `order` need a scope. */
export async function startLockedShop(
  options: Options = {},
  shop: Parameters<typeof startAskingServer>[0] = {},
) {
  const { signIns, log, guard } = startGuarded();
  const server: AskingServer = await startAskingServer({ ...shop, guard });
  return { ...startApplication(server.url, log, signIns, options), server };
}

function registerLook(mcp: McpServer): void {
  mcp.registerTool("look", { description: "Looks." }, () => answer("found"));
}

/** With a server that only knows HTTP+SSE. Its tool `look` needs a scope. */
export async function startLockedOldServer(options: Options = {}) {
  const { signIns, log, guard } = startGuarded();
  const server = await startSseServer(404, registerLook, guard);
  return { ...startApplication(server.url, log, signIns, options), server };
}

export type LockedApplication = ReturnType<typeof startApplication>;

/**
 * A conversation in which these calls wait. The user was signed in, and is not any more, or lacks a scope where the
 * tools can only be listed by a user who is.
 */
export async function parkCalls(
  app: LockedApplication,
  turn: Exclude<Turn, string>,
): Promise<ModelMessage[]> {
  await app.signIn();
  await app.step([user], ["Hello."]);
  if (app.connection().options.session === "stateful") app.signIns.revokeAll();
  app.take();
  return (await app.step([user], [turn])).messages;
}

export const addNote = (text: string) => ({ tool: "work__add_note", input: { text } });
