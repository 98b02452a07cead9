import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { outcomeOf, watchUnhandledRejections } from "../../test/hostile-server.ts";
import { eventText, startEvents } from "../../test/mcp-server.ts";
import { startHeldStep } from "../../test/step.ts";

watchUnhandledRejections();

const call = (id: unknown) => ({ jsonrpc: "2.0", id, method: "tools/call", params: {} });
const result = (id: unknown, of: string) => ({ jsonrpc: "2.0", id, result: { of } });
const resultsIn = (outcome: { messages: readonly any[] }) =>
  outcome.messages.map(({ result: value }) => value?.of).filter((of) => of !== undefined);

/** Two calls in flight, each with its own stream, under these ids of their clients. */
async function startTwoCalls(ids: readonly [unknown, unknown], options = {}) {
  const step = await startHeldStep(options);
  const outcomes = ids.map(async (id) => outcomeOf(step.client.post(call(id)), id));
  await step.arrived(2);
  const [first, second] = step.held.map(({ message, response }) => {
    startEvents(response);
    return { id: message.id as string, response };
  });
  return { ...step, first: first!, second: second!, outcomes };
}

const send = ({ response }: { response: ServerResponse }, ...messages: unknown[]) => {
  response.end(messages.map((message) => eventText(message)).join(""));
};

describe.each<[string, [unknown, unknown]]>([
  ["two calls of one client", [0, 1]],
  ["calls of two clients under the same id", [0, 0]],
  ["calls under ids that look the same", [1, "1"]],
])("of %s", (_, ids) => {
  test("an answer on another request's stream reaches nobody", async () => {
    const { first, second, outcomes } = await startTwoCalls(ids);
    send(first, result(second.id, "second"), result(first.id, "first"));
    const one = await outcomes[0]!;
    expect([one.seen, resultsIn(one)]).toEqual(["result", ["first"]]);
    // What was kept back is not taken for its answer; the right one is.
    send(second, result(second.id, "right"));
    const two = await outcomes[1]!;
    expect([two.seen, resultsIn(two)]).toEqual(["result", ["right"]]);
  });

  test("an error without an id is that of the stream's own request", async () => {
    const { first, second, outcomes } = await startTwoCalls(ids);
    const error = { jsonrpc: "2.0", id: null, error: { code: 1, message: "unreadable" } };
    send(first, error, error);
    send(second, result(second.id, "second"));
    const [one, two] = await Promise.all(outcomes);
    expect([one?.seen, two?.seen]).toEqual(["error", "result"]);
  });

  test("an answer on the stream that resumes it is taken, and no other there", async () => {
    const { first, second, outcomes, server } = await startTwoCalls(ids);
    server.use(({ method }, response, next) => {
      if (method !== "GET") return next();
      startEvents(response);
      send({ response }, result(second.id, "second"), result(first.id, "first"));
    });
    first.response.end("retry: 1\nid: e-1\ndata:\n\n");
    const one = await outcomes[0]!;
    expect([one.seen, resultsIn(one)]).toEqual(["result", ["first"]]);
    send(second);
    expect((await outcomes[1]!).seen).toBe("OUTCOME_UNKNOWN");
  });
});

describe("a late answer", () => {
  test("after its cancellation reaches the client that cancelled, and no later request", async () => {
    const { client, held, arrived } = await startHeldStep();
    const cancelled = outcomeOf(client.post(call(0)));
    await arrived(1);
    const params = { requestId: 0, reason: "enough" };
    await client.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    const next = outcomeOf(client.post(call(0)));
    await arrived(2);
    const [first, second] = held;
    for (const { response } of held) startEvents(response);
    send(second!, result(first!.message.id, "late"), result(second!.message.id, "second"));
    send(first!, result(first!.message.id, "first"));
    expect(resultsIn(await next)).toEqual(["second"]);
    expect(resultsIn(await cancelled)).toEqual(["first"]);
  });

  test("after an abort reaches nobody", async () => {
    const { client, held, arrived, events } = await startHeldStep({ cancelOnAbort: true });
    const controller = new AbortController();
    const aborted = outcomeOf(client.post(call(0), { signal: controller.signal }));
    await arrived(1);
    controller.abort(new Error("enough"));
    expect((await aborted).printed).toContain("enough");
    const next = outcomeOf(client.post(call(0)));
    await arrived(2);
    startEvents(held[1]!.response);
    const late = result(held[0]!.message.id, "late");
    send(held[1]!, late, late, result(held[1]!.message.id, "second"));
    expect(resultsIn(await next)).toEqual(["second"]);
    expect(inspect(events)).not.toContain("late");
  });

  test("of a session that was lost in the meantime reaches nobody", async () => {
    const { client, held, arrived, server } = await startHeldStep();
    const waiting = outcomeOf(client.post(call(0)));
    await arrived(1);
    server.forgetSessions();
    server.use((_, __, next) => next());
    expect(await client.request("tools/list", {}, { id: 7 })).toMatchObject({ result: {} });
    const [first] = held;
    server.use(({ message }, response) => {
      startEvents(response);
      send({ response }, result(first!.message.id, "late"), result(message.id, "new"));
    });
    expect(resultsIn(await outcomeOf(client.post(call(1)), 1))).toEqual(["new"]);
    // Its own stream lives on, and may still bring it.
    startEvents(first!.response);
    send(first!, result(first!.message.id, "first"));
    expect(resultsIn(await waiting)).toEqual(["first"]);
  });
});

/** Reads up to the end of the next event. */
async function readEvent(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let text = "";
  while (!text.endsWith("\n\n")) text += new TextDecoder().decode((await reader.read()).value);
  return text;
}

describe("an answer on the stream of server messages", () => {
  const get = { headers: { accept: "text/event-stream" } };

  test("reaches its client once, wherever it comes again", async () => {
    const { client, fetch, held, arrived, server } = await startHeldStep({
      listening: true,
    });
    let stream: ServerResponse | undefined;
    server.use(({ method, message }, response, next) => {
      if (method === "GET") startEvents((stream = response));
      else if (message?.method === "tools/call") held.push({ message, response });
      else next();
    });
    const listening = await fetch(server.url, get);
    const reader = listening.body!.getReader();
    const outcome = outcomeOf(client.post(call(0)));
    await arrived(1);
    const { message, response } = held[0]!;
    const answer = eventText(result(message.id, "first"));
    stream!.write(answer);
    expect(await readEvent(reader)).toBe(eventText(result(0, "first")));
    startEvents(response);
    response.end(answer);
    expect(resultsIn(await outcome)).toEqual([]);
    stream!.write(answer + eventText({ jsonrpc: "2.0", method: "notifications/message" }));
    expect(await readEvent(reader)).toContain("notifications/message");
    await reader.cancel();
  });
});
