import { expect, test } from "vitest";
import { scrubError, scrubHeaders, scrubSessionId } from "./scrub-session-id.ts";

test("takes the id out of a text, wherever it stands", () => {
  expect(scrubSessionId("no s-1 here, s-1", "s-1")).toBe("no [session id] here, [session id]");
});

test("takes an id out that was escaped inside a JSON string", () => {
  const id = 'a"b\\c';
  const text = `${JSON.stringify({ message: `unknown session ${id}` })} ${id}`;
  expect(scrubSessionId(text, id)).toBe('{"message":"unknown session [session id]"} [session id]');
});

test("leaves the protocol and numbers of a JSON-RPC error intact, however short the id", () => {
  const error = { code: -32601, message: "no method for session 1", data: { session: "1", at: 1 } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, error });
  expect(JSON.parse(scrubSessionId(body, "1"))).toEqual({
    jsonrpc: "2.0",
    id: 1,
    error: {
      code: -32601,
      message: "no method for session [session id]",
      data: { session: "[session id]", at: 1 },
    },
  });
});

test("takes the id out of other JSON, keys included", () => {
  const body = JSON.stringify({ sessions: [{ "s-1": "unknown" }, "s-1 is gone", 7, null] });
  expect(JSON.parse(scrubSessionId(body, "s-1"))).toEqual({
    sessions: [{ "[session id]": "unknown" }, "[session id] is gone", 7, null],
  });
});

test("leaves a body without the id as it is, to the byte", () => {
  const body = '{ "error": { "code": 1.0, "message": "x" } }';
  expect(scrubSessionId(body, "s-1")).toBe(body);
});

test("takes the id out of every member of an error, and of an error of any shape", () => {
  const id = "secret";
  expect(scrubError({ code: "secret", data: null, secret: ["a secret"] }, id)).toEqual({
    code: "[session id]",
    data: null,
    "[session id]": ["a [session id]"],
  });
  expect(scrubError("no secret", id)).toBe("no [session id]");
  expect(scrubError(null, id)).toBeNull();
});

const deep = (value: string) => `${"[".repeat(100_000)}"${value}"${"]".repeat(100_000)}`;

test("takes the id out of a text that is nested deeper than the stack", () => {
  expect(scrubSessionId(deep("a secret"), "secret") === deep("a [session id]")).toBe(true);
});

test("takes the id out of an error of any depth", () => {
  const error = JSON.parse(`{"data":${deep("secret")}}`) as { data: unknown };
  let inner: any = scrubError(error, "secret").data;
  while (Array.isArray(inner)) inner = inner[0];
  expect(inner).toBe("[session id]");
});

test("takes the id out of headers", () => {
  const headers = new Headers({ "x-debug": "is secret", "content-type": "text/plain" });
  expect([...scrubHeaders(headers, "secret")]).toEqual([
    ["content-type", "text/plain"],
    ["x-debug", "is [session id]"],
  ]);
});
