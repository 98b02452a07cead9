import { describe, expect, test } from "vitest";
import { routeMessage } from "./route-message.ts";
import type { JsonRpcMessage } from "./wire/json-rpc.ts";

const isExcepted = (message: JsonRpcMessage) =>
  "method" in message && message.method === "tools/call" && message.params?.["name"] === "aside";
const session = [false, isExcepted] as const;
const post = { method: "POST", headers: new Headers() };
const request = (method: string, params?: Record<string, unknown>) =>
  ({ jsonrpc: "2.0", id: 1, method, ...(params && { params }) }) as const;
const notification = (method: string) => ({ jsonrpc: "2.0", method }) as const;
const newEra = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };

describe("each row of the table in docs/concepts.md has its route", () => {
  test.each<[JsonRpcMessage, string]>([
    [request("server/discover", newEra), "probe"],
    [request("initialize"), "initialize"],
    [notification("notifications/initialized"), "initialized"],
    [request("tools/list"), "list"],
    [request("tools/call", { name: "echo" }), "exchange"],
    [request("tools/call", { name: "aside" }), "except"],
    [request("tools/call", newEra), "pass"],
    [notification("notifications/cancelled"), "exchange"],
    [notification("initialize"), "exchange"],
    [{ jsonrpc: "2.0", id: 1, result: {} }, "exchange"],
  ])("%j goes to %s", (message, to) => {
    expect(routeMessage(post, message, ...session)).toBe(to);
  });

  test("a batch, or a body that is no JSON-RPC, goes out as it is", () => {
    expect(routeMessage(post, undefined, ...session)).toBe("pass-on-session");
  });

  test.each([
    [{}, "listen"],
    [{ "last-event-id": "1" }, "resume"],
    [{ "last-event-id": "" }, "resume"],
  ])("GET with %j goes to %s", (headers, to) => {
    const get = { method: "GET", headers: new Headers(headers) };
    expect(routeMessage(get, undefined, ...session)).toBe(to);
  });

  test("DELETE is answered here", () => {
    const { headers } = post;
    expect(routeMessage({ method: "DELETE", headers }, undefined, ...session)).toBe("close");
  });

  test("everything passes to a server that has no sessions", () => {
    const stateless = [true, isExcepted] as const;
    for (const method of ["POST", "GET", "DELETE"]) {
      const { headers } = post;
      expect(routeMessage({ method, headers }, request("ping"), ...stateless)).toBe("pass");
    }
  });
});
