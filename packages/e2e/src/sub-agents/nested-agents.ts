import {
  type AgentHistory,
  agentTool,
  createDurableAgent,
  type DurableSessions,
  stopWhenWaiting,
} from "@durable-mcp/ai-sdk";
import type { JsonValue, Principal, SessionStore } from "@durable-mcp/core";
import type { ModelMessage, ToolSet } from "ai";
import { z } from "zod";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { majors } from "../../../ai-sdk/test/waiting-tool.ts";
import { createNotesApplication } from "../authorization/notes-application.ts";
import { createNotesSessions } from "../authorization/parked-note.ts";
import * as shop from "../waiting/waiting-shop.ts";

/** Who keeps the sub-agent's messages: the waiting call, the application, or a durable agent. */
type Shape = "kept" | "own" | "durable";

/** What all processes of an application with a sub-agent agree on: plain JSON. */
export interface NestedUse {
  readonly shape: Shape;
  readonly major: number;
  readonly how: "generate" | "stream";
  /** What a call of the sub-agent waits for: an answer to the shop, or a sign-in at the notebook. */
  readonly waitsFor: "question" | "sign-in";
  /** Of the MCP server. */
  readonly url: string;
  readonly sessionId: string;
}

/** What a process does: "answer" is a person's. */
export type Work = "ask" | "answer" | "resume";

interface Parts {
  readonly store: SessionStore;
  /** Makes the requests to the MCP server. */
  readonly fetch?: typeof fetch;
  readonly now?: () => number;
}

/** What the root agent's conversation is after a process, and what the models were told there. */
export interface NestedResult {
  readonly messages: readonly ModelMessage[];
  readonly rootTold: readonly string[];
  readonly innerTold: readonly string[];
}

export const start: readonly ModelMessage[] = [{ role: "user", content: "Have it done." }];
const delegate: Turn = [{ tool: "delegate", input: { prompt: "Do it." } }];

/** One process of the application. */
export async function work(
  what: Work,
  use: NestedUse,
  parts: Parts & { readonly messages: readonly ModelMessage[] },
): Promise<NestedResult> {
  const application = openApplication(use, parts);
  if (what === "answer") {
    await application.answer();
    return { messages: parts.messages, rootTold: [], innerTold: [] };
  }
  const { call } = application;
  const turns: Record<typeof what, [root: Turn, inner: Turn]> = {
    ask: [delegate, call(use.sessionId)],
    resume: ["The root is done.", "It is done."],
  };
  const [model, inner] = turns[what].map((turn) => scriptedModel(turn, "never")) as Pair;
  const run = use.shape === "durable" ? runDurable : runInWrapper;
  const response = await run(use, { ...parts, ...application, model, inner });
  const messages = JSON.parse(JSON.stringify(response)) as ModelMessage[];
  return { messages, rootTold: toolResults(model), innerTold: toolResults(inner) };
}

/** Has a user sign in, and opens the chat's session. The server has the user's grants revoked before a call waits. */
export async function signInBefore(use: NestedUse, parts: Parts): Promise<void> {
  const { sessions, principal, answer } = openApplication(use, parts);
  await answer();
  await sessions.run(use.sessionId, { principal }, (run) => run.tools());
}

/** What waits of a chat, as any process sees it. */
export async function waitingOf(use: NestedUse, parts: Parts) {
  const { sessions, principal } = openApplication(use, parts);
  return await sessions.waiting(use.sessionId, { principal });
}

interface Application {
  readonly sessions: DurableSessions;
  readonly principal: Principal;
  /** What the sub-agent's model says. */
  readonly call: (text: string) => Turn;
  /** What the person does. */
  readonly answer: () => Promise<void>;
}

function openApplication({ url, sessionId, waitsFor }: NestedUse, parts: Parts): Application {
  const { store, now } = parts;
  const fetch = parts.fetch && { fetch: parts.fetch };
  if (waitsFor === "question") {
    const sessions = shop.createShop({ url, store, ...fetch, ...(now && { now }) });
    const { principal } = shop;
    return {
      ...{ sessions, principal },
      call: (item) => [{ tool: "shop__place_order", input: { item } }],
      async answer() {
        for (;;) {
          const entries = await sessions.waiting(sessionId, { principal });
          const [question] = entries.filter(({ type }) => type === "question");
          if (question === undefined || question.type === "sign-in") return;
          await shop.answer(sessions, sessionId, question);
        }
      },
    };
  }
  const notes = { url, redirectUrl: "http://127.0.0.1:10239/callback", user: sessionId };
  const application = createNotesApplication(notes, { store });
  const sessions = createNotesSessions(notes, {
    ...{ application, store, ...fetch, ...(now && { now }) },
  });
  return {
    ...{ sessions, principal: application.principal, answer: application.signIn },
    call: (text) => [{ tool: "notes__add_note", input: { text } }],
  };
}

type Pair = [ReturnType<typeof scriptedModel>, ReturnType<typeof scriptedModel>];
type Models = Record<"model" | "inner", ReturnType<typeof scriptedModel>>;
type Step = Application & Models & Parts & { readonly messages: readonly ModelMessage[] };

/** `generateText` or `streamText` around a `ToolLoopAgent` in `agentTool`, in AI SDK 6 or 7. */
async function runInWrapper(
  use: NestedUse,
  { sessions, principal, model, inner, messages: before, store }: Step,
) {
  const { ai } = majors.find(({ major }) => major === use.major)!;
  return await sessions.run(use.sessionId, { principal }, async (run) => {
    const own = (await run.tools()) as ToolSet;
    const agent = new ai.ToolLoopAgent({
      id: "delegate",
      model: inner,
      tools: own,
      ...stopWhenWaiting(),
    });
    const wrapped = agentTool({
      ...{ description: "Delegates.", agent },
      ...(use.shape === "own" && { history: historyIn(store) }),
      ...(use.how === "stream" && { stream: true as const }),
    });
    const tools = { ...own, delegate: wrapped as ToolSet[string] };
    const { messages, goesOn } = await run.waiting.resume(before, { tools });
    if (!goesOn) return messages;
    const stop = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });
    const settings = { model, tools, messages: [...messages], ...stop };
    if (use.how === "generate") {
      const { response, responseMessages } = await ai.generateText(settings);
      return [...messages, ...(responseMessages ?? response.messages)];
    }
    const result = ai.streamText(settings);
    await result.consumeStream();
    const response = await result.response;
    return [...messages, ...((await result.responseMessages) ?? response.messages)];
  });
}

/** A durable agent in a tool of another, without further code. */
async function runDurable(
  { sessionId, how }: NestedUse,
  { sessions, principal, model, inner, messages: before }: Step,
) {
  const options = { sessionId, principal };
  const helper = createDurableAgent({ sessions, model: inner });
  const delegateTool = {
    inputSchema: z.object({ prompt: z.string() }),
    execute: async ({ prompt }: { prompt: string }) =>
      (await helper.generate({ prompt, options })).text,
  };
  const root = createDurableAgent({ sessions, model, tools: { delegate: delegateTool } });
  const messages = [...before];
  if (how === "generate") {
    const { responseMessages } = await root.generate({ messages, options });
    return [...messages, ...responseMessages];
  }
  const result = await root.stream({ messages, options });
  await result.consumeStream();
  return [...messages, ...(await result.responseMessages)];
}

/** An application that keeps the messages of its sub-agents itself. */
function historyIn(store: SessionStore): AgentHistory {
  return {
    load: async (key) => (await store.get(`history/${key}`))?.value as unknown as ModelMessage[],
    async save(key, messages) {
      const before = await store.get(`history/${key}`);
      const value = JSON.parse(JSON.stringify(messages)) as JsonValue;
      await store.put(`history/${key}`, value, before?.revision ?? null, { owner: "application" });
    },
  };
}
