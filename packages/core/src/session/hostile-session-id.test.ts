import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { initialize } from "../../test/handshake-messages.ts";
import {
  callHostile,
  type HostileAnswer,
  outcomeOf,
  watchUnhandledRejections,
} from "../../test/hostile-server.ts";
import {
  eventText,
  initializeResult,
  sendJson,
  startEvents,
  startMcpServer,
} from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";

watchUnhandledRejections();

/** Writes an answer past Node's own checks of header values. */
function sendRaw(response: ServerResponse, lines: readonly string[], body: string): void {
  const length = `content-length: ${Buffer.byteLength(body)}`;
  const head = ["HTTP/1.1 200 OK", "content-type: application/json", length, ...lines];
  response.socket?.end(Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`, "latin1"));
}

const mark = "canary";
/** Header lines of an answer to `initialize`. Some are refused by `fetch` itself. */
const hostileIds: [name: string, lines: string[]][] = [
  ["holds a space", [`mcp-session-id: ${mark} b`]],
  ["holds a tab", [`mcp-session-id: ${mark}\tb`]],
  ["holds a control character", [`mcp-session-id: ${mark}\u0001b`]],
  ["holds a NUL", [`mcp-session-id: ${mark}\u0000b`]],
  ["holds a DEL", [`mcp-session-id: ${mark}\u007fb`]],
  ["holds a lone CR", [`mcp-session-id: ${mark}\rb`]],
  ["is folded", [`mcp-session-id: ${mark}`, " b"]],
  ["is not ASCII", [`mcp-session-id: ${mark}\u00e9`]],
  ["is not ASCII in UTF-8", [`mcp-session-id: ${mark}\u00c3\u00a9`]],
  ["has 1,025 bytes", [`mcp-session-id: ${mark.padEnd(1_025, "x")}`]],
  ["has 10,000 bytes", [`mcp-session-id: ${mark.padEnd(10_000, "x")}`]],
  ["has 17,000 bytes", [`mcp-session-id: ${mark.padEnd(17_000, "x")}`]],
  ["is there twice", [`mcp-session-id: ${mark}-1`, `Mcp-Session-Id: ${mark}-2`]],
  ["is there twice, the same", [`mcp-session-id: ${mark}`, `mcp-session-id: ${mark}`]],
];

/** A server whose first answer to `initialize` has these header lines; later ones are good. */
async function startNamingServer(lines: readonly string[]) {
  const server = await startMcpServer();
  let isFirst = true;
  const nameBadly = () => {
    isFirst = true;
    server.use(({ message }, response, next) => {
      if (message?.method !== "initialize" || !isFirst) return next();
      isFirst = false;
      sendRaw(
        response,
        lines,
        JSON.stringify({ jsonrpc: "2.0", id: message.id, result: initializeResult }),
      );
    });
  };
  return { server, nameBadly };
}

describe("a session id that", () => {
  test.each(hostileIds)(
    "%s is refused and never sent, and the next start is clean",
    async (_, lines) => {
      const { server, nameBadly } = await startNamingServer(lines);
      nameBadly();
      const { client, slot, events } = startStep(server);
      const outcome = await outcomeOf(client.post(initialize));
      expect(outcome.seen).toBe("CONNECTION_UNAVAILABLE");
      expect(outcome.printed + inspect(events)).not.toContain(mark);
      expect([slot.snapshot, server.log]).toEqual([undefined, ["POST initialize"]]);

      await client.handshake();
      expect(slot.snapshot).toMatchObject({ sessionId: "secret-session-1" });
      expect(JSON.stringify(server.requests)).not.toContain(mark);
    },
  );

  test.each(hostileIds)(
    "%s cannot take a lost one's place, and the next one can",
    async (_, lines) => {
      const { server, nameBadly } = await startNamingServer(lines);
      const { client, slot, events } = startStep(server, { snapshot: await saveSession(server) });
      server.forgetSessions();
      nameBadly();
      const outcome = await outcomeOf(client.post({ jsonrpc: "2.0", id: 0, method: "tools/call" }));
      expect(outcome.seen).toBe("CONNECTION_UNAVAILABLE");
      expect(outcome.printed + inspect(events)).not.toContain(mark);
      expect(slot.snapshot?.kind).not.toBe("session");

      expect(await client.request("tools/call")).toMatchObject({ result: {} });
      expect(slot.snapshot).toMatchObject({ sessionId: "secret-session-2" });
      expect(JSON.stringify(server.requests)).not.toContain(mark);
    },
  );

  test("has 1,024 bytes of any visible ASCII is kept and sent", async () => {
    const visible = Array.from({ length: 94 }, (_, n) => String.fromCharCode(0x21 + n)).join("");
    const id = visible.repeat(11).slice(0, 1_024);
    const { server, nameBadly } = await startNamingServer([`mcp-session-id: ${id}`]);
    nameBadly();
    const { client, slot } = startStep(server);
    await client.post(initialize);
    // The server of this test knows nothing of it.
    const answer = await outcomeOf(
      client.post({ jsonrpc: "2.0", method: "notifications/initialized" }),
    );
    expect(server.requests.at(-1)?.headers["mcp-session-id"]).toBe(id);
    expect(answer.printed).not.toContain(id);
    expect(slot.snapshot).toBeUndefined();
  });
});

describe("a session id on", () => {
  const other = { "mcp-session-id": `${mark}-other` };
  const answers: [name: string, HostileAnswer, seen: string][] = [
    ["a refusal", (response) => sendJson(response, 400, {}, other), "refused"],
    ["an error of the server", (response) => sendJson(response, 500, {}, other), "refused"],
    [
      "an answer of another type",
      (response) => void response.writeHead(200, { ...other, "content-type": "text/html" }).end(),
      "unanswered",
    ],
    [
      "an answer, twice",
      (response, id) =>
        sendRaw(
          response,
          [`mcp-session-id: ${mark}-1`, `mcp-session-id: ${mark} 2`],
          JSON.stringify({ jsonrpc: "2.0", id, result: {} }),
        ),
      "result",
    ],
  ];
  test.each(answers)("%s is not adopted and not shown", async (_, answer, seen) => {
    const outcome = await callHostile(answer);
    expect(outcome.seen).toBe(seen);
    expect(outcome.printed).not.toContain(mark);
  });
});

const error = (id: string, fields: object) => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32000, message: "no", ...fields },
});
const escaped = (text: string) =>
  text.replaceAll(/./g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);

const failed = (session: string, isError: boolean) => ({
  ...{ isError, content: [{ type: "text", text: `no ${session}` }] },
  structuredContent: { [session]: [session] },
});

describe("a server that repeats the id", () => {
  const echoes: [name: string, HostileAnswer][] = [
    [
      "in an error's message",
      (response, id, session) => sendJson(response, 200, error(id, { message: `no ${session}` })),
    ],
    [
      "in an error's data",
      (response, id, session) =>
        sendJson(response, 200, error(id, { data: { list: [{ [session]: session }] } })),
    ],
    [
      "in an error without an id",
      (response, _, session) =>
        sendJson(response, 200, { jsonrpc: "2.0", id: null, error: { code: 1, message: session } }),
    ],
    [
      "in a large error",
      (response, id, session) =>
        sendJson(response, 200, error(id, { data: [session, "x".repeat(50_000), session] })),
    ],
    [
      "in an error, escaped",
      (response, id, session) =>
        void response
          .writeHead(200, { "content-type": "application/json" })
          .end(`{"jsonrpc":"2.0","id":"${id}","error":{"code":1,"message":"${escaped(session)}"}}`),
    ],
    [
      "in an error as an event",
      (response, id, session) => {
        startEvents(response);
        response.end(eventText(error(id, { message: session, data: session })));
      },
    ],
    [
      "in a refusal as text",
      (response, _, session) =>
        void response.writeHead(400, { "content-type": "text/plain" }).end(`you sent "${session}"`),
    ],
    [
      "in a refusal as JSON",
      (response, _, session) => sendJson(response, 400, { message: session, [session]: [session] }),
    ],
    ["in the status text", (response, _, session) => void response.writeHead(500, session).end()],
    [
      "in a header of a refusal",
      (response, _, session) => sendJson(response, 400, {}, { "x-debug": `session=${session}` }),
    ],
    [
      "in WWW-Authenticate",
      (response, _, session) =>
        sendJson(response, 401, {}, { "www-authenticate": `Bearer realm="${session}"` }),
    ],
    [
      "in a redirect",
      (response, _, session) =>
        void response.writeHead(307, { location: `/login?session=${session}` }).end(),
    ],
  ];
  test.each(echoes)("%s shows it to nobody", async (_, answer) => {
    // Looks for the id in everything that there is to print.
    const outcome = await callHostile(answer);
    expect(outcome.seen).not.toBe("result");
  });

  test.each([false, true])(
    "in the result of a tool that failed shows it to nobody: events %s",
    async (isStream) => {
      const outcome = await callHostile((response, id, session) => {
        const answer = { jsonrpc: "2.0", id, result: failed(session, true) };
        if (!isStream) return sendJson(response, 200, answer);
        startEvents(response);
        response.end(eventText(answer));
      });
      expect(outcome.messages).toMatchObject([{ result: failed("[session id]", true) }]);
    },
  );

  test("in the result of a tool that succeeded is left alone", async () => {
    const server = await startMcpServer();
    const { client } = startStep(server, { snapshot: await saveSession(server) });
    server.use(({ message }, response) => {
      const result = failed(server.sessionIds[0]!, false);
      sendJson(response, 200, { jsonrpc: "2.0", id: message.id, result });
    });
    const { result } = await client.request("tools/call");
    expect(result).toEqual(failed("secret-session-1", false));
  });
});
