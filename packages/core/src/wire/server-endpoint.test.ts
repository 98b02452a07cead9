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

describe.each([undefined, own])("with the fetch %o", (given) => {
  test.each(statuses)(
    "a %i to another origin is refused and never carries the id there",
    async (status) => {
      const other = await startHttpServer((_, response) => sendText(response, 200, "stolen"));
      const server = await startMcpServer();
      const snapshot = await saveSession(server);
      const { client, fetch } = startStep(server, { snapshot, fetch: given });
      server.use(
        (_, response) => void response.writeHead(status, { location: other.origin }).end(),
      );
      const data = { reason: "redirect", origin: server.origin, ...(given && { status }) };
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

test.each([
  ["/new", undefined],
  ["//user:hunter2@", own],
  [undefined, own],
])("one within the origin to %s is refused, and nothing repeats it", async (target, given) => {
  const server = await startMcpServer();
  const { client } = startStep(server, { snapshot: await saveSession(server), fetch: given });
  const location =
    target === undefined ? {} : { location: server.url.replace(/\/\/|\/mcp/, target) };
  server.use((_, response) => void response.writeHead(307, location).end());
  const error: unknown = await client.post(call).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "CONNECTION_UNAVAILABLE", data: { reason: "redirect" } });
  expect(inspect(error, { depth: null })).not.toContain("hunter2");
  expect(server.log).toEqual(["POST tools/call"]);
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
  watch.mockRestore();
  expect(seen).toEqual(["error"]);
});

test.each([
  ["Node's own fetch", undefined],
  ["undici's", undiciFetch as unknown as typeof fetch],
])("knows the words with which %s refuses a redirect", async (_, given = fetch) => {
  const server = await startHttpServer((__, response) => {
    response.writeHead(307, { location: "/new" }).end();
  });
  const endpoint = { url: new URL(server.origin), fetch: given };
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
