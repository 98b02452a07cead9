import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { sendText, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, sessionSnapshot } from "../../test/step.ts";
import { endSession } from "./end-session.ts";

test("ends the session with one DELETE that carries id, version and the given headers", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const headers = { authorization: "Bearer t", "mcp-session-id": "another" };
  expect(await endSession({ url: server.url, snapshot, headers })).toEqual({
    ended: true,
    status: 200,
  });
  expect(server.requests).toMatchObject([
    {
      method: "DELETE",
      path: "/mcp",
      headers: {
        "mcp-session-id": snapshot.sessionId,
        "mcp-protocol-version": "2025-11-25",
        authorization: "Bearer t",
      },
    },
  ]);
});

async function endWith(status: number) {
  const server = await startMcpServer((_, response) => sendText(response, status, ""));
  return await endSession({ url: server.url, snapshot: sessionSnapshot(server.url) });
}

test.each([200, 202, 204, 404, 405])("takes %i for done", async (status) => {
  expect(await endWith(status)).toEqual({ ended: true, status });
});

test.each([400, 401, 403, 409, 500, 503])("takes %i for a refusal", async (status) => {
  expect(await endWith(status)).toEqual({ ended: false, status, reason: "refused" });
});

describe("without an answer", () => {
  test("gives up when the time is over", async () => {
    const server = await startMcpServer(() => undefined);
    const snapshot = sessionSnapshot(server.url);
    const result = await endSession({ url: server.url, snapshot, timeoutMs: 30 });
    expect(result).toMatchObject({ ended: false, reason: "timeout" });
  });

  test("says that the server could not be reached", async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => {
      closed.listen(0, "127.0.0.1", resolve);
    });
    const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}/mcp`;
    await new Promise((resolve) => {
      closed.close(resolve);
    });
    expect(await endSession({ url, snapshot: sessionSnapshot(url) })).toMatchObject({
      ended: false,
      reason: "unreachable",
      cause: expect.any(TypeError),
    });
  });

  test("does not follow a redirect", async () => {
    const server = await startMcpServer((_, response) => {
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    const snapshot = sessionSnapshot(server.url);
    expect(await endSession({ url: server.url, snapshot })).toMatchObject({
      ended: false,
      cause: { code: "CONNECTION_UNAVAILABLE", data: { reason: "redirect" } },
    });
    expect(server.log).toEqual(["DELETE"]);
  });
});

test("never sends an id to another URL than the snapshot's", async () => {
  const server = await startMcpServer();
  const snapshot = sessionSnapshot(`${server.origin}/other`);
  const ending = endSession({ url: server.url, snapshot });
  await expect(ending).rejects.toMatchObject({
    code: "STATE_INVALID",
    data: { field: "url" },
  });
  expect(server.requests).toEqual([]);
});

test.each([
  { version: 1, kind: "sessionless" } as const,
  { version: 1, kind: "stateless", decidedAt: 1 } as const,
])("has nothing to end with a snapshot of kind $kind", async (fields) => {
  const server = await startMcpServer();
  const snapshot = { ...fields, url: server.url };
  expect(await endSession({ url: server.url, snapshot })).toEqual({
    ended: false,
    reason: "no-session",
  });
  expect(server.requests).toEqual([]);
});
