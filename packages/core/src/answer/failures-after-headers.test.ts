import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { outcomeOf, watchUnhandledRejections } from "../../test/hostile-server.ts";
import { eventText, sendText, startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { eventMessages } from "../../test/rpc-client.ts";
import { saveSession, startStep } from "../../test/step.ts";

// Some clients wait for ever when the body of an answer fails. So after the response headers, every
// failure but the caller's abort has to become an answer.

watchUnhandledRejections();

const call = { jsonrpc: "2.0", id: 0, method: "tools/call", params: {} };
const note = (n: number) => ({ jsonrpc: "2.0", method: "notifications/message", params: { n } });
const result = (id: string) => ({ jsonrpc: "2.0", id, result: {} });

type Answer = (response: ServerResponse, id: string) => void;

/** A resumed step on a server that answers calls with `answer`, and then a GET with `resume`. */
async function startFailingStep(
  answer: Answer,
  resume: Answer = (response) => sendText(response, 404, ""),
  options: Parameters<typeof startStep>[1] = {},
) {
  const server = await startMcpServer();
  const step = startStep(server, { snapshot: await saveSession(server), ...options });
  let wireId = "";
  server.use(({ method, message }, response, next) => {
    if (method === "GET") return resume(response, wireId);
    if (message?.method !== "tools/call") return next();
    wireId = message.id;
    answer(response, wireId);
  });
  return { ...step, server };
}

const events =
  (text: string): Answer =>
  (response) => {
    startEvents(response);
    response.end(text);
  };
const json = (text: string, headers: Record<string, string> = {}): Answer =>
  ((response) =>
    void response
      .writeHead(200, { "content-type": "application/json", ...headers })
      .end(text)) satisfies Answer;
/** Sends the head and a part of the body, and then breaks the connection. */
const cut =
  (type: string, text: string): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": type });
    response.write(text, () => response.destroy());
  };
const withEventId = (id: string) => events(`retry: 1\nid: ${id}\n\n`);

const answers: [name: string, answer: Answer, resume?: Answer][] = [
  ["JSON that is cut off", cut("application/json", '{"jsonrpc":"2.0",')],
  ["a body that is not gzip", json("{}", { "content-encoding": "gzip" })],
  ["events with HTTP 204", (response) => void response.writeHead(204, eventHeaders).end()],
  ["events with HTTP 205", (response) => void response.writeHead(205, eventHeaders).end()],
  // Event ids from which nothing can be resumed, and resumptions that bring nothing.
  ["an event id outside Latin-1", withEventId("☃")],
  ["an event id with a control character", withEventId("a\u0001b")],
  ["an event id with a tab at its end", withEventId("a\t")],
  ["an event id that begins with white space", withEventId("  a")],
  [
    "an event id that is not UTF-8",
    (response) => {
      startEvents(response);
      response.end(Buffer.concat([Buffer.from("id: "), Buffer.of(0xe9), Buffer.from("\n\n")]));
    },
  ],
  ["a resumption in HTML", withEventId("a"), json("<p>", { "content-type": "text/html" })],
  ["a resumption in JSON", withEventId("a"), json("{}")],
  [
    "a resumption that fails each time",
    withEventId("a"),
    (response) => sendText(response, 503, ""),
  ],
  [
    "a resumption without a body",
    withEventId("a"),
    (response) => void response.writeHead(204).end(),
  ],
  ["a resumption that breaks each time", withEventId("a"), (response) => void response.destroy()],
  ["a resumption that is cut off each time", withEventId("a"), cut("text/event-stream", "data: 1")],
];
const eventHeaders = { "content-type": "text/event-stream" };

test.each(answers)("a server that answers with %s", async (_, answer, resume) => {
  // A server that refuses to resume is asked again for a minute.
  const { client, server } = await startFailingStep(answer, resume, {
    timeouts: { answerMs: 1_500 },
  });
  expect((await outcomeOf(client.post(call))).seen).toBe("OUTCOME_UNKNOWN");
  expect(server.log.filter((entry) => entry === "POST tools/call")).toHaveLength(1);
});

const body = (pull: (controller: ReadableStreamDefaultController) => void) =>
  new ReadableStream<any>({ pull });
const bodies: [name: string, body: () => ReadableStream][] = [
  ["that fails with an error", () => body((at) => at.error(new Error("no")))],
  ["that fails with nothing", () => body((at) => at.error(undefined))],
  ["that fails with an abort of its own", () => body((at) => at.error(AbortSignal.abort().reason))],
  [
    "of texts instead of bytes",
    () =>
      body((at) => {
        at.enqueue("data: 1\n\n");
        at.close();
      }),
  ],
  ["of nothing", () => body((at) => at.enqueue(undefined))],
  [
    "that is in use",
    () => {
      const used = body(() => {});
      used.getReader();
      return used;
    },
  ],
];

describe("a base fetch with a body", () => {
  for (const type of ["application/json", "text/event-stream"]) {
    test.each(bodies)(`%s: ${type}`, async (_, create) => {
      const fetch = async () =>
        ({
          status: 200,
          ok: true,
          type: "basic",
          body: create(),
          headers: new Headers({ "content-type": type }),
        }) as Response;
      const { client } = await startFailingStep(() => {}, undefined, { fetch });
      expect((await outcomeOf(client.post(call))).seen).toBe("OUTCOME_UNKNOWN");
    });
  }

  test("that never ends to be cancelled", async () => {
    const endless = new ReadableStream({
      pull: (controller) => controller.error(new Error("no")),
      cancel: () => new Promise(() => {}),
    });
    const large = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(40_000_000)),
      cancel: () => new Promise(() => {}),
    });
    for (const answer of [endless, large]) {
      const fetch = async () =>
        new Response(answer, { headers: { "content-type": "application/json" } });
      const { client } = await startFailingStep(() => {}, undefined, { fetch });
      expect((await outcomeOf(client.post(call))).seen).toBe("OUTCOME_UNKNOWN");
    }
  });
});

test("a function of the application that fails while the answer is read", async () => {
  const { client } = await startFailingStep(() => {}, undefined, {
    now() {
      throw new TypeError("no time");
    },
  });
  const answer = client.post({ ...call, method: "tools/list" });
  expect((await outcomeOf(answer)).seen).toBe("OUTCOME_UNKNOWN");
});

test("the caller's abort stays an abort", async () => {
  const leaving = new AbortController();
  const { client } = await startFailingStep((response) => {
    startEvents(response);
    response.write(": hi\n\n");
  });
  const response = await client.post(call, { signal: leaving.signal });
  leaving.abort(new Error("left"));
  await expect(response.text()).rejects.toThrow("left");
});

test("resumes with the bytes of the event id that the server sent", async () => {
  const { client, server } = await startFailingStep(withEventId("é~ b"), (response, id) => {
    startEvents(response);
    response.end(eventText(result(id)));
  });
  expect((await outcomeOf(client.post(call))).seen).toBe("result");
  const header = String(server.requests.at(-1)?.headers["last-event-id"]);
  // Node gives a character for each byte.
  expect(Buffer.from(header, "latin1").toString()).toBe("é~ b");
});

describe("the listening stream goes on after", () => {
  const first: [name: string, text: string | Uint8Array, header: string | undefined][] = [
    ["an event id outside Latin-1", "id: ☃\n", undefined],
    ["an event id with a control character", "id: a\u0001b\n", undefined],
    ["an event id with an umlaut", "id: ä\n", "ä"],
    ["a comment that is too large", Buffer.alloc(68_000_000, ":"), undefined],
  ];
  test.each(first)("%s", async (_, text, header) => {
    const server = await startMcpServer();
    const step = startStep(server, {
      snapshot: await saveSession(server),
      listening: true,
    });
    let count = 0;
    server.use(({ method }, response, next) => {
      if (method !== "GET") return next();
      startEvents(response);
      count += 1;
      if (count === 1) {
        response.write(`retry: 1\n${eventText(note(1))}`);
        response.end(typeof text === "string" ? `${text}data\n\n` : text);
      } else {
        response.write(eventText(note(count)));
      }
    });
    const stream = await step.fetch(server.url, { method: "GET" });
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    while (!seen.includes('"n":2')) seen += (await reader.read()).value;
    await reader.cancel();
    expect(eventMessages(seen)).toEqual([note(1), note(2)]);
    const sent = server.requests.at(-1)?.headers["last-event-id"];
    expect(sent && Buffer.from(String(sent), "latin1").toString()).toBe(header);
  });

  test("a function of the application fails, and a body of texts instead of bytes", async () => {
    const server = await startMcpServer();
    let hasFailed = false;
    let count = 0;
    const { client, fetch } = startStep(server, {
      snapshot: await saveSession(server),
      listening: true,
      now() {
        if (!hasFailed && count > 0) {
          hasFailed = true;
          throw new TypeError("no time");
        }
        return 0;
      },
      async fetch(input, init) {
        if (init?.method !== "GET") return await globalThis.fetch(input, init);
        count += 1;
        const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
        const chunk = `retry: 1\n${eventText(count === 2 ? changed : note(count))}`;
        const chunks = body((at) => {
          at.enqueue(count === 1 ? chunk : new TextEncoder().encode(chunk));
          at.close();
        });
        return new Response(chunks, { headers: eventHeaders });
      },
    });
    await client.request("tools/list");
    const stream = await fetch(server.url, { method: "GET" });
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    while (!seen.includes('"n":3')) seen += (await reader.read()).value;
    await reader.cancel();
    expect(hasFailed).toBe(true);
  });
});
