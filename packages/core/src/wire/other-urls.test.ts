import { describe, expect, test } from "vitest";
import { startHttpServer } from "../../test/http-server.ts";
import { sendText, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";

/** An authorization server on another origin. */
const startOtherServer = () => startHttpServer((_, response) => sendText(response, 200, "other"));

const headers = { "Mcp-Session-Id": "adopted-by-a-client", "x-kept": "1" };

describe("another path on the same origin", () => {
  test.each(["/token", "/mcp/", "/mcp?tenant=1", "/MCP", "/"])(
    "%s passes as it is, without an id",
    async (path) => {
      const server = await startMcpServer();
      const { fetch } = startStep(server, { snapshot: await saveSession(server) });
      server.use((_, response) => sendText(response, 200, "other"));
      const response = await fetch(server.origin + path, { method: "POST", headers, body: "a=b" });
      expect(await response.text()).toBe("other");
      expect(server.requests).toMatchObject([
        { method: "POST", path, body: "a=b", headers: { "x-kept": "1" } },
      ]);
      expect(server.requests[0]?.headers).not.toHaveProperty("mcp-session-id");
    },
  );

  test("is refused when it redirects", async () => {
    const server = await startMcpServer((_, response) => {
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    await expect(startStep(server).fetch(`${server.origin}/token`)).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { reason: "redirect", method: "GET", origin: server.origin, status: 302 },
    });
    expect(server.log).toEqual(["GET"]);
  });

  test("keeps what a Request says, apart from the id", async () => {
    const server = await startMcpServer((_, response) => sendText(response, 200, ""));
    const request = new Request(`${server.origin}/token`, { method: "PUT", headers, body: "a" });
    await startStep(server).fetch(request);
    expect(server.requests).toMatchObject([
      { method: "PUT", body: "a", headers: { "x-kept": "1" } },
    ]);
    expect(server.requests[0]?.headers).not.toHaveProperty("mcp-session-id");
  });
});

describe("another origin", () => {
  test("is refused without a base fetch, before anything is sent", async () => {
    const [server, other] = [await startMcpServer(), await startOtherServer()];
    const { fetch } = startStep(server);
    for (const input of [other.origin, new URL(other.origin), new Request(other.origin)]) {
      await expect(fetch(input)).rejects.toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        data: { reason: "other-origin", method: "GET", origin: other.origin },
      });
    }
    expect(other.requests).toEqual([]);
  });

  test("counts the port and the scheme", async () => {
    const { fetch } = startStep({ url: "http://127.0.0.1:8080/mcp" });
    for (const url of [
      "https://127.0.0.1:8080/mcp",
      "http://127.0.0.1:8081/mcp",
      "http://localhost:8080/mcp",
    ]) {
      await expect(fetch(url)).rejects.toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        data: { reason: "other-origin" },
      });
    }
  });

  test("passes with the application's own fetch, without an id", async () => {
    const [server, other] = [await startMcpServer(), await startOtherServer()];
    const { fetch } = startStep(server, { fetch: globalThis.fetch });
    expect(await (await fetch(`${other.origin}/token`, { headers })).text()).toBe("other");
    expect(other.requests).toMatchObject([{ path: "/token", headers: { "x-kept": "1" } }]);
    expect(other.requests[0]?.headers).not.toHaveProperty("mcp-session-id");
  });
});
