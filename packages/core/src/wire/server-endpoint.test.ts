import { inspect } from "node:util";
import { fetch as undiciFetch } from "undici";
import { describe, expect, test, vi } from "vitest";
import { startHttpServer } from "../../test/http-server.ts";
import { sendText, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { refusalMode, sendToEndpoint } from "./server-endpoint.ts";

const statuses = [301, 302, 303, 307, 308];
const call = {
  jsonrpc: "2.0",
  id: 0,
  method: "tools/call",
  params: { name: "echo", arguments: { a: 1 } },
};

/** Node's own fetch refuses without a status; any other is asked for the redirect itself. */
const own: typeof fetch = (...request) => fetch(...request);

describe.each([
  ["refuse", undefined],
  ["refuse", own],
  ["same-origin", undefined],
] as const)("with redirect: %j and the fetch %o", (redirect, given) => {
  test.each(statuses)(
    "a %i to another origin is refused and never carries the id there",
    async (status) => {
      const other = await startHttpServer((_, response) => sendText(response, 200, "stolen"));
      const server = await startMcpServer();
      const { client, fetch } = startStep(server, {
        snapshot: await saveSession(server),
        redirect,
        fetch: given,
      });
      server.use(
        (_, response) => void response.writeHead(status, { location: other.origin }).end(),
      );
      const isByNode = redirect === "refuse" && given === undefined;
      const data = { reason: "redirect", origin: server.origin, ...(!isByNode && { status }) };
      const refused = { code: "CONNECTION_UNAVAILABLE", data };
      await expect(client.post(call)).rejects.toMatchObject(refused);
      await expect(fetch(server.url, { headers: { "last-event-id": "1" } })).rejects.toMatchObject(
        refused,
      );
      expect(server.requests).toHaveLength(2);
      expect(other.requests).toEqual([]);
    },
  );
});

test.each(statuses)("a %i within the origin is refused without the opt-in", async (status) => {
  const server = await startMcpServer();
  const { client } = startStep(server, { snapshot: await saveSession(server) });
  server.use((_, response) => void response.writeHead(status, { location: "/new" }).end());
  await expect(client.post(call)).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    data: { reason: "redirect" },
  });
  expect(server.log).toEqual(["POST tools/call"]);
});

describe("within the origin, with the opt-in", () => {
  test.each([307, 308])("a %i is followed with method, body and id", async (status) => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    const { client } = startStep(server, { snapshot, redirect: "same-origin" });
    server.use(({ path }, response, next) => {
      if (path !== "/mcp") return next();
      response.writeHead(status, { location: "/new" }).end();
    });
    expect(await client.request("tools/call", call.params)).toMatchObject({
      result: { content: [{ text: '{"a":1}' }] },
    });
    expect(server.requests.map(({ path }) => path)).toEqual(["/mcp", "/new"]);
    expect(server.requests[1]).toMatchObject({
      method: "POST",
      headers: { "mcp-session-id": snapshot.sessionId },
      message: { params: call.params },
    });
  });

  test.each([301, 302, 303])("a %i to a POST is refused: it would become a GET", async (status) => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    const { client } = startStep(server, { snapshot, redirect: "same-origin" });
    server.use((_, response) => void response.writeHead(status, { location: "/new" }).end());
    await expect(client.post(call)).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "redirect" },
    });
    expect(server.requests).toHaveLength(1);
  });

  test("one with credentials in its URL is refused, and nothing repeats them", async () => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    const { client } = startStep(server, { snapshot, redirect: "same-origin" });
    const location = server.url.replace("//", "//user:hunter2@");
    server.use((_, response) => void response.writeHead(307, { location }).end());
    const error: unknown = await client.post(call).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CONNECTION_UNAVAILABLE", data: { reason: "redirect" } });
    expect(inspect(error, { depth: null })).not.toContain("hunter2");
    expect(server.requests).toHaveLength(1);
  });

  test("an endless chain and a missing target are refused", async () => {
    const server = await startHttpServer(({ path }, response) => {
      response.writeHead(307, path === "/loop" ? { location: "/loop" } : {}).end();
    });
    const send = (path: string) =>
      sendToEndpoint(
        { url: new URL(path, server.origin), fetch, redirect: "same-origin" },
        { method: "GET", headers: new Headers() },
      );
    await expect(send("/loop")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "redirect" },
    });
    expect(server.requests).toHaveLength(6);
    await expect(send("/nowhere")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "redirect" },
    });
  });
});

test("refuses a redirect during the handshake, too", async () => {
  const other = await startHttpServer((_, response) => sendText(response, 200, ""));
  const server = await startMcpServer((_, response) => {
    response.writeHead(307, { location: other.origin }).end();
  });
  const { client, slot } = startStep(server);
  await expect(client.handshake()).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    data: { reason: "redirect" },
  });
  expect(other.requests).toEqual([]);
  expect(slot.snapshot).toBeUndefined();
});

test("asks Node's own fetch to refuse, which copies nothing of the request", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const seen: unknown[] = [];
  const watch = vi.spyOn(globalThis, "fetch").mockImplementation(async (_, init) => {
    seen.push(init?.redirect);
    return Response.error();
  });
  const { client } = startStep(server, { snapshot });
  await client.post(call, { redirect: "follow" }).catch(() => undefined);
  const within = startStep(server, { snapshot, redirect: "same-origin" });
  await within.client.post(call).catch(() => undefined);
  watch.mockRestore();
  expect(seen).toEqual(["error", "manual"]);
});

test.each([
  ["Node's own fetch", undefined],
  ["undici's", undiciFetch as unknown as typeof fetch],
])("knows the words with which %s refuses a redirect", async (_, given = fetch) => {
  const server = await startHttpServer((__, response) => {
    response.writeHead(307, { location: "/new" }).end();
  });
  const endpoint = { url: new URL(server.origin), fetch: given, redirect: "refuse" } as const;
  const sending = sendToEndpoint(
    { ...endpoint, refusal: "error" },
    { method: "POST", headers: new Headers(), body: "{}" },
  );
  const refused = {
    code: "CONNECTION_UNAVAILABLE",
    data: { reason: "redirect", method: "POST", origin: server.origin },
  };
  await expect(sending).rejects.toMatchObject(refused);
  expect(server.requests).toHaveLength(1);
});

test("a connection that breaks is no redirect", async () => {
  const server = await startMcpServer();
  const { client } = startStep(server, { snapshot: await saveSession(server) });
  server.use((_, response) => void response.destroy());
  await expect(client.post(call)).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
});

test.each([
  ["of Deno", { deno: "2.5.0", node: "24.0.0" }],
  ["of workerd", { node: "22.19.0" }],
  ["of a Node that is not known yet", { node: "40.0.0", undici: "11.0.0" }],
  ["without a process", undefined],
])("asks a runtime %s for the redirect itself", (_, versions) => {
  vi.stubGlobal("process", versions && { versions });
  const mode = refusalMode(undefined);
  vi.unstubAllGlobals();
  expect(mode).toBe("manual");
});

test("asks the runtime not to follow, whatever the client asked for", async () => {
  const seen: unknown[] = [];
  const { client } = startStep(
    { url: "http://127.0.0.1/mcp" },
    {
      fetch: async (_, init) => {
        seen.push(init?.redirect);
        return Response.error();
      },
    },
  );
  await client.post(call, { redirect: "follow" }).catch(() => undefined);
  expect(seen).toEqual(["manual"]);
});
