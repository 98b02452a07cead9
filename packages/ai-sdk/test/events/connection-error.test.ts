import { MCPClientError } from "@ai-sdk/mcp";
import { createSessionSlot, McpSessionError } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import {
  connectionUnavailable,
  requestError,
  restoreSessionError,
  withoutCause,
} from "../../../sessions/src/events/connection-error.ts";

const origin = "http://127.0.0.1";

/** As a client hands on a JSON-RPC error that the session fetch delivered. */
const delivered = (code: unknown) =>
  Object.assign(new Error("The answer was lost."), {
    code: -32000,
    data: { code, method: "tools/call", origin, receipt: "made up" },
  });

describe("restoreSessionError", () => {
  test.each([
    // The codes of a server are the server's: "not carried out" must not be its to say.
    ["a code that a server made up", delivered("SESSION_LOST")],
    ["a receipt that a server made up", delivered("OUTCOME_UNKNOWN")],
    ["no data", new Error("x")],
    ["data that is null", Object.assign(new Error("x"), { data: null })],
    ["no message", { data: { code: "SESSION_LOST" } }],
    ["undefined", undefined],
    ["null", null],
    ["a string", "SESSION_LOST"],
  ])("leaves an error with %s as it is", (_, error) => {
    expect(restoreSessionError(error, "notes", createSessionSlot())).toBe(error);
  });

  test("adds the connection to an error of ours, once", () => {
    const error = new McpSessionError("CONNECTION_UNAVAILABLE", "No.", {
      data: { reason: "redirect", origin },
    });
    const named = restoreSessionError(error, "notes", undefined);
    expect(named).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: "No.",
      data: { reason: "redirect", origin, connection: "notes" },
      cause: error,
    });
    expect(restoreSessionError(named, "other", undefined)).toBe(named);
  });
});

describe("connectionUnavailable", () => {
  test("keeps an error of ours", () => {
    const error = new McpSessionError("CONNECTION_UNAVAILABLE", "No.", {
      data: { reason: "other-origin", connection: "notes" },
    });
    expect(connectionUnavailable(error, "notes", origin)).toBe(error);
  });

  test("says where, with which status, and why in the cause", () => {
    const cause = Object.assign(new Error("x"), { statusCode: 503 });
    const error = connectionUnavailable(cause, "notes", origin);
    expect(error).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { connection: "notes", origin, status: 503 },
      cause,
    });
    expect(error.message).toContain(`the server at ${origin} refused with HTTP 503. `);
  });

  test.each([
    ["itself", Object.assign(new Error("x"), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
    [
      "a cause of its cause",
      new Error("x", {
        cause: new Error("y", { cause: { code: "UND_ERR_CONNECT_TIMEOUT" } }),
      }),
      "UND_ERR_CONNECT_TIMEOUT",
    ],
  ])("names the code of a system error: %s", (_, cause, code) => {
    const { message } = connectionUnavailable(cause, "notes", origin);
    expect(message).toContain(`no answer from ${origin}: `);
    expect(message).toContain(`(${code}). Nothing was sent. The connection`);
  });

  test.each(["access_token=secret", "secret", ""])("names no other code: %j", (code) => {
    const error = Object.assign(new Error("x"), { code });
    const { message } = connectionUnavailable(error, "notes", origin);
    expect(message).toContain("could not be reached or refused; see the cause. The connection");
    expect(message).not.toContain("secret");
  });

  test("quotes a JSON-RPC error of the server", () => {
    const error = new MCPClientError({ message: "Full\n\tuntil noon", code: -32000 });
    expect(connectionUnavailable(error, "notes", origin)).toMatchObject({
      message: expect.stringContaining('refused, and says "Full until noon". The connection'),
      data: { reason: "refused" },
    });
  });

  test("ends at causes that go round in a circle", () => {
    const error = new Error("x");
    error.cause = error;
    expect(connectionUnavailable(error, "notes", origin).cause).toBe(error);
  });

  test.each([undefined, null, "x", {}])("takes anything that was thrown: %j", (thrown) => {
    const error = connectionUnavailable(thrown, "notes", origin);
    expect(error.data).toEqual({ connection: "notes", origin, reason: "other" });
  });
});

describe("requestError", () => {
  const use = { connection: "notes", origin };
  const call = { ...use, method: "tools/call" };
  const reset = new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });

  test.each([
    ["the server's own JSON-RPC error", new MCPClientError({ message: "x", code: -32602 })],
    ["a misuse of the client", new MCPClientError({ message: "Server does not support tools" })],
    ["an error of the application", new TypeError("Cannot read properties of undefined")],
    ["a result that the application's schema refuses", withCause("outputSchema", "ZodError")],
    ["no error", undefined],
  ])("leaves %s as it is", (_, error) => {
    expect(requestError(error, call)).toBe(error);
  });

  test.each([
    [
      "a login that only the user can make",
      withName("UnauthorizedError"),
      "authorization-required",
    ],
    ["a login that fails", withName("MCPClientOAuthError"), "authorization-required"],
    ["a refusal", answered(429), "refused"],
    ["a page", answered(200), "not-mcp"],
    ["JSON that is none", new SyntaxError("Unexpected token"), "not-mcp"],
    ["a broken connection", reset, "reset"],
    ["one that another error has for its cause", withCause("Failed to process", reset), "reset"],
    [
      "a time limit of the client",
      new MCPClientError({ message: "timed out after 5ms" }),
      "timeout",
    ],
  ])("says that %s makes the connection unavailable", (_, error, reason) => {
    expect(requestError(error, use)).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { connection: "notes", origin, reason },
      cause: error,
    });
  });

  test("does not know whether a call was carried out whose connection broke", () => {
    expect(requestError(reset, call)).toMatchObject({
      code: "OUTCOME_UNKNOWN",
      message: expect.stringMatching(/broke before an answer came \(ECONNRESET\)\. Whether the/),
      data: { method: "tools/call", reason: "reset" },
    });
  });

  test.each([
    [500, true],
    [502, true],
    [504, true],
    [401, false],
    [403, false],
    [404, false],
    [429, false],
    [503, true],
  ])("says of a call that was refused with %i whether that is unknown: %s", (status, isUnknown) => {
    const { code, message } = requestError(answered(status), call) as McpSessionError;
    expect(code).toBe("CONNECTION_UNAVAILABLE");
    expect(message.includes("Whether the call was carried out is unknown")).toBe(isUnknown);
  });

  test.each([
    ["a text", "Not\n  now.", ', and says "Not now."'],
    ["a JSON-RPC error", '{"error":{"message":"Not now."}}', ', and says "Not now."'],
    ["another JSON", '{"message":"Not now."}', ', and says "Not now."'],
    ["an OAuth error", '{"error":"invalid_token","a":1}', ', and says "invalid_token"'],
    ["a page", "  <!doctype html><title>canary</title>", ""],
    ["nothing", " ", ""],
    ["too much", "x".repeat(500), `, and says "${"x".repeat(200)}…"`],
  ])("quotes %s", (_, body, words) => {
    const { message } = requestError(answered(403, body), use) as Error;
    expect(message).toContain(`refused with HTTP 403${words}. The`);
  });
});

function answered(statusCode: number, responseBody = ""): Error {
  return new MCPClientError({ message: "x", statusCode, responseBody });
}

function withName(name: string): Error {
  return Object.assign(new Error("x"), { name });
}

function withCause(message: string, cause: string | Error): Error {
  return new MCPClientError({
    message,
    cause: typeof cause === "string" ? withName(cause) : cause,
  });
}

test("withoutCause leaves code, message and data", () => {
  const error = connectionUnavailable(new Error("secret"), "notes", origin);
  const copy = withoutCause(error);
  expect(McpSessionError.isInstance(copy)).toBe(true);
  const { code, message, data } = error;
  expect(copy).toMatchObject({ code, message, data });
  expect(copy).not.toHaveProperty("cause");
});
