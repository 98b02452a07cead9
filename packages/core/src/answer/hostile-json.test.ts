import { describe, expect, test } from "vitest";
import { callHostile, watchUnhandledRejections } from "../../test/hostile-server.ts";

watchUnhandledRejections();

const result = (id: unknown, value: unknown = { n: 1 }) => ({ jsonrpc: "2.0", id, result: value });
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const json = (value: unknown) => JSON.stringify(value);

/** What the server sends as `application/json`, and what the client sees of it. */
const bodies: [name: string, body: (id: string) => string, seen: string][] = [
  // Nesting.
  ["a deep result", (id) => `{"id":"${id}","jsonrpc":"2.0","result":${deep(2_000)}}`, "result"],
  [
    "a very deep result, id first",
    (id) => `{"id":"${id}","jsonrpc":"2.0","result":${deep(100_000)}}`,
    "result",
  ],
  [
    "a very deep result, id last",
    (id) => `{"jsonrpc":"2.0","result":${deep(100_000)},"id":"${id}"}`,
    "result",
  ],
  [
    "a very deep result, id between",
    (id) => `{"result":${deep(50_000)},"id":"${id}","jsonrpc":"2.0","x":${deep(50_000)}}`,
    "OUTCOME_UNKNOWN",
  ],
  [
    "a very deep error",
    (id) =>
      `{"jsonrpc":"2.0","id":"${id}","error":{"code":1,"message":"m","data":${deep(100_000)}}}`,
    "OUTCOME_UNKNOWN",
  ],
  ["brackets that never close", () => "[".repeat(1_000_000), "OUTCOME_UNKNOWN"],
  // Size.
  // Keys that are special in JavaScript.
  [
    "__proto__ in the result",
    (id) => `{"jsonrpc":"2.0","id":"${id}","result":{"__proto__":{"polluted":1}}}`,
    "result",
  ],
  [
    "__proto__ in the message",
    (id) => `{"__proto__":{"polluted":1,"error":{}},"jsonrpc":"2.0","id":"${id}","result":{}}`,
    "OUTCOME_UNKNOWN",
  ],
  [
    "__proto__ in the error",
    (id) =>
      `{"jsonrpc":"2.0","id":"${id}","error":{"__proto__":{"polluted":1},"code":1,"message":"m","data":{"__proto__":{"polluted":1}}}}`,
    "error",
  ],
  [
    "constructor, toString and toJSON",
    (id) =>
      `{"jsonrpc":"2.0","id":"${id}","result":{"constructor":{"prototype":{"polluted":1}},"toString":1,"toJSON":1,"then":1}}`,
    "result",
  ],
  [
    "only __proto__ for an id",
    (id) => `{"__proto__":{"id":"${id}"},"jsonrpc":"2.0","result":{}}`,
    "OUTCOME_UNKNOWN",
  ],
  // Ids.
  ["its id after another", (id) => `{"id":"x","jsonrpc":"2.0","id":"${id}","result":{}}`, "result"],
  [
    "its id before another",
    (id) => `{"id":"${id}","jsonrpc":"2.0","id":"x","result":{}}`,
    "OUTCOME_UNKNOWN",
  ],
  ["null for an id", () => json(result(null)), "OUTCOME_UNKNOWN"],
  ["no id", () => json(result(undefined)), "OUTCOME_UNKNOWN"],
  [
    "an error with null for an id",
    () => json({ jsonrpc: "2.0", id: null, error: { code: 1, message: "m" } }),
    "error",
  ],
  ["its id as a list", (id) => json(result([id])), "OUTCOME_UNKNOWN"],
  ["the number in its id", (id) => json(result(Number(id.split(".")[1]))), "OUTCOME_UNKNOWN"],
  ["the client's id, which it cannot know", () => json(result(0)), "OUTCOME_UNKNOWN"],
  ["its id in other letters", (id) => json(result(id.toUpperCase())), "OUTCOME_UNKNOWN"],
  [
    "its id escaped",
    (id) =>
      `{"jsonrpc":"2.0","id":"\\u00${id.charCodeAt(0).toString(16)}${id.slice(1)}","result":{}}`,
    "result",
  ],
  // Types.
  ["null", () => "null", "OUTCOME_UNKNOWN"],
  ["a text", () => '"Session not found"', "OUTCOME_UNKNOWN"],
  ["another version", (id) => json({ jsonrpc: "1.0", id, result: {} }), "OUTCOME_UNKNOWN"],
  ["a result that is null", (id) => json(result(id, null)), "OUTCOME_UNKNOWN"],
  ["neither result nor error", (id) => json({ jsonrpc: "2.0", id }), "OUTCOME_UNKNOWN"],
  [
    "both result and error",
    (id) => json({ ...result(id), error: { code: 1, message: "m" } }),
    "OUTCOME_UNKNOWN",
  ],
  ["an error that is a text", (id) => json({ jsonrpc: "2.0", id, error: "no" }), "OUTCOME_UNKNOWN"],
  [
    "an error of odd types",
    (id) => json({ jsonrpc: "2.0", id, error: { code: "x", message: 1, data: [] } }),
    "OUTCOME_UNKNOWN",
  ],
  [
    "a request instead of an answer",
    (id) => json({ jsonrpc: "2.0", id, method: "ping" }),
    "OUTCOME_UNKNOWN",
  ],
  [
    "a method that is no text",
    (id) => json({ jsonrpc: "2.0", id, method: {}, result: {} }),
    "OUTCOME_UNKNOWN",
  ],
  // Batches.
  ["an empty batch", () => "[]", "OUTCOME_UNKNOWN"],
  ["a batch of nothing", () => "[null,1,[]]", "OUTCOME_UNKNOWN"],
  ["a batch that answers twice", (id) => json([result(id), result(id)]), "result"],
  [
    "a batch with it among others",
    (id) => json([{ jsonrpc: "2.0", method: "x" }, result("x"), result(id)]),
    "result",
  ],
  // Text.
  ["a byte order mark", (id) => `\uFEFF${json(result(id))}`, "result"],
  ["two answers after each other", (id) => json(result(id)).repeat(2), "OUTCOME_UNKNOWN"],
  ["half an answer", (id) => json(result(id)).slice(0, -1), "OUTCOME_UNKNOWN"],
  [
    "half a surrogate pair",
    (id) => `{"jsonrpc":"2.0","id":"${id}","result":{"t":"\\ud800"}}`,
    "result",
  ],
  [
    "NUL in a text",
    (id) => `{"jsonrpc":"2.0","id":"${id}","result":{"t":"\u0000"}}`,
    "OUTCOME_UNKNOWN",
  ],
  ["nothing", () => "", "OUTCOME_UNKNOWN"],
  ["HTML", () => "<!doctype html><title>Sign in</title>", "OUTCOME_UNKNOWN"],
];

describe("an answer in JSON that is", () => {
  test.each(bodies)("%s", async (_, body, seen) => {
    const outcome = await callHostile((response, id) => {
      response.writeHead(200, { "content-type": "application/json" }).end(body(id));
    });
    expect(outcome.seen).toBe(seen);
    expect(Object.prototype).not.toHaveProperty("polluted");
  });
});
