import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { eventText, sendText, startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { readMessages } from "../../test/rpc-client.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { resumptionPauseMs } from "./resume-stream.ts";

const call = { jsonrpc: "2.0", id: 0, method: "tools/call", params: {} };
const result = (id: unknown, n = 0) => ({ jsonrpc: "2.0", id, result: { n } });
const note = (n: number) => ({ jsonrpc: "2.0", method: "notifications/message", params: { n } });

/** A step whose calls are answered by `answer`, and resumptions by `resume`, in order. */
async function startInterruptedStep(
  answer: (response: ServerResponse, id: string) => void,
  ...resume: ((response: ServerResponse, id: string) => void)[]
) {
  return await startLimitedStep(undefined, answer, ...resume);
}

/** The same with this limit for silence. */
async function startLimitedStep(
  answerMs: number | undefined,
  answer: (response: ServerResponse, id: string) => void,
  ...resume: ((response: ServerResponse, id: string) => void)[]
) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const step = startStep(server, { snapshot, timeouts: { answerMs } });
  let wireId = "";
  let resumptions = 0;
  server.use(({ method, message }, response, next) => {
    if (message?.method === "tools/call") {
      wireId = message.id;
      answer(response, wireId);
    } else if (method === "GET") {
      resume[Math.min(resumptions, resume.length - 1)]?.(response, wireId);
      resumptions += 1;
    } else return next();
  });
  return { ...step, server, snapshot };
}

const lastEventIds = (server: { requests: readonly { headers: Record<string, unknown> }[] }) =>
  server.requests.map(({ headers }) => headers["last-event-id"]);

test("continues a stream that ended without its answer, from the last whole event", async () => {
  const { client, server, snapshot } = await startInterruptedStep(
    (response) => {
      startEvents(response);
      response.write(`retry: 5\n${eventText(note(1), "e-1")}`);
      // Cut off: it has to come again.
      response.end(eventText(note(2), "e-2").slice(0, -1));
    },
    (response, id) => {
      startEvents(response);
      response.end(eventText(note(2), "e-2") + eventText(result(id), "e-3"));
    },
  );
  const response = await client.post(call, { headers: { authorization: "Bearer t" } });
  expect(await readMessages(response)).toEqual([note(1), note(2), result(0)]);
  expect(server.log).toEqual(["POST tools/call", "GET"]);
  expect(server.requests[1]?.headers).toMatchObject({
    "last-event-id": "e-1",
    accept: "text/event-stream",
    authorization: "Bearer t",
    "mcp-session-id": snapshot.sessionId,
    "mcp-protocol-version": "2025-11-25",
  });
  expect(server.requests[1]?.headers).not.toHaveProperty("content-type");
});

test("continues a stream that broke, as often as there is news", async () => {
  const { client, server } = await startInterruptedStep(
    (response) => {
      startEvents(response);
      response.write(`retry: 1\n${eventText(note(1), "1")}`);
      setTimeout(() => response.destroy(), 5);
    },
    (response) => {
      startEvents(response);
      response.end(eventText(note(2), "2"));
    },
    (response, id) => {
      startEvents(response);
      response.end(eventText(result(id), "3"));
    },
  );
  expect(await readMessages(await client.post(call))).toEqual([note(1), note(2), result(0)]);
  expect(lastEventIds(server)).toEqual([undefined, "1", "2"]);
});

test("gives up after ten resumptions without news only, not after ten in all", async () => {
  let count = 0;
  const interrupted = (response: ServerResponse) => {
    startEvents(response);
    count += 1;
    response.end(`id: ${count}\nretry: 1\ndata:\n\n`);
  };
  const { client, server } = await startInterruptedStep(
    interrupted,
    ...Array.from({ length: 12 }, () => interrupted),
    (response, id) => {
      startEvents(response);
      response.end(eventText(result(id)));
    },
  );
  expect(await readMessages(await client.post(call))).toEqual([result(0)]);
  expect(server.log).toHaveLength(14);
});

test("waits as long as the server asked for", async () => {
  let interruptedAt = 0;
  let resumedAt = 0;
  const { client } = await startInterruptedStep(
    (response) => {
      startEvents(response);
      response.end("id: 1\nretry: 120\ndata: \n\n");
      interruptedAt = performance.now();
    },
    (response, id) => {
      resumedAt = performance.now();
      startEvents(response);
      response.end(eventText(result(id)));
    },
  );
  expect(await readMessages(await client.post(call))).toEqual([result(0)]);
  expect(resumedAt - interruptedAt).toBeGreaterThan(110);
});

test("tries again after a server error, with the new retry, and after a broken connection", async () => {
  const { client, server } = await startInterruptedStep(
    (response) => {
      startEvents(response);
      response.end("id: 1\nretry: 1\ndata:\n\n");
    },
    (response) => sendText(response, 503, "later"),
    (response) => response.destroy(),
    (response, id) => {
      startEvents(response);
      response.end(eventText(result(id)));
    },
  );
  expect(await readMessages(await client.post(call))).toEqual([result(0)]);
  expect(server.log).toEqual(["POST tools/call", "GET", "GET", "GET"]);
});

const interrupted = (response: ServerResponse) => {
  startEvents(response);
  response.end("id: 1\nretry: 1\ndata:\n\n");
};

const withNewId = (retryMs: number, rest = "data:") => {
  let count = 0;
  return (response: ServerResponse) => {
    startEvents(response);
    response.end(`id: ${(count += 1)}\nretry: ${retryMs}\n${rest}\n\n`);
  };
};

describe("reports an unknown outcome", () => {
  const unknown = [{ id: 0, error: { data: { code: "OUTCOME_UNKNOWN" } } }];
  test.each([400, 404, 405])("when the server answers the resumption with %i", async (status) => {
    const { client, server } = await startInterruptedStep(interrupted, (response) =>
      sendText(response, status, "no"),
    );
    expect(await readMessages(await client.post(call))).toMatchObject(unknown);
    expect(server.log).toEqual(["POST tools/call", "GET"]);
  });

  test("when ten resumptions bring nothing new", async () => {
    const { client, server } = await startInterruptedStep(interrupted, (response) => {
      startEvents(response);
      response.end(": nothing\n\n");
    });
    expect(await readMessages(await client.post(call))).toMatchObject(unknown);
    expect(server.log).toHaveLength(11);
  });

  test.each([
    ["ids", "data:"],
    ["ids and comments", ": open\ndata:"],
    ["ids and other events", "event: ping\ndata: {}"],
  ])("when streams that have only new %s are all there is for answerMs", async (_, rest) => {
    const stream = withNewId(0, rest);
    const { client, server } = await startLimitedStep(400, stream, stream);
    const silent = [{ error: { message: expect.stringContaining("for 400 ms, or no message") } }];
    const messages = (await readMessages(await client.post(call))).slice(-1);
    expect(messages).toMatchObject(unknown);
    expect(messages).toMatchObject(silent);
    // Not one after the other without a pause.
    expect(server.log.filter((each) => each === "GET").length).toBeLessThan(10);
  });

  test("when a resumed stream has only comments for answerMs", async () => {
    const { client } = await startLimitedStep(300, interrupted, (response) => {
      startEvents(response);
      const timer = setInterval(() => response.write(": here\n\n"), 20);
      response.on("close", () => clearInterval(timer));
    });
    expect(await readMessages(await client.post(call))).toMatchObject(unknown);
  });

  test("when the server gave no event id to resume from", async () => {
    const { client, server } = await startInterruptedStep((response) => {
      startEvents(response);
      response.end(`retry: 1\n${eventText(note(1))}`);
    });
    expect(await readMessages(await client.post(call))).toMatchObject([note(1), ...unknown]);
    expect(server.log).toEqual(["POST tools/call"]);
  });
});

test("does not resume a stream that ended after its answer", async () => {
  const { client, server } = await startInterruptedStep((response, id) => {
    startEvents(response);
    response.write(eventText(result(id), "1"));
    setTimeout(() => response.destroy(), 5);
  });
  expect(await readMessages(await client.post(call))).toEqual([result(0)]);
  expect(server.log).toEqual(["POST tools/call"]);
});

const waiting = (response: ServerResponse) => {
  startEvents(response);
  response.end("id: 1\nretry: 250\ndata:\n\n");
};
const later = () =>
  new Promise((resolve) => {
    setTimeout(resolve, 300);
  });

describe("while it waits to resume", () => {
  test("an abort errors the body and nothing more is sent", async () => {
    const { client, server } = await startInterruptedStep(waiting);
    const controller = new AbortController();
    const response = await client.post(call, { signal: controller.signal });
    const reading = response.text();
    setTimeout(() => controller.abort(new Error("enough")), 20);
    await expect(reading).rejects.toThrow("enough");
    await later();
    expect(server.log).toEqual(["POST tools/call"]);
  });

  test("an abort errors the body at once, not only when the wait is over", async () => {
    const { client } = await startInterruptedStep((response) => {
      startEvents(response);
      response.end("id: 1\nretry: 60000\ndata:\n\n");
    });
    const controller = new AbortController();
    const response = await client.post(call, { signal: controller.signal });
    const reading = response.text();
    setTimeout(() => controller.abort(new Error("enough")), 20);
    await expect(reading).rejects.toThrow("enough");
  });

  test("a client that cancels the body sends nothing more", async () => {
    const { client, server } = await startInterruptedStep(waiting);
    const response = await client.post(call);
    const reader = response.body!.getReader();
    await reader.read();
    const pending = reader.read();
    setTimeout(() => void reader.cancel(), 20);
    expect((await pending).done).toBe(true);
    await later();
    expect(server.log).toEqual(["POST tools/call"]);
  });
});

test("lets go of a resumed stream when the client cancels the body", async () => {
  const { client, server } = await startInterruptedStep(
    (response) => {
      startEvents(response);
      response.end("id: 1\nretry: 1\ndata:\n\n");
    },
    (response) => startEvents(response),
  );
  const response = await client.post(call);
  const reader = response.body!.getReader();
  await reader.read();
  await expect.poll(() => server.log).toEqual(["POST tools/call", "GET"]);
  await reader.cancel();
  await server.peerGone;
  expect(server.log).toHaveLength(2);
});

test("a message is news on a resumed stream, and a long one while it comes", async () => {
  const text = "x".repeat(200_000);
  const { client } = await startLimitedStep(500, interrupted, (response, id) => {
    startEvents(response);
    const answer = eventText({ jsonrpc: "2.0", id, result: { text } });
    const parts = [eventText(note(1)), answer.slice(0, 60_000), answer.slice(60_000, 120_000)];
    const write = () => {
      const part = parts.shift();
      response.write(part ?? answer.slice(120_000));
      if (part === undefined) response.end();
      else setTimeout(write, 300);
    };
    setTimeout(write, 300);
  });
  expect(await readMessages(await client.post(call))).toMatchObject([
    note(1),
    { result: { text } },
  ]);
});

test("a server that refuses for longer than ten attempts at its retry gets its answer through", async () => {
  const startedAt = performance.now();
  const { client } = await startInterruptedStep(interrupted, (response, id) => {
    if (performance.now() - startedAt < 700) return sendText(response, 503, "later");
    startEvents(response);
    response.end(eventText(result(id)));
  });
  expect(await readMessages(await client.post(call))).toEqual([result(0)]);
});

test("pauses grow with refusals and with streams without a message, and are never shorter than retry", () => {
  const refused = [1, 2, 3, 6, 9].map((refusals) => resumptionPauseMs(100, 0, refusals));
  expect(refused).toEqual([100, 200, 400, 3_200, 10_000]);
  expect([0, 1, 2, 99].map((streams) => resumptionPauseMs(0, streams, 0))).toEqual([
    0, 25, 50, 1_000,
  ]);
  expect(resumptionPauseMs(30_000, 3, 3)).toBe(30_000);
});
