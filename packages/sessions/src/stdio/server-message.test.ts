import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answeredId, isTooComplex, parseLine } from "./server-message.ts";

const special = fc.constantFrom('"', "\\", "[", "{", ",", "a", "é", "\n");
const nested = (levels: number) => Buffer.from(`${"[".repeat(levels)}${"]".repeat(levels)}`);

describe("a JSON text", () => {
  test("may have a thousand levels and two million values", () => {
    expect([isTooComplex(nested(1_000)), isTooComplex(nested(1_001))]).toEqual([false, true]);
    expect(isTooComplex(Buffer.from(`[${"{},".repeat(999_000)}1]`))).toBe(false);
    expect(isTooComplex(Buffer.from(`[${"{},".repeat(1_001_000)}1]`))).toBe(true);
  });

  test("may have whatever it wants in its texts", () => {
    const text = "[{,".repeat(2_000_000);
    expect(isTooComplex(Buffer.from(JSON.stringify([text, `\\"${text}\\`, "\\"])))).toBe(false);
    expect(isTooComplex(Buffer.concat([Buffer.from(JSON.stringify([text])), nested(1_001)]))).toBe(
      true,
    );
  });

  // Looked at from each text to the end, it would take hours.
  test("is left to the parser soon if it is none", () => {
    expect(isTooComplex(Buffer.alloc(64 * 1024 * 1024, '"'))).toBe(false);
  });

  test("is not mistaken for a simple one, whatever texts are in it", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: special })), (texts) => {
        const json = Buffer.from(`[${[...texts.map((text) => JSON.stringify(text)), "0"].join()},`);
        expect(isTooComplex(json)).toBe(false);
        expect(isTooComplex(Buffer.concat([json, nested(1_000)]))).toBe(true);
      }),
    );
  });
});

const message = (members: string) => Buffer.from(`{${members}}`);

test.each([
  ['"jsonrpc":"2.0","id":7,"result":{', 7],
  ['"id": "a" , "jsonrpc":"2.0","error" : {', "a"],
  ['"result":{},"jsonrpc":"2.0","id":7', 7],
  ['"jsonrpc":"2.0","result":{},"id":7', 7],
  ['"jsonrpc":"2.0","id":7,"method":"ping"', undefined],
  ['"method":"ping","jsonrpc":"2.0","id":7', undefined],
  ['"jsonrpc":"2.0","id":[7],"result":{', undefined],
  ["", undefined],
])("a broken line { %s } may have been an answer to: %s", (members, id) => {
  const line = message(members);
  expect(answeredId(line, line)).toBe(id);
});

const parse = (value: unknown) => parseLine(Buffer.from(JSON.stringify(value)));

test("the messages of a batch are taken, the rest is left out", () => {
  const ping = { jsonrpc: "2.0", method: "ping", id: 1 };
  expect(parse([ping, 7])).toEqual({ messages: [ping], isWhole: false });
  expect(parse([ping])).toEqual({ messages: [ping], isWhole: true });
  expect(parse([])).toEqual({ messages: [], isWhole: false });
});

test.each(["", "Listening on port 7", '{"jsonrpc":'])("%j is no message", (line) => {
  expect(parseLine(Buffer.from(line))).toEqual({ messages: [], isWhole: false });
});
