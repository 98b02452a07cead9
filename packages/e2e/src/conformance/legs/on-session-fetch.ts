import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import {
  answerWaitingCall,
  checkWaitingCalls,
  createWaitingCalls,
} from "@durable-mcp/core/waiting";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { answeredOf, calledOf, type OpenLegClient } from "./leg-client.ts";
import {
  askable,
  connectOwnClient,
  type CreateOwnClient,
  type OwnClient,
} from "../../clients/own-client.ts";

/** One's own client on the session fetch: a call that is asked something waits in the store. */
export function onSessionFetch(create: CreateOwnClient): OpenLegClient {
  return async ({ url, storePath, afterMs }) => {
    const store = createSqliteStore({ path: storePath });
    const principal = { type: "app" } as const;
    const waiting = createWaitingCalls({
      ...{ store, principal, url },
      ...{ sessionId: "suite", connection: "suite", afterMs },
    });
    const fetch = createSessionFetch({ url, slot: createSessionSlot(), waiting });
    // A leg that only answers needs no client.
    let connecting: Promise<OwnClient> | undefined;
    const connected = () =>
      (connecting ??= connectOwnClient(create, { url, fetch, capabilities: askable }));
    return {
      listTools: async () => (await connected()).listTools(),
      callTool: async (name, args) => calledOf(await (await connected()).callTool(name, args)),
      waiting: () => waiting.list(),
      answer: async (id, responses) => answeredOf(await answerWaitingCall(waiting, id, responses)),
      async check(id) {
        await checkWaitingCalls(waiting);
        return answeredOf((await waiting.find(id))!);
      },
      readFirst: async () => (await connected()).readFirst(),
      async close() {
        await (await connecting)?.close();
        await store.close();
      },
    };
  };
}
