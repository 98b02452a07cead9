import { setTimeout } from "node:timers/promises";
import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import type { WaitingCall, WaitingLimits } from "@durable-mcp/core/waiting";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import type { ModelMessage } from "ai";
import {
  createDurableSessions,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../src/index.ts";
import { collectEvents } from "./collect-events.ts";
import { type SlowKind, startSlowServer } from "../../sessions/test/slow-server.ts";
import { alice } from "./step.ts";
import type { majors } from "./waiting-tool.ts";

export const use = { principal: alice };
export const about = { topic: "tea" };
export const asked = { role: "user", content: "What of tea?" } as const;
/** The model's turn that calls the tool. */
export const calls: Turn = [{ tool: "lab__research", input: about }];
type Ai = (typeof majors)[number]["ai"];

interface LabOptions {
  readonly waiting?: WaitingLimits;
  readonly connection?: Partial<McpClientConnectionOptions>;
  readonly store?: SessionStore;
  readonly ttlMs?: number;
}

/** An application with a lab, whose calls last. */
export async function startLab(
  kind: SlowKind,
  { waiting, connection, store = createMemoryStore(), ttlMs }: LabOptions = {},
) {
  const slow = await startSlowServer(kind, { ttlMs });
  const { onEvent, events } = collectEvents();
  /** Of a process of its own. */
  const newSessions = (now?: () => number) =>
    createDurableSessions({
      connections: {
        lab: defineMcpClientConnection({
          ...{ url: slow.url, description: "A lab." },
          session: kind === "task of 2026-07-28" ? "stateless" : "stateful",
          waiting: { afterMs: 150, ...waiting },
          ...connection,
        }),
      },
      ...{ store, onEvent, now },
    });
  /** A step in a process of its own, with the messages of the one before. */
  const step = async (ai: Ai, messages: readonly ModelMessage[], ...turns: Turn[]) => {
    const model = scriptedModel(...turns);
    const after = await newSessions().run("chat", use, async (run) => {
      const resumed = await run.waiting.resume(messages, { tools: await run.tools() });
      if (!resumed.goesOn) return resumed.messages;
      const { tools } = resumed;
      const result = await ai.generateText({ model, tools, messages: resumed.messages });
      return [...resumed.messages, ...(result.response.messages as ModelMessage[])];
    });
    return { messages: after, asked: model.doGenerateCalls };
  };
  const list = async () => (await newSessions().waiting("chat", use)) as WaitingCall[];
  /** Until the call may be looked at. */
  const due = async () => {
    const [call] = await list();
    await setTimeout(Math.max(0, call!.pollAfter! - Date.now() + 20));
  };
  return { slow, store, events, newSessions, step, list, due };
}

export const resultsOf = (messages: readonly ModelMessage[]): string =>
  JSON.stringify(messages.filter(({ role }) => role === "tool"));
