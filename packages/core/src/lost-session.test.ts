import { describe, expect, test } from "vitest";
import { isSessionLost } from "./lost-session.ts";

const error = (code: number, message: string, id: unknown = null) =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });

describe("a 404 is a loss", () => {
  test.each([
    ["as plain text", "Session not found\n"],
    ["with an empty body", ""],
    ["as HTML", "<h1>Not found</h1>"],
    ["as a JSON-RPC error without id", error(-32001, "Session not found")],
    ["as a JSON-RPC error with the request's id", error(-32001, "Session not found", 3)],
    ["under the general server error code", error(-32000, "Session not found")],
    ["with a JSON body that is no JSON-RPC", '{"error":"unknown session"}'],
    ["with a JSON-RPC body without error", '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ["with an error that is no object", '{"jsonrpc":"2.0","id":1,"error":"gone"}'],
  ])("%s", (_, body) => {
    expect(isSessionLost({ status: 404, body })).toBe(true);
  });
});

describe("a 404 has another meaning", () => {
  test.each([
    ["unknown method", error(-32601, "Method not found")],
    ["invalid params", error(-32602, "Invalid params")],
    ["header mismatch", error(-32020, "Header mismatch")],
    ["missing capability", error(-32021, "Missing capability")],
    ["unsupported version by code", error(-32022, "Unsupported")],
    ["unsupported version in words", "Unsupported protocol version"],
    ["unsupported version by header name", error(-32000, "Bad MCP-Protocol-Version header")],
  ])("%s", (_, body) => {
    expect(isSessionLost({ status: 404, body })).toBe(false);
  });
});

test.each([200, 400, 401, 403, 405, 409, 410, 429, 500, 502, 503])(
  "%i is no loss, whatever it says",
  (status) => {
    expect(isSessionLost({ status, body: error(-32001, "Session not found") })).toBe(false);
  },
);
