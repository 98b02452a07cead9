/** Nobody calls, so only an event tells that a look has failed. */

import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import type { Interceptor } from "../../../sessions/test/notebook-server.ts";
import { slowKinds } from "../../../sessions/test/slow-server.ts";
import { asked, calls, startLab, use } from "../slow-lab.ts";
import { majors } from "../waiting-tool.ts";
import { startWatching } from "./watching.ts";

const token = "a-secret-token";
const refusing =
  (status: number): Interceptor =>
  (_, response) =>
    void response.writeHead(status).end();

const refusals: [string, Interceptor][] = [
  ...[401, 403, 404, 429, 500, 503].map((status): [string, Interceptor] => [
    `HTTP ${status}`,
    refusing(status),
  ]),
  ["a broken connection", (_, response) => void response.destroy()],
];

const failures = (events: readonly { readonly type: string }[]) =>
  events.filter(({ type }) => ["unavailable", "store-failed"].includes(type));

const watched = async (session: "stateful" | "stateless", store?: SessionStore) => {
  const auth = { getToken: async () => ({ token }) };
  const watching = await startWatching(store && (() => store), session, undefined, { auth });
  await watching.watch();
  watching.pass();
  watching.events.length = 0;
  return watching;
};

for (const session of ["stateful", "stateless"] as const) {
  test.each(refusals)(`a watch that meets %s says so, once (${session})`, async (_, refuse) => {
    const { server, looked, events } = await watched(session);
    server.intercept(refuse);
    expect(await looked()).toMatchObject([{ call: { state: "waiting" } }]);
    expect(failures(events)).toMatchObject([{ connection: "notes", reason: expect.any(String) }]);
  });

  test(`a watch that meets an error of its server says so, without secrets (${session})`, async () => {
    const { board, looked, events, news, pass } = await watched(session);
    board.fail = () => {
      throw new Error(`The disk is full, says ${token}.`);
    };
    expect(await looked()).toMatchObject([{ call: { state: "waiting", news: 0 } }]);
    const [told] = failures(events);
    expect(told).toMatchObject({ type: "unavailable", connection: "notes", reason: "refused" });
    const { error } = told as unknown as { error: Error };
    expect(error.message).toContain("The disk is full");
    expect(error.message).not.toContain(token);
    delete board.fail;
    board.text = "B";
    pass();
    await looked();
    expect(failures(events)).toHaveLength(1);
    expect(await news()).toHaveLength(1);
  });
}

test("a look that is aborted says nothing of its server", async () => {
  const { board, startProcess, events } = await watched("stateful");
  const [leaving, asking] = [new AbortController(), Promise.withResolvers<void>()];
  board.wait = async () => asking.resolve();
  const { admin } = startProcess();
  for await (const { reference } of admin.due()) {
    board.wait = () => {
      leaving.abort();
      return new Promise(() => undefined);
    };
    await admin.check(reference, { abortSignal: leaving.signal }).catch(() => undefined);
  }
  expect(failures(events)).toEqual([]);
});

test("a store that does not take news is told as the store", async () => {
  const store = createMemoryStore();
  const { board, looked, events } = await watched("stateful", {
    ...store,
    async put(key, ...others) {
      if (key.includes("news/")) throw new Error("The disk is full.");
      return await store.put(key, ...others);
    },
  });
  board.text = "B";
  await looked();
  expect(failures(events)).toMatchObject([
    { type: "store-failed", operation: "keep", tool: "note://board" },
  ]);
});

test.each(slowKinds)("a %s that cannot be looked at says so", async (kind) => {
  const { slow, step, events, newSessions } = await startLab(kind);
  await step(majors[0]!.ai, [asked], calls);
  let laterMs = 0;
  const lookWith = async (status: number) => {
    events.length = 0;
    slow.intercept(refusing(status));
    laterMs += 60_000;
    const later = newSessions(() => Date.now() + laterMs);
    expect(await later.check("chat", use)).toMatchObject([{ state: "waiting" }]);
    return failures(events);
  };
  for (const status of [401, 500, 503])
    expect(await lookWith(status)).toMatchObject([{ type: "unavailable", connection: "lab" }]);
  // Another process reads it.
  expect(await lookWith(409)).toEqual([]);
});
