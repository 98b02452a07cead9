/** A process that takes the steps of several chats, all at once, and may be frozen meanwhile. */
import type { ConnectionEvent } from "@durable-mcp/ai-sdk";
import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import { openStoreAt } from "../durable/store-place.ts";
import type { Call, Chat, ChatOptions } from "./chat.ts";
import type { FrozenChatsReport, FrozenChatsTask, ToldChat } from "./frozen-chats-protocol.ts";
import { describe } from "./judge.ts";
import { createSessions } from "./open-step.ts";
import { createChat } from "./run-step.ts";

const report = (message: FrozenChatsReport) => void process.send!(message);
const chats = new Map<string, Chat>();
let freezesAt: string | undefined;
let chatOf: (id: string) => Chat;

process.on("message", (task: FrozenChatsTask) => {
  const work = task.type === "open" ? open(task) : step(task);
  work.catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});

async function open({ place, url, times }: FrozenChatsTask & { type: "open" }): Promise<void> {
  const opened = await openStoreAt(place, { timeoutMs: times.storeMs - 200 });
  /** Freezes the process when the operation is on its way. */
  const freezing = async <T>(operation: string, working: Promise<T>) => {
    if (operation === freezesAt) {
      freezesAt = undefined;
      report({ type: "freezing" });
      process.kill(process.pid, "SIGSTOP");
    }
    return await working;
  };
  const store: SessionStore = {
    ...opened.store,
    get: (key) => freezing("get", opened.store.get(key)),
    // Chats that are read at once are read together.
    ...(opened.store.getMany && {
      getMany: (keys) => freezing("get", opened.store.getMany!(keys)),
    }),
    put: (...args) => freezing("put", opened.store.put(...args)),
  };
  // The chats share what this process knows of the server.
  const listeners = new Set<(event: ConnectionEvent) => void>();
  const options = { url, store, times };
  const sessions = createSessions(options, (event) => listeners.forEach((listen) => listen(event)));
  const sessionsOf: ChatOptions["sessionsOf"] = (onEvent) => {
    listeners.add(onEvent!);
    return sessions;
  };
  chatOf = (id) => createChat({ id, ...options, sessionsOf });
  report({ type: "ready" });
}

async function step({ ids, plan, ...task }: FrozenChatsTask & { type: "step" }): Promise<void> {
  freezesAt = task.freezesAt;
  const stepping = ids.map((id) => {
    const chat = chats.get(id) ?? chatOf(id);
    chats.set(id, chat);
    return chat;
  });
  await Promise.all(stepping.map((chat) => chat.step(plan)));
  report({ type: "stepped", chats: stepping.map(tell) });
}

function tell({ options: { id }, calls, log, faults, notes }: Chat): ToldChat {
  return { id, log, faults, notes, calls: calls.map(tellCall) };
}

function tellCall({ outcome, ...call }: Call): ToldChat["calls"][number] {
  if (outcome.type === "answered") return { ...call, outcome };
  const errors = outcome.type === "no tool" ? outcome.events.map(errorOf) : [];
  const error = outcome.type === "failed" ? outcome.error : errors.find(Boolean);
  const code = McpSessionError.isInstance(error) ? error.code : "error";
  const words = error === undefined ? outcome.type : describe(error);
  return { ...call, outcome: { type: "not answered", code, words } };
}

function errorOf(event: object): unknown {
  return "error" in event ? event.error : undefined;
}
