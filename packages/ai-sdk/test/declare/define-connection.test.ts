import { McpSessionError } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { defineMcpClientConnection } from "../../src/index.ts";

const valid = { url: "https://mcp.test/mcp", description: "A notebook." };
const define = (options: object) => defineMcpClientConnection(options as never);

function errorOf(work: () => unknown): McpSessionError {
  try {
    work();
  } catch (error) {
    if (McpSessionError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

const messageOf = (options: object) => errorOf(() => define({ ...valid, ...options })).message;

describe("accepts", () => {
  test.each<[string, object]>([
    ["a URL object", { url: new URL("http://127.0.0.1:8931/mcp?tenant=1") }],
    ["an @ in the query of a URL", { url: "https://mcp.test?user=a@b.test" }],
    ["an @ in the path of a URL", { url: "https://mcp.test/tools//@scope/mcp" }],
    [
      "all of a session's options",
      {
        session: {
          mode: "stateful",
          toolList: { maxAgeMs: 1, maxLength: 0 },
        },
      },
    ],
    ["an object that has tokens, and more", { auth: Object.freeze({ getToken() {}, start() {} }) }],
    [
      "an instance of a class that has tokens",
      {
        auth: new (class {
          getToken() {}
        })(),
      },
    ],
    ["an OAuth provider", { authProvider: { tokens: () => undefined } }],
    ["a function that returns an OAuth provider", { authProvider: () => undefined }],
    ["calls that wait, with limits", { waiting: { maxAgeMs: 3, onExpired: "fail" } }],
    [
      "calls that wait, with all that is new",
      { waiting: { for: ["task"], afterMs: 0, record: "first", maxRounds: 1, onSettled() {} } },
    ],
    ["calls that wait on a session", { waiting: true, session: "stateful" }],
    [
      "questions that are answered within the step, and tasks that wait",
      { waiting: { for: ["task", "stream"] }, onElicitation: () => ({}) },
    ],
    ["undefined for what is optional", { session: undefined, auth: undefined, timeouts: {} }],
  ])("%s", (_, options) => {
    expect(define({ ...valid, ...options })).toMatchObject({
      type: "mcp-client",
      options: { ...valid, ...options },
    });
  });

  test("a definition that cannot be changed afterwards", () => {
    const options = { ...valid };
    const connection = define(options);
    options.url = "https://elsewhere.test/mcp";
    expect(connection.options.url).toBe(valid.url);
    expect(() => Object.assign(connection.options, { url: "x" })).toThrow(TypeError);
    expect(() => Object.assign(connection, { options: {} })).toThrow(TypeError);
  });
});

describe("refuses, and names the field", () => {
  test.each<[string, object, string]>([
    ["a relative URL", { url: "/mcp" }, "url"],
    ["an ftp URL", { url: "ftp://mcp.test/mcp" }, "url"],
    ["a URL with credentials", { url: "https://user:secret-1@mcp.test/mcp" }, "url"],
    ["a URL with credentials and no slashes", { url: "https:user:secret-1@mcp.test/mcp" }, "url"],
    ["a URL object with credentials", { url: new URL("https://user:secret-1@mcp.test") }, "url"],
    ["an empty description", { description: "" }, "description"],
    ["an unknown key", { header: { "x-api-key": "secret-1" } }, "header"],
    ["auth that is a token", { auth: { token: "secret-1" } }, "auth.getToken"],
    ["auth with authProvider", { auth: { getToken() {} }, authProvider: () => undefined }, "auth"],
    ["an invalid header name", { headers: { "x api": "secret-1" } }, "headers.x api"],
    ["a header name with a line break", { headers: { "x\n": "secret-1" } }, "headers.x\n"],
    ["a header with a line break", { headers: { "x-a": "secret-1\nb" } }, "headers.x-a"],
    ["a header with a non-Latin value", { headers: { "x-a": "secret-1 ✓" } }, "headers.x-a"],
    ["headers that are a Headers object", { headers: new Headers() }, "headers"],
    ["allow together with block", { tools: { allow: ["a"], block: ["b"] } }, "tools"],
    ["an empty tool name", { tools: { allow: [""] } }, "tools.allow[0]"],
    ["no age", { waiting: { maxAgeMs: 0 } }, "waiting.maxAgeMs"],
    ["waiting that is off", { waiting: false }, "waiting"],
    ["waiting for nothing", { waiting: { for: [] } }, "waiting.for"],
    ["waiting for an unknown thing", { waiting: { for: ["tasks"] } }, "waiting.for[0]"],
    ["waiting for a text", { waiting: { for: "task" } }, "waiting.for"],
    ["less than no time", { waiting: { afterMs: -1 } }, "waiting.afterMs"],
    ["no round", { waiting: { maxRounds: 0 } }, "waiting.maxRounds"],
    ["an unknown time of a record", { waiting: { record: "early" } }, "waiting.record"],
    ["calls that wait and are answered", { waiting: true, onElicitation: () => ({}) }, "waiting"],
    [
      "calls that wait for a person and are answered",
      { waiting: { for: ["task", "person"] }, onElicitation: () => ({}) },
      "waiting",
    ],
  ])("%s", (_, options, field) => {
    const error = errorOf(() => define({ ...valid, ...options }));
    expect(error).toMatchObject({ code: "CONNECTION_INVALID", data: { field } });
    expect(error.message).toContain(`Connection option ${field} `);
    expect(error.message).not.toContain("secret-1");
  });

  test("says how to fix what is often wrong", () => {
    expect(messageOf({ url: "/mcp" })).toContain("absolute http(s) URL");
    expect(messageOf({ header: {} })).toContain("not a known option");
    expect(messageOf({ session: "statefull" })).toContain('"stateful"');
    expect(messageOf({ input: {} })).toContain("input is called waiting: give waiting: true");
    for (const list of [[], ["tasks"], "task"])
      expect(messageOf({ waiting: { for: list } })).toContain('"person", "task" and "stream"');
    expect(messageOf({ headers: { "x y": "" } })).toContain("HTTP header name");
    expect(messageOf({ auth: { getToken() {} }, authProvider() {} })).toContain("authProvider");
  });
});
