import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { sendJson, sendText, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import type { SessionFetchOptions } from "../session/session-fetch-options.ts";
import { maySendAgain } from "./after-loss.ts";

const request = (method: string) => ({ jsonrpc: "2.0" as const, id: 1, method });

const call = (name: string) => ({ ...request("tools/call"), params: { name } });
const isEcho = ({ params }: { params?: Record<string, unknown> }) => params?.["name"] === "echo";

describe("maySendAgain", () => {
  test.each([
    ["tools/call", "definite", "safe", true],
    ["tools/call", "probable", "safe", false],
    ["tools/list", "probable", "safe", true],
    ["ping", "probable", "safe", true],
    ["tasks/cancel", "probable", "safe", false],
    ["tools/call", "probable", "always", true],
    ["tools/call", "definite", "never", false],
    ["ping", "definite", "never", false],
  ] as const)("%s after a %s loss with %j: %j", (method, loss, policy, expected) => {
    expect(maySendAgain(policy, request(method), loss)).toBe(expected);
  });

  test("asks about what it does not know to be safe", () => {
    expect(maySendAgain(isEcho, call("echo"), "probable")).toBe(true);
    expect(maySendAgain(isEcho, call("buy"), "probable")).toBe(false);
    expect(maySendAgain(isEcho, call("buy"), "definite")).toBe(true);
    expect(maySendAgain(isEcho, request("ping"), "probable")).toBe(true);
  });
});

/** A resumed step on a server that has lost the session and says so with this refusal. */
async function startRefusedStep(
  refusal: { status: number; text: string },
  options: Partial<SessionFetchOptions> = {},
) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  server.forgetSessions();
  server.use(({ message, headers }, response, next) => {
    const isOld = headers["mcp-session-id"] === snapshot.sessionId;
    if (!isOld) return next();
    const error = { code: -32000, message: refusal.text };
    sendJson(response, refusal.status, { jsonrpc: "2.0", id: message.id ?? null, error });
  });
  return { server, ...startStep(server, { snapshot, ...options }) };
}

const everything = { status: 400, text: "Bad Request: No valid session ID provided" };
const gateway = { status: 400, text: "invalid session id" };
const recovery = ["POST initialize", "POST notifications/initialized"];

test("recovers from a router's 400 and sends the call again", async () => {
  const { client, server, events } = await startRefusedStep(everything);
  expect(await client.request("tools/call")).toMatchObject({ result: {} });
  expect(server.log).toEqual(["POST tools/call", ...recovery, "POST tools/call"]);
  expect(events.map(({ type }) => type)).toEqual(["resumed", "lost", "recovered"]);
});

test("replaces a session that is probably lost, and does not run the call twice", async () => {
  const { client, server, slot } = await startRefusedStep(gateway);
  await expect(client.request("tools/call")).rejects.toMatchObject({
    code: "OUTCOME_UNKNOWN",
    data: { method: "tools/call", status: 400 },
  });
  expect(server.log).toEqual(["POST tools/call", "POST ping", ...recovery]);
  expect(slot.snapshot).toMatchObject({ sessionId: server.sessionIds.at(-1) });
  expect(await client.request("tools/call")).toMatchObject({ result: {} });
});

test("sends a list again after a probable loss, and a call that may run twice", async () => {
  const { client, server } = await startRefusedStep(gateway, {
    recovery: { resend: isEcho },
  });
  expect(await client.request("tools/call", { name: "echo" })).toMatchObject({ result: {} });
  expect(server.log).toEqual(["POST tools/call", "POST ping", ...recovery, "POST tools/call"]);
});

test("sends nothing again with resend: never, but replaces the session", async () => {
  const { client, server } = await startRefusedStep(everything, { recovery: { resend: "never" } });
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "SESSION_LOST" });
  expect(server.log).toEqual(["POST tools/call", ...recovery]);
  expect(await client.request("tools/call")).toMatchObject({ result: {} });
});

test.each([
  [everything, "SESSION_LOST", []],
  [gateway, "OUTCOME_UNKNOWN", ["POST ping"]],
])("reports a loss that is to be reported, and opens nothing, %#", async (refusal, code, asked) => {
  const { client, server, slot } = await startRefusedStep(refusal, {
    recovery: { onLoss: "report" },
  });
  await expect(client.request("tools/call")).rejects.toMatchObject({ code });
  expect(server.log).toEqual(["POST tools/call", ...asked]);
  expect(slot).toMatchObject({ snapshot: { kind: "sessionless", lost: {} }, changed: true });
});

test("reports such a loss to later requests too, and opens nothing", async () => {
  const { client, server } = await startRefusedStep(gateway, { recovery: { onLoss: "report" } });
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "SESSION_LOST" });
  expect(server.log).toEqual(["POST tools/call", "POST ping"]);
});

// "SESSION_LOST" says that a call was not carried out; here one of the two attempts may have been.
test.each([
  ["probable, then definite", "invalid session id", "No valid session ID provided"],
  ["definite, then probable", "No valid session ID provided", "invalid session id"],
])("does not say that a call was not carried out after a loss that is %s", async (_, ...texts) => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  let text: string | undefined;
  server.use(({ message }, response, next) => {
    if (message?.method === "tools/call") text = texts.shift();
    const isRefused = message?.method === "tools/call" || message?.method === "ping";
    return text === undefined || !isRefused ? next() : sendText(response, 400, text);
  });
  const { client } = startStep(server, { snapshot, recovery: { resend: "always" } });
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(server.log.filter((line) => line === "POST tools/call")).toHaveLength(2);
});

test("does not say so either when the new session is refused after a probable loss", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  server.use((_, response) => sendText(response, 400, "invalid session id"));
  const { client } = startStep(server, { snapshot, recovery: { resend: "always" } });
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(server.log).toEqual(["POST tools/call", "POST ping", "POST initialize"]);
});

test.each([
  ["answers 503", (response: ServerResponse) => sendText(response, 503, "starting")],
  ["answers 401", (response: ServerResponse) => sendText(response, 401, "")],
  ["hangs", () => undefined],
])("nor when its handshake %s", async (_, refuse) => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  server.use(({ message }, response) =>
    message?.method === "initialize"
      ? refuse(response)
      : sendText(response, 400, "invalid session id"),
  );
  const options = {
    snapshot,
    recovery: { resend: "always" },
    timeouts: { initializeMs: 500 },
  } as const;
  const { client } = startStep(server, options);
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(server.log.slice(0, 3)).toEqual(["POST tools/call", "POST ping", "POST initialize"]);
  expect(server.log.slice(3)).not.toContain("POST tools/call");
});

test("fails once, without a loop, on a server with one transport that refuses a fresh start", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  server.use(({ message }, response) =>
    message?.method === "initialize"
      ? sendText(response, 400, "Invalid Request: Server already initialized")
      : sendText(response, 400, "Bad Request: Mcp-Session-Id header is required"),
  );
  const { client } = startStep(server, { snapshot });
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "SESSION_LOST" });
  expect(server.log).toEqual(["POST tools/call", "POST initialize"]);
});
