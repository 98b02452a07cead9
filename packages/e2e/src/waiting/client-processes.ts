import { createMemoryStore, createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import {
  type AnsweredCall,
  answerWaitingCall,
  createWaitingCalls,
  type InputResponses,
  type WaitingCall,
  waitingCallOf,
} from "@durable-mcp/core/waiting";
import { connectOwnClient, type CreateOwnClient, type OwnClient } from "../clients/own-client.ts";
import type { AskingLeg, AskingServer } from "../servers/asking.ts";
import { recordExchanges, type SentMessage } from "./record-exchanges.ts";

export interface ClientProcesses {
  /** What the server got since the start: first legs and later ones. */
  legs: () => AskingLeg[];
  /** All messages that were sent, in their order. */
  sent: () => readonly SentMessage[];
  /** The results in all of the server's answers, in the order in which they came. */
  results: () => readonly Record<string, unknown>[];
  /** Lends a client, in a process of its own. */
  use: <T>(run: (client: OwnClient) => Promise<T>) => Promise<T>;
  /** Calls a tool, in a process of its own. Gives the call if it waits. */
  call: (tool: string, args?: Record<string, unknown>) => Promise<WaitingCall | undefined>;
  /**
   * Answers a call, in a process of its own.
   *
   * @param tool the name or URI that was called. @default that of the only call that waits
   */
  answer: (responses: InputResponses, tool?: string) => Promise<AnsweredCall>;
}

/**
 * The processes of an application with a client of its own. They share the store and nothing else: for each use,
 * all other parts are made anew.
 */
export function startClientProcesses(
  server: AskingServer,
  create: CreateOwnClient,
): ClientProcesses {
  const { url } = server;
  const store = createMemoryStore();
  const exchanges = recordExchanges();
  const before = server.legs().length;
  const openCalls = () =>
    createWaitingCalls({
      ...{ store, url, principal: { type: "app" } },
      ...{ sessionId: "chat", connection: "asking" },
    });
  const use: ClientProcesses["use"] = async (run) => {
    const slot = createSessionSlot();
    const { fetch } = exchanges;
    const client = await connectOwnClient(create, {
      url,
      fetch: createSessionFetch({ url, slot, fetch, waiting: openCalls() }),
    });
    try {
      return await run(client);
    } finally {
      await client.close();
    }
  };
  return {
    legs: () => server.legs().slice(before),
    sent: () => exchanges.sent,
    results: () => exchanges.results,
    use,
    call: (tool, args = {}) =>
      use(async (client) => {
        // Clients that mirror arguments into headers know them from the list.
        await client.listTools();
        return waitingCallOf(await client.callTool(tool, args));
      }),
    async answer(responses, tool) {
      const waiting = openCalls();
      const open = await waiting.list();
      const calls = open.filter((call) => tool === undefined || call.tool === tool);
      if (calls.length !== 1) throw new Error(`${calls.length} calls wait`);
      return await answerWaitingCall(waiting, calls[0]!.id, responses, { fetch: exchanges.fetch });
    },
  };
}
