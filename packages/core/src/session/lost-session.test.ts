import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classifyLoss } from "./lost-session.ts";

const error = (code: number, message: string, id: unknown = null) =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });

describe("a 404 is a definite loss", () => {
  test.each([
    ["as plain text", "Session not found\n"],
    ["with an empty body", ""],
    ["as a JSON-RPC error without id", error(-32001, "Session not found")],
    ["as a JSON-RPC error with the request's id", error(-32001, "Session not found", 3)],
    ["under the general server error code", error(-32000, "Session not found")],
    ["under the code of unknown resources", error(-32002, "Session not found")],
    ["with a JSON body that is no JSON-RPC", '{"error":"unknown session"}'],
    ["with a JSON-RPC body that has nothing else", '{"jsonrpc":"2.0","id":1}'],
    ["with an error that is no object", '{"jsonrpc":"2.0","id":1,"error":"session expired"}'],
  ])("%s", (_, body) => {
    expect(classifyLoss({ status: 404, body })).toBe("definite");
  });
});

// The session is given up, and the request may have been processed.
describe("a 404 that may be of a gateway is a probable loss", () => {
  test.each([
    ["HTML", "<h1>Not found</h1>"],
    ["HTML of a login", "<p>Your session has expired"],
    ["text of a router", "404 page not found"],
    ["JSON about something else", '{"error":"no upstream"}'],
    ["a JSON-RPC result", '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ["a JSON-RPC error about something else", error(-32603, "Internal error")],
  ])("%s", (_, body) => {
    expect(classifyLoss({ status: 404, body })).toBe("probable");
  });
});

// What the servers of WIRE send, to the letter.
describe("a 400 of a session router is a definite loss", () => {
  test.each([
    ["server-everything", error(-32000, "Bad Request: No valid session ID provided")],
    ["SDK v1 after a restart", error(-32000, "Bad Request: Server not initialized")],
    ["SDK v1 after a DELETE", error(-32000, "Bad Request: Mcp-Session-Id header is required")],
    ["plain text", "Bad Request: No valid session ID provided"],
  ])("%s", (_, body) => {
    expect(classifyLoss({ status: 400, body })).toBe("definite");
  });
});

describe("another refusal that speaks of the session is a probable loss", () => {
  test.each([
    [400, "Invalid session ID"],
    [400, error(-32000, "Unknown session", 7)],
    [400, '{"message":"session id could not be decoded: invalid"}'],
    [409, "The session has expired"],
    [410, "session_id no longer valid"],
    [422, "Missing or expired MCP session."],
    [400, "There is no active session for this client"],
    [400, "SESSION NOT FOUND"],
  ])("%i %s", (status, body) => {
    expect(classifyLoss({ status, body })).toBe("probable");
  });
});

test("reads the words of a refusal, however they are written", () => {
  const letters = fc.constantFrom("Session not found", "Mcp-Session-Id header is required");
  fc.assert(
    fc.property(letters, fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), (said, are) => {
      const body = error(-32000, "?").replace(
        "?",
        Array.from(said)
          .map((letter, at) =>
            are[at] ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}` : letter,
          )
          .join(""),
      );
      const plain = error(-32000, said);
      expect(classifyLoss({ status: 400, body })).toBe(classifyLoss({ status: 400, body: plain }));
      expect(classifyLoss({ status: 400, body })).not.toBe("none");
    }),
  );
});

describe("a refusal has another meaning", () => {
  test.each([
    ["unknown method", error(-32601, "Method not found")],
    ["invalid params", error(-32602, "Invalid params: session not found")],
    ["header mismatch", error(-32020, "Header mismatch")],
    ["missing capability", error(-32021, "Missing capability")],
    ["unsupported version by code", error(-32022, "Unsupported")],
    ["unsupported version in words", "Unsupported protocol version for this session: invalid"],
    ["unsupported version by header name", error(-32000, "Bad MCP-Protocol-Version header")],
    ["unknown resource", error(-32002, "Resource not found", 3)],
    ["one of a batch", `[${error(-32601, "Method not found")}]`],
  ])("%s", (_, body) => {
    for (const status of [400, 404]) expect(classifyLoss({ status, body })).toBe("none");
  });

  test.each([
    [400, "Bad Request"],
    [400, error(-32000, "Bad Request: Unsupported content")],
    [400, "Server already initialized"],
    [409, "Conflict: Only one SSE stream is allowed per session"],
    [406, "Not Acceptable: Client must accept text/event-stream"],
    [413, "Payload too large"],
    [400, `session${" ".repeat(200)}not found`],
    [400, `${" ".repeat(5_000)}session not found`],
  ])("%i %s", (status, body) => {
    expect(classifyLoss({ status, body })).toBe("none");
  });
});

test("never takes an answer of the application for a loss, and never fails", () => {
  const words = fc.constantFrom("session", "not found", "expired", "No valid session ID provided");
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    fc.array(words).map((list) => list.join(" ")),
  );
  fc.assert(
    fc.property(fc.integer({ min: 200, max: 399 }), body, (status, text) => {
      expect(classifyLoss({ status, body: text })).toBe("none");
      expect(["definite", "probable", "none"]).toContain(classifyLoss({ status: 400, body: text }));
    }),
  );
});
