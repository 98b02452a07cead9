import { inspect } from "node:util";
import { MCPClientError } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { scrubError, secretScrubber } from "../../../sessions/src/events/scrub-secrets.ts";

describe("secretScrubber", () => {
  test.each([
    [
      "a token",
      "Bearer abcdefgh was refused",
      ["Bearer abcdefgh"],
      "Bearer [redacted] was refused",
    ],
    ["a token alone", "bad token: abcdefgh", ["Bearer abcdefgh"], "bad token: [redacted]"],
    ["a key", "abcdefgh, abcdefgh", ["abcdefgh"], "[redacted], [redacted]"],
    ["a key with quotes in JSON", '{"a":"abc\\"efgh"}', ['abc"efgh'], '{"a":"[redacted]"}'],
    ["several", "abcdefgh 12345678", ["abcdefgh", "12345678"], "[redacted] [redacted]"],
    ["what is trimmed on the wire", "bad: abcdefgh", ["abcdefgh\n"], "bad: [redacted]"],
    ["a value of two words", "wrong password hunter2", ["password hunter2"], "wrong [redacted]"],
    ["its second word", "wrong: hunter2!", ["password hunter2"], "wrong: [redacted]!"],
    ["a sentence", "no: open the door now", ["open the door now"], "no: [redacted]"],
    ["a value after an unknown scheme", "bad abcdefgh", ["Hawk abcdefgh"], "bad [redacted]"],
    [
      "a password that was encoded",
      "bob may not use hunter2-hunter2",
      [`Basic ${btoa("bob:hunter2-hunter2")}`],
      "bob may not use [redacted]",
    ],
    ["a short key", "wrong: abc123", ["abc123"], "wrong: [redacted]"],
    ["no short values", "tenant 1 of 1", ["1", ""], "tenant 1 of 1"],
    ["no short words", "the door is open", ["open the"], "the door is open"],
  ])("takes out %s", (_, text, values, expected) => {
    expect(secretScrubber(values)(text)).toBe(expected);
  });
});

const secret = "canary-token";
const scrub = secretScrubber([secret]);
const printed = (error: unknown) => inspect(error, { depth: Infinity, showHidden: true });

describe("scrubError", () => {
  test("leaves an error without secrets as it is", () => {
    const error = new Error("no", { cause: new TypeError("fetch failed", { cause: { code: 1 } }) });
    expect(scrubError(error, scrub)).toBe(error);
    for (const thrown of [undefined, null, 1, { code: 1, data: { a: ["b"] } }]) {
      expect(scrubError(thrown, scrub)).toBe(thrown);
    }
  });

  test("takes secrets out of the message, the stack, the data and all causes", () => {
    const cause = new AggregateError([new Error(`1 ${secret}`), `2 ${secret}`], `all ${secret}`, {
      cause: { headers: { authorization: secret }, list: [[secret]] },
    });
    const data = { [secret]: [secret, { deep: secret }] };
    const error = new MCPClientError({ message: `bad ${secret}`, code: -32000, data, cause });
    expect(printed(error)).toContain(secret);
    const scrubbed = scrubError(error, scrub);
    expect(printed(scrubbed)).not.toContain(secret);
    expect(printed(error)).toContain(secret);
    expect(MCPClientError.isInstance(scrubbed)).toBe(true);
    expect(scrubbed).toBeInstanceOf(MCPClientError);
    expect(scrubbed).toMatchObject({
      name: "MCPClientError",
      message: "bad [redacted]",
      code: -32000,
      data: { "[redacted]": ["[redacted]", { deep: "[redacted]" }] },
      cause: { message: "all [redacted]", errors: [{ message: "1 [redacted]" }, "2 [redacted]"] },
    });
  });

  test("keeps the class of an error of ours", () => {
    const error = new McpSessionError("SESSION_LOST", "gone", { cause: new Error(secret) });
    const scrubbed = scrubError(error, scrub);
    expect(McpSessionError.isInstance(scrubbed)).toBe(true);
    expect(scrubbed).toMatchObject({ code: "SESSION_LOST", cause: { message: "[redacted]" } });
  });

  test("takes secrets out of data of any depth", () => {
    const depth = 50_000;
    const data = JSON.parse(`${"[".repeat(depth)}"${secret}"${"]".repeat(depth)}`) as unknown;
    const cause = JSON.parse(`${'{"a":'.repeat(depth)}"${secret}"${"}".repeat(depth)}`) as unknown;
    const { data: list, cause: object } = scrubError(
      new MCPClientError({ message: "deep", data: { data }, cause }),
      scrub,
    ) as any;
    let [inList, inObject] = [list.data, object];
    while (Array.isArray(inList)) inList = inList[0];
    while (typeof inObject === "object") inObject = inObject.a;
    expect([inList, inObject]).toEqual(["[redacted]", "[redacted]"]);
  });

  test("leaves an object of the application that goes round in a circle", () => {
    const cause: { self?: unknown } = {};
    cause.self = cause;
    const error = new Error("x", { cause });
    expect(scrubError(error, scrub)).toBe(error);
  });

  test("ends at causes that go round in a circle", () => {
    const error = new Error(secret);
    error.cause = error;
    expect(scrubError(error, scrub)).toMatchObject({ message: "[redacted]" });
  });
});
