import { createSessionSlot, McpSessionError } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { connectionUnavailable, restoreSessionError, withoutCause } from "./connection-error.ts";

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
    const error = new McpSessionError("REDIRECT_REFUSED", "No.", { data: { origin } });
    const named = restoreSessionError(error, "notes", undefined);
    expect(named).toMatchObject({
      code: "REDIRECT_REFUSED",
      message: "No.",
      data: { origin, connection: "notes" },
      cause: error,
    });
    expect(restoreSessionError(named, "other", undefined)).toBe(named);
  });
});

describe("connectionUnavailable", () => {
  test("keeps an error of ours", () => {
    const error = new McpSessionError("FETCH_REQUIRED", "No.", { data: { connection: "notes" } });
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
    expect(error.message).toContain(`${origin} could not be reached or refused with HTTP 503`);
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
    expect(message).toContain(`could not be reached or refused (${code}). The connection`);
  });

  test.each(["access_token=secret", "secret", -32000, ""])("names no other code: %j", (code) => {
    const error = Object.assign(new Error("x"), { code });
    const { message } = connectionUnavailable(error, "notes", origin);
    expect(message).toContain("refused; the cause of the thrown error says why. The connection");
  });

  test("ends at causes that go round in a circle", () => {
    const error = new Error("x");
    error.cause = error;
    expect(connectionUnavailable(error, "notes", origin).cause).toBe(error);
  });

  test.each([undefined, null, "x", {}])("takes anything that was thrown: %j", (thrown) => {
    const error = connectionUnavailable(thrown, "notes", origin);
    expect(error.data).toEqual({ connection: "notes", origin });
  });
});

test("withoutCause leaves code, message and data", () => {
  const error = connectionUnavailable(new Error("secret"), "notes", origin);
  const copy = withoutCause(error);
  expect(McpSessionError.isInstance(copy)).toBe(true);
  const { code, message, data } = error;
  expect(copy).toMatchObject({ code, message, data });
  expect(copy).not.toHaveProperty("cause");
});
