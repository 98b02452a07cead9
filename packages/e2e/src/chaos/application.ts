import * as present from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import type { WaitingCall, WaitingEntry } from "@durable-mcp/core/waiting";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import type { ModelMessage, ToolSet } from "ai";
import { createSignIns } from "../../../ai-sdk/test/sign-ins.ts";
import { majors } from "../../../ai-sdk/test/waiting-tool.ts";
import { type Kind, principalOf } from "./lab-servers.ts";

const key = new Uint8Array(32).fill(33);

/** What all processes agree on of a chat: plain JSON. */
export interface ChatUse {
  readonly chat: string;
  readonly kind: Kind;
  readonly url: string;
  readonly record: "late" | "first";
  readonly whileWaiting: "reply" | "hold" | "withdraw";
  /** Which session a sub-agent has that makes the calls. @default the agent makes them itself */
  readonly nested?: "inherit" | "isolate" | "named" | "shared" | undefined;
  readonly major: number;
  readonly how: "generate" | "stream";
  /** How long a step waits for a slow call, in milliseconds. */
  readonly afterMs: number;
}

/** What a process is asked to do in a chat. */
export type Command =
  | {
      readonly do: "step";
      readonly messages: readonly ModelMessage[];
      /** What the model calls at first, by tool call id. Then it says "Seen." */
      readonly calls: Readonly<Record<string, string>>;
    }
  | { readonly do: "look" | "due" | "waiting" }
  | { readonly do: "answer"; readonly call: WaitingCall; readonly year: string | undefined }
  | { readonly do: "withdraw"; readonly id: string };

export interface CommandParts {
  readonly store: SessionStore;
  readonly fetch: typeof globalThis.fetch;
  /** How far the clock of the process is ahead. */
  readonly aheadMs: number;
  readonly onOpen?: (sessions: Pick<present.DurableSessions, "shutdown">) => void;
  /** An older release, which runs beside this one. */
  readonly release?: Pick<
    typeof present,
    "createDurableSessions" | "defineMcpClientConnection" | "agentTool" | "stopWhenWaiting"
  >;
}

/** Gives messages, waiting entries, or the state of an answered call. */
export async function carryOut(use: ChatUse, command: Command, parts: CommandParts) {
  const { chat } = use;
  const sessions = openSessions(use, parts);
  parts.onOpen?.(sessions);
  const user = { principal: principalOf(chat) };
  switch (command.do) {
    case "step":
      return await takeStep(sessions, use, command, parts.release ?? present);
    case "look":
      return await sessions.check(chat, user);
    case "due": {
      const looked: WaitingCall[] = [];
      for await (const { reference } of sessions.admin.due()) {
        const checked = await sessions.admin.check(reference);
        if (checked) looked.push(checked.call);
      }
      return looked;
    }
    case "waiting":
      return await sessions.waiting(chat, user);
    case "withdraw":
      return await sessions.withdraw(chat, command.id, user);
    default: {
      const { id, requests, round } = command.call;
      const { year } = command;
      const content = use.kind === "question" ? { ok: true } : { year };
      const response =
        year === undefined
          ? { action: "decline" as const }
          : { action: "accept" as const, content };
      const responses = Object.fromEntries(Object.keys(requests).map((name) => [name, response]));
      return await sessions.answer(chat, id, responses, { ...user, round });
    }
  }
}

export type CommandResult = readonly ModelMessage[] | readonly WaitingEntry[] | WaitingCall;

function openSessions(
  { kind, url, record, afterMs, chat, nested }: ChatUse,
  { store, fetch, aheadMs, release }: CommandParts,
): present.DurableSessions {
  const { defineMcpClientConnection, createDurableSessions } = release ?? present;
  const hasSession = kind === "stream" || kind === "task of 2025-11-25";
  const isStateful = hasSession || nested === "named" || nested === "shared";
  // An older release knows another option.
  const waits = release ? { input: "pause" } : { waiting: { afterMs, record } };
  return createDurableSessions({
    connections: {
      lab: defineMcpClientConnection({
        ...{ url, fetch, description: "A lab." },
        session: isStateful ? "stateful" : "stateless",
        ...(kind === "sign-in" && { auth: createSignIns({ store }).auth }),
        timeouts: { connectMs: 8_000, answerMs: 8_000, callMs: 12_000 },
        ...waits,
      }),
    },
    store: encryptStore(store, { keys: { current: key }, fingerprintKey: key }),
    agent: chat,
    now: () => Date.now() + aheadMs,
    onEvent: () => undefined,
    ...{ storeTimeoutMs: 4_000, closeTimeoutMs: 2_500 },
  });
}

const tools: Readonly<Record<Kind, string>> = {
  question: "lab__order",
  "sign-in": "lab__look",
  "task of 2025-11-25": "lab__research",
  "task of 2026-07-28": "lab__research",
  stream: "lab__research",
};

const modes = {
  inherit: "inherit",
  isolate: "isolate",
  named: { named: "second" },
  shared: { shared: "all" },
} as const;

async function takeStep(
  sessions: present.DurableSessions,
  { chat, kind, nested, major, how, whileWaiting }: ChatUse,
  { messages: before, calls }: Extract<Command, { do: "step" }>,
  { agentTool, stopWhenWaiting }: NonNullable<CommandParts["release"]>,
): Promise<ModelMessage[]> {
  const { ai } = majors.find((each) => each.major === major)!;
  const call = (topic: string, toolCallId?: string) => ({
    ...{ tool: tools[kind], input: { topic, item: topic } },
    ...(toolCallId !== undefined && { toolCallId }),
  });
  const first: Turn = Object.entries(calls).map(([toolCallId, topic]) =>
    nested ? { tool: "delegate", input: { prompt: topic }, toolCallId } : call(topic, toolCallId),
  );
  const model = scriptedModel(...(first.length > 0 ? [first] : []), "Seen.", "Seen.");
  /** The sub-agent makes its call, and then says what became of it. */
  const inner = scriptedModel(...Array.from({ length: 20 }, () => () => innerTurn()));
  const innerTurn = (): Turn => {
    const { prompt } = [...inner.doGenerateCalls, ...inner.doStreamCalls].at(-1)!;
    const told = prompt.findLast(({ role }) => role === "tool");
    if (told) return `Sub-agent: ${JSON.stringify(told.content)}`;
    return [call(prompt.findLast(({ role }) => role === "user").content[0].text)];
  };
  const run = await sessions.run(chat, { principal: principalOf(chat) }, async (step) => {
    const own = (await step.tools()) as ToolSet;
    const agent = new ai.ToolLoopAgent({
      id: "delegate",
      model: inner,
      tools: own,
      ...stopWhenWaiting(),
    });
    const connections = { lab: modes[nested ?? "inherit"] };
    const delegate = agentTool({ description: "Delegates.", agent, connections });
    const all = (nested ? { ...own, delegate } : own) as ToolSet;
    const resumed = await step.waiting.resume(before, { tools: all, whileWaiting });
    const { messages, goesOn } = resumed;
    if (!goesOn) return messages;
    const stop = stopWhenWaiting({ whileWaiting, stopWhen: ({ steps }) => steps.length === 4 });
    const settings = { model, tools: resumed.tools, messages: [...messages], ...stop };
    if (how === "generate") {
      const { response, responseMessages } = await ai.generateText(settings);
      return [...messages, ...(responseMessages ?? response.messages)];
    }
    const result = ai.streamText(settings);
    await result.consumeStream();
    const response = await result.response;
    return [...messages, ...((await result.responseMessages) ?? response.messages)];
  });
  return JSON.parse(JSON.stringify(run)) as ModelMessage[];
}
