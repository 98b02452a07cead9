import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import type { WaitingCall, WaitingLimits } from "@durable-mcp/core/waiting";
import type { SlowKind } from "../../../sessions/test/slow-server.ts";
import { principal } from "./waiting-shop.ts";

const key = new Uint8Array(32).fill(33);

/** What all processes of an application with one lab agree on: plain JSON. */
export interface LabUse {
  readonly kind: SlowKind;
  readonly url: string;
  /** The agent session, and its agent: no other one's calls are due for it. */
  readonly sessionId: string;
  readonly record?: "late" | "first";
  /** How long a call is waited for in its step, in milliseconds. @default 0 */
  readonly afterMs?: number;
}

interface LabParts {
  /** Its values are encrypted, so that an operator's program finds calls that are due. */
  readonly store: SessionStore;
  readonly now?: (() => number) | undefined;
  readonly onSettled?: WaitingLimits["onSettled"];
}

type Execute = (input: object, options: object) => Promise<unknown>;

/** What each process of the application does. */
export function createLab(
  { kind, url, sessionId, record, afterMs = 0 }: LabUse,
  { store, now, onSettled }: LabParts,
) {
  const sessions = createDurableSessions({
    connections: {
      lab: defineMcpClientConnection({
        ...{ url, description: "A lab." },
        session: kind === "task of 2026-07-28" ? "stateless" : "stateful",
        waiting: { afterMs, record, onSettled },
      }),
    },
    store: encryptStore(store, { keys: { current: key }, fingerprintKey: key }),
    ...{ agent: sessionId, now, onEvent: () => undefined },
  });
  const use = { principal };
  const about = { topic: sessionId };
  return {
    sessions,
    /** The one call of the agent session, as the agent loop makes it. @throws its error */
    async research(): Promise<unknown> {
      return await sessions.run(sessionId, use, async (run) => {
        const { lab__research } = (await run.tools()) as Record<string, { execute: Execute }>;
        const messages = [{ role: "user", content: "What of it?" }];
        return await lab__research!.execute(about, { toolCallId: "call", messages, context: {} });
      });
    },
    /** Puts the call's result into a conversation that has its placeholder. */
    async resume(id: string) {
      const text = { type: "text", text: "-", providerOptions: { "durable-mcp": { waiting: id } } };
      const call = { toolCallId: "call", toolName: "lab__research" };
      const output = { type: "content", value: [text] };
      const messages = [
        { role: "assistant", content: [{ type: "tool-call", ...call, input: about }] },
        { role: "tool", content: [{ type: "tool-result", ...call, output }] },
      ];
      return await sessions.run(sessionId, use, async (run) =>
        run.waiting.resume(messages, { tools: await run.tools() }),
      );
    },
    waiting: async () => (await sessions.waiting(sessionId, use)) as WaitingCall[],
    look: async () => await sessions.check(sessionId, use),
    /** The same, as an operator's program does it. */
    async lookAsOperator(): Promise<WaitingCall[]> {
      const looked: WaitingCall[] = [];
      for await (const { reference } of sessions.admin.due()) {
        const checked = await sessions.admin.check(reference);
        if (checked) looked.push(checked.call);
      }
      return looked;
    },
    /** Says which year the server wants to know. */
    async answer({ id, requests, round }: WaitingCall, year: string): Promise<WaitingCall> {
      const response = { action: "accept" as const, content: { year } };
      const responses = Object.fromEntries(Object.keys(requests).map((name) => [name, response]));
      return await sessions.answer(sessionId, id, responses, { ...use, round });
    },
    end: async () => await sessions.end(sessionId, use),
  };
}
