import { describe, expect, test } from "vitest";
import { sendJson, type TestMcpServer } from "../../test/mcp-server.ts";
import { startStep } from "../../test/step.ts";
import { startMcpServer } from "../../test/mcp-server.ts";

const onNewSession = ({ requests }: TestMcpServer) =>
  requests
    .filter(
      ({ method, headers }) =>
        method === "POST" && headers["mcp-session-id"] === "secret-session-2",
    )
    .map(({ message }) => [message.method, message.params?.uri ?? message.params?.level])
    .filter(([method]) => /subscribe|setLevel/.test(method));

/** A step with two subscriptions, one of them ended, and a log level; then the session is lost. */
async function startStanding() {
  const server = await startMcpServer();
  const first = startStep(server, { listening: true });
  await first.client.handshake();
  await first.client.request("resources/subscribe", { uri: "file:///a" });
  await first.client.request("resources/subscribe", { uri: "file:///b" });
  await first.client.request("resources/subscribe", { uri: "file:///a" });
  await first.client.request("resources/unsubscribe", { uri: "file:///b" });
  await first.client.request("logging/setLevel", { level: "info" });
  await first.client.request("logging/setLevel", { level: "debug" });
  const snapshot = JSON.parse(JSON.stringify(first.slot.snapshot));
  server.forgetSessions();
  return { server, snapshot };
}

describe("subscriptions and the log level", () => {
  test("are made again in a recovery of a later step, before its requests go on", async () => {
    const { server, snapshot } = await startStanding();
    const { client, slot } = startStep(server, { snapshot });
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(onNewSession(server)).toEqual([
      ["resources/subscribe", "file:///a"],
      ["logging/setLevel", "debug"],
    ]);
    expect(server.log.at(-1)).toBe("POST tools/call");
    expect(slot.snapshot).toMatchObject({ subscriptions: ["file:///a"], logLevel: "debug" });
  });

  test("are made again by the step that starts after the loss", async () => {
    const { server, snapshot } = await startStanding();
    const failed = startStep(server, { snapshot, recovery: { onLoss: "report" } });
    await expect(failed.client.request("tools/call")).rejects.toMatchObject({
      code: "SESSION_LOST",
    });
    const { client, slot } = startStep(server, { snapshot: failed.slot.snapshot! });
    await client.handshake();
    expect(onNewSession(server)).toEqual([
      ["resources/subscribe", "file:///a"],
      ["logging/setLevel", "debug"],
    ]);
    expect(slot.snapshot).toMatchObject({ logLevel: "debug" });
  });

  test("that a server refuses are not noted, and do not fail a recovery", async () => {
    const { server, snapshot } = await startStanding();
    server.use(({ message }, response, next) =>
      /subscribe|setLevel/.test(message?.method)
        ? sendJson(response, 200, {
            jsonrpc: "2.0",
            id: message.id,
            error: { code: -32002, message: "Resource not found" },
          })
        : next(),
    );
    const { client, slot } = startStep(server, { snapshot, listening: true });
    await client.request("resources/subscribe", { uri: "file:///c" });
    expect(await client.request("tools/call")).toHaveProperty("result");
    expect(slot.snapshot).toMatchObject({ subscriptions: ["file:///a"] });
  });
});

test("a subscription is refused where nobody listens, and is not sent", async () => {
  const server = await startMcpServer();
  const { client, slot } = startStep(server);
  await client.handshake();
  const answer = await client.request("resources/subscribe", { uri: "file:///a" });
  expect(answer).toMatchObject({
    error: { code: -32_601, message: expect.stringContaining("nobody listens here") },
  });
  expect(server.log).not.toContain("POST resources/subscribe");
  expect(slot.snapshot).not.toHaveProperty("subscriptions");
  expect(await client.request("resources/unsubscribe", { uri: "file:///a" })).toHaveProperty(
    "result",
  );
});
