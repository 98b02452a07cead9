import { expect, test } from "vitest";
import { withoutRefused } from "./json-rpc.ts";

test.each([
  ['{"result":{"__proto__":{"x":1},"y":2}}', '{"result":{"y":2}}'],
  ['{"result":{"\\u005f_proto__":1}}', '{"result":{}}'],
  ['{"result":{"constructor":{"prototype":{}}}}', '{"result":{}}'],
  ['{"result": {"constructor": "a word"}}', '{"result":{"constructor":"a word"}}'],
  ['{"result":  {"text":"__proto__"}}', '{"result":  {"text":"__proto__"}}'],
])("takes out what a client refuses, and nothing else: %s", (text, expected) => {
  expect(withoutRefused(text)).toBe(expected);
});
