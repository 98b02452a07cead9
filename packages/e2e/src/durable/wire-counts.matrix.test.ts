import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { startNotebookServer } from "../../../ai-sdk/test/notebook-server.ts";
import { startCountingProxy } from "../../../stores/test/counting-proxy.ts";
import { openStoreAt, startStorePlace, storeUnavailable } from "./store-place.ts";

/** What an operation of the store is on the wire. */
const operation = { redis: "EVALSHA", postgres: "BDES" };

/** A connection's first use of a statement parses it, in the same round trip. */
const withoutParse = (command: string) => command.replace(/^P/, "");

/** Chats on a database whose client is counted. Each step is a process of its own, on the same connections. */
async function startCountedChats(kind: keyof typeof operation) {
  const place = await startStorePlace(kind);
  const proxy = await startCountingProxy(kind, Number(place.at));
  const { store, close } = await openStoreAt({ kind, at: proxy.port });
  return {
    /** @returns what a step sent to the database */
    async step(url: string, sessionId: string, connections = ["notes"]) {
      const definition = defineMcpClientConnection({
        url,
        description: "A notebook.",
        session: "stateful",
      });
      const sessions = createDurableSessions({
        connections: Object.fromEntries(connections.map((name) => [name, definition])),
        store,
      });
      proxy.take();
      await sessions.run(sessionId, { principal: { type: "app" } }, (run) =>
        run.call("notes", "list_notes"),
      );
      await sessions.shutdown();
      const { commands, roundTrips } = proxy.take();
      return { commands: commands.map(withoutParse), roundTrips };
    },
    remove: async () => {
      await close?.();
      await proxy.close();
      await place.remove();
    },
  };
}

describe.each(["redis", "postgres"] as const)("on the wire to %s", (kind) => {
  const reason = storeUnavailable[kind];
  const one = operation[kind];
  const three = ["notes", "cart", "mail"];

  test("a resumed step is one read, and a new one is one read and one write", async (context) => {
    context.skip(reason !== undefined, reason);
    const chats = await startCountedChats(kind);
    onTestFinished(chats.remove);
    const server = await startNotebookServer();
    const step = (chat: string, connections?: string[]) =>
      chats.step(server.url, chat, connections);
    // Redis learns the scripts, and the pool of PostgreSQL opens its connections.
    await step("first", three);

    const readAndWrite = { commands: [one, one], roundTrips: 2 };
    const read = { commands: [one], roundTrips: 1 };
    expect(await step("chat")).toEqual(readAndWrite);
    expect(await step("chat")).toEqual(read);
    expect(await step("chat")).toEqual(read);

    server.forgetSessions();
    expect(await step("chat")).toEqual(readAndWrite);
    expect(await step("chat")).toEqual(read);

    await step("three", three);
    const threeReads = { commands: [one, one, one], roundTrips: kind === "redis" ? 1 : 3 };
    // A pool of PostgreSQL sends each over a connection of its own.
    expect(await step("three", three)).toEqual(threeReads);
  });
});
