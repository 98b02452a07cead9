/** What a server chooses, on a real server, in both eras: each value beyond its limit, at each message that has it. */

import { expect, test } from "vitest";
import { principal, send } from "../../test/asking-server.ts";
import { startHttpServer } from "../../test/http-server.ts";
import { createRpcClient } from "../../test/rpc-client.ts";
import { createMemoryStore } from "../index.ts";
import { checkWaitingCalls, createWaitingCalls, waitingCallOf } from "./index.ts";

const day = 86_400_000;
const known = { taskId: "task-7", status: "working", createdAt: "1970-01-01T00:00:00Z" };
const result = { resultType: "complete", content: [{ type: "text", text: "Done." }] };
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
/** The text stands where `deep` says it. */
const deep = "(deep)";
const text = (value: unknown, levels = 0) =>
  JSON.stringify(value).replaceAll(`"${deep}"`, nested(levels)).replaceAll('"1e999"', "1e999");

type Era = "session" | "stateless";
interface Hostile {
  /** What is strange about the task that a call becomes, and at looks. */
  readonly made?: object;
  readonly looked?: object;
  /** The whole of the stream of `tasks/result`. */
  readonly stream?: string;
  /** The answer to the call itself: no task. */
  readonly direct?: object;
  readonly levels?: number;
  /** When the step leaves the call. */
  readonly afterMs?: number;
}

/** A call that becomes a task of a server, and what can be done with it. */
async function startTask(era: Era, { made, looked, stream, direct, levels, afterMs = 0 }: Hostile) {
  let now = 1_000;
  const isOld = era === "session";
  const server = await startHttpServer(({ method, message }, response) => {
    const answer = (own: object) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(text({ jsonrpc: "2.0", id: message.id, result: own }, levels));
    };
    if (method === "GET") return void response.writeHead(405).end();
    switch (message.method) {
      case "initialize":
        return answer({ capabilities: { tasks: { requests: { tools: { call: {} } } } } });
      case "tools/list":
        return answer({ tools: [{ name: "order", execution: { taskSupport: "optional" } }] });
      case "tools/call": {
        if (direct) return answer(direct);
        const task = { ...known, ...made };
        return answer(isOld ? { task } : { resultType: "task", ...task });
      }
      case "tasks/get": {
        const task = { ...known, ...made, status: "completed", ...(isOld ? {} : { result }) };
        return answer({ resultType: "complete", ...task, ...looked });
      }
      case "tasks/result":
        if (stream === undefined) return answer((looked as { result?: object })?.result ?? result);
        response.writeHead(200, { "content-type": "text/event-stream" });
        return void response.end(stream);
    }
    return void response.writeHead(202).end();
  });
  const url = `${server.origin}/mcp`;
  const store = createMemoryStore({ now: () => now });
  const calls = { sessionId: "chat", principal, connection: "lab", url, afterMs };
  const waiting = createWaitingCalls({ ...calls, store, now: () => now });
  const fetch = waiting.wrap(globalThis.fetch);
  const session = createRpcClient(fetch, url, { "mcp-session-id": "secret-session" });
  if (isOld) {
    await session.request("initialize", {});
    await session.request("tools/list");
  }
  return {
    server,
    waiting,
    call: async () => {
      if (isOld) return await session.request("tools/call", { name: "order", arguments: {} });
      return await send((_, init) => fetch(url, init));
    },
    look: async () => {
      now += day;
      const [found] = await checkWaitingCalls(waiting, { fetch: globalThis.fetch });
      return found && (await waiting.find(found.id));
    },
  };
}

const eras = ["session", "stateless"] as const;
/** What each era names the members of a task. */
const named = (era: Era, pollInterval: unknown, ttl: unknown) =>
  era === "session" ? { pollInterval, ttl } : { pollIntervalMs: pollInterval, ttlMs: ttl };

for (const era of eras) {
  test.for([
    ["1e99", 1e99],
    ["endless", "1e999"],
    ["negative", -1e99],
    ["a fraction", 0.5],
    ["no number", "soon"],
    ["nothing", null],
  ] as const)(
    `${era}: a time that is %s is cut: the task is looked at after a day at most`,
    async ([, ms]) => {
      for (const times of [named(era, ms, null), named(era, null, ms), named(era, ms, ms)]) {
        for (const where of ["made", "looked"] as const) {
          const task = await startTask(era, { [where]: times });
          expect(waitingCallOf((await task.call()).result)).toMatchObject({ type: "task" });
          const found = await task.look();
          expect([times, where, found?.call.state]).toEqual([times, where, "settled"]);
        }
      }
    },
  );

  test.for([
    ["longer than 1 KB", "secret".repeat(171)],
    ["with a break", "secret\nbreak"],
    ["with what no header can carry", "secret-→"],
    ["empty", ""],
  ] as const)(
    `${era}: a task with an id that is %s is not followed: the outcome is unknown`,
    async ([, taskId]) => {
      const task = await startTask(era, { made: { taskId } });
      const { error } = await task.call();
      expect(error).toMatchObject({ data: { code: "OUTCOME_UNKNOWN" } });
      expect(JSON.stringify(error)).not.toContain("secret");
      expect(await task.waiting.list()).toEqual([]);
    },
  );

  test(`${era}: a task that works on, with a lifetime below 0, has none`, async () => {
    const task = await startTask(era, { made: named(era, 100, -1), looked: { status: "working" } });
    await task.call();
    expect((await task.look())?.call.state).toBe("waiting");
  });

  test(`${era}: an id of 1 KB is followed`, async () => {
    const task = await startTask(era, { made: { taskId: "x".repeat(1_024) } });
    expect(waitingCallOf((await task.call()).result)).toMatchObject({ type: "task" });
    expect((await task.look())?.call.state).toBe("settled");
  });

  test.for(["made", "looked"] as const)(
    `${era}: words of a task are cut, when it is %s`,
    async (where) => {
      const long = { status: "y".repeat(200_000), statusMessage: "z".repeat(200_000) };
      const task = await startTask(era, { [where]: long });
      await task.call();
      if (where === "looked") await task.look();
      const [call] = await task.waiting.list();
      expect(JSON.stringify(call).length).toBeLessThan(2_000);
    },
  );

  test.for([1_001, 6_000, 20_000, 200_000])(
    `${era}: a result of %i levels ends as what it is, and nothing is thrown`,
    async (levels) => {
      const deepResult = { ...result, structuredContent: { deep } };
      const task = await startTask(era, { looked: { result: deepResult }, levels });
      await task.call();
      const found = await task.look();
      expect(found?.call.state).toBe("outcome-unknown");
      expect(found?.result).toBeUndefined();

      const own = await startTask(era, {
        ...{ looked: { result: deepResult }, levels, afterMs: 60_000 },
        made: named(era, 100, null),
      });
      const { error } = await own.call();
      expect(error).toMatchObject({ data: { code: "OUTCOME_UNKNOWN" } });
    },
  );
}

test.for([20_000, 200_000])(
  "stateless: an answer of %i levels that has to be edited ends as unknown",
  async (levels) => {
    const task = await startTask("stateless", { direct: { content: [], deep }, levels });
    await expect(task.call()).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  },
);

test.for(["event-→", "e".repeat(1_025)])(
  "session: the id of an event that no header can carry, or that is too long, is not kept",
  async (eventId) => {
    const stream = `id: ${eventId}\ndata:\n\nretry: ${"9".repeat(400)}\n\n`;
    const task = await startTask("session", { looked: { status: "input_required" }, stream });
    await task.call();
    expect(await task.look()).toMatchObject({ call: { state: "waiting" } });
    expect(await task.look()).toMatchObject({ call: { state: "waiting" } });
    expect(task.server.log.filter((each) => each === "POST tasks/result")).toHaveLength(2);
  },
);

test("session: a look goes on from the last event whose id a header can carry", async () => {
  const stream = "id: 1\ndata:\n\nid: event-→\ndata:\n\n";
  const task = await startTask("session", { looked: { status: "input_required" }, stream });
  await task.call();
  await task.look();
  await task.look();
  const from = task.server.requests.map(({ headers }) => headers["last-event-id"]);
  expect(from.filter((id) => id !== undefined)).toEqual(["1"]);
});
