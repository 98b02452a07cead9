import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import {
  eventText,
  sendJson,
  sendText,
  startEvents,
  startMcpServer,
} from "../../test/mcp-server.ts";
import { eventMessages, readMessages } from "../../test/rpc-client.ts";
import { startRestoring } from "../../test/answer-restorer.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { createEventAnswerStream } from "./answer-stream.ts";

const call = (id: unknown = 0) => ({ jsonrpc: "2.0", id, method: "tools/call", params: {} });
const outcomeUnknown = (id: unknown = 0) => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32000, data: { code: "OUTCOME_UNKNOWN", method: "tools/call" } },
});
/** More than is parsed, with the id in front, as most servers print it. */
const large = "x".repeat(50_000);

/** A resumed step on a server that answers calls with `answer`. */
async function startAnsweredStep(answer: (response: ServerResponse, id: string) => void) {
  const server = await startMcpServer();
  const step = startStep(server, { snapshot: await saveSession(server) });
  server.use(({ message }, response, next) => {
    if (message?.method !== "tools/call") return next();
    answer(response, message.id);
  });
  return { ...step, server };
}

const result = (id: string, text = "ok") => ({ jsonrpc: "2.0", id, result: { text } });

describe("an answer that never comes is an error under the client's id", () => {
  test.each<[string, (response: ServerResponse, id: string) => void]>([
    [
      "SSE that breaks",
      (response) => {
        startEvents(response);
        response.write(eventText({ jsonrpc: "2.0", method: "notifications/message" }));
        setTimeout(() => response.destroy(), 10);
      },
    ],
    [
      "SSE that ends in a large answer just after a brace",
      (response, id) => {
        startEvents(response);
        response.end(`data: {"jsonrpc":"2.0","id":"${id}","result":{"a":"${large}","b":{}`);
      },
    ],
    [
      "SSE that breaks in the middle of a large answer",
      (response, id) => {
        startEvents(response);
        response.write(eventText(result(id, large)).slice(0, -20));
        setTimeout(() => response.destroy(), 10);
      },
    ],
    [
      "large JSON that is cut off where nothing says so",
      (response, id) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify(result(id, large)).slice(0, -5));
      },
    ],
    ["JSON that is no message", (response) => sendJson(response, 200, { ok: true })],
    ["JSON with another id", (response) => sendJson(response, 200, result("other"))],
    ["202", (response) => void response.writeHead(202).end()],
    ["202 with a text", (response) => sendText(response, 202, "Accepted")],
    ["204", (response) => void response.writeHead(204).end()],
  ])("%s", async (_, answer) => {
    const { client, server } = await startAnsweredStep(answer);
    const response = await client.post(call());
    expect(response.status).toBe(200);
    expect((await readMessages(response)).at(-1)).toMatchObject(outcomeUnknown());
    // Never sent again on its own.
    expect(server.log).toEqual(["POST tools/call"]);
  });
});

test("takes JSON for what it is when the server names no content type", async () => {
  const { client } = await startAnsweredStep((response, id) => {
    response.writeHead(200).end(JSON.stringify(result(id)));
  });
  const response = await client.post(call());
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toEqual(result(0 as never));
});

test("leaves other content types to the client", async () => {
  const { client } = await startAnsweredStep((response) => sendText(response, 200, "<html>"));
  const response = await client.post(call());
  expect([response.status, await response.text()]).toEqual([200, "<html>"]);
});

test("takes a last event without its blank line, when it is whole", async () => {
  for (const text of ["ok", large]) {
    const { client } = await startAnsweredStep((response, id) => {
      startEvents(response);
      response.end(`data: ${JSON.stringify(result(id, text))}`);
    });
    expect(await readMessages(await client.post(call()))).toEqual([result(0 as never, text)]);
  }
});

describe("streaming", () => {
  test("hands on each event as it comes", async () => {
    let finish: (() => void) | undefined;
    const { client } = await startAnsweredStep((response, id) => {
      startEvents(response);
      response.write(
        eventText({ jsonrpc: "2.0", method: "notifications/message", params: { n: 1 } }),
      );
      finish = () => response.end(eventText(result(id)));
    });
    const response = await client.post(call());
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const first = await reader.read();
    expect(eventMessages(first.value ?? "")).toMatchObject([{ params: { n: 1 } }]);
    finish?.(); // The server had not sent the answer before now.
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value;
    expect(eventMessages(rest)).toEqual([result(0 as never)]);
  });

  test("cancels upstream when the client cancels the body", async () => {
    for (const contentType of ["text/event-stream", "application/json"]) {
      const { client, server } = await startAnsweredStep((response) => {
        response.writeHead(200, { "content-type": contentType }).write(" ");
      });
      const response = await client.post(call());
      await response.body!.cancel();
      await server.peerGone;
      expect(server.log).toEqual(["POST tools/call"]);
    }
  });

  test("stops reading ahead when the client does not read", async () => {
    let written = 0;
    const { ids, restorerOf } = startRestoring();
    const { pending } = ids.send({ jsonrpc: "2.0", id: 0, method: "ping" });
    const stream = createEventAnswerStream({
      body: new ReadableStream({
        pull(controller) {
          written += 1;
          controller.enqueue(new TextEncoder().encode(eventText({ n: written })));
        },
      }),
      restore: restorerOf(pending),
      signal: undefined,
      answered: () => false,
      failure: () => "",
      resume: async () => undefined,
      onEnd: () => undefined,
    });
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    expect(written).toBeLessThan(5);
    await stream.cancel();
  });
});

/** A call that is being answered, and a way to abort it. */
const startCall = async (answer: (response: ServerResponse, id: string) => void) => {
  const { client, server } = await startAnsweredStep(answer);
  const controller = new AbortController();
  const answering = client.post(call(), { signal: controller.signal });
  const stop = () => controller.abort(new Error("enough"));
  return { answering, server, stop };
};

describe("an abort", () => {
  test("before the headers rejects with its reason and closes the connection", async () => {
    const { answering, server, stop } = await startCall(() => undefined);
    await expect.poll(() => server.requests.length).toBe(1);
    stop();
    await expect(answering).rejects.toThrow("enough");
    await server.peerGone;
  });

  test.each(["text/event-stream", "application/json"])(
    "while %s is read errors the body with its reason, not as an unknown outcome",
    async (type) => {
      const { answering, server, stop } = await startCall((response) => {
        response.writeHead(200, { "content-type": type }).write("{");
      });
      const reading = (await answering).text();
      stop();
      await expect(reading).rejects.toThrow("enough");
      await server.peerGone;
    },
  );
});

describe("an event without data, which some clients take for a message that they cannot read", () => {
  test.each([
    ["", "event: open\nid: e-1\nretry: 5\ndata: \n\n"],
    ["event: message\n", "event: open\nid: e-1\nretry: 5\ndata: \n\n"],
  ])("is none, and keeps its id (%j)", async (type, seen) => {
    const { client } = await startAnsweredStep((response, id) => {
      startEvents(response);
      response.end(`${type}id: e-1\nretry: 5\ndata: \n\n${eventText(result(id))}`);
    });
    expect(await (await client.post(call())).text()).toContain(seen);
  });
});
