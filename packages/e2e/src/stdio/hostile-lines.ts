const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const levels = 20_000;
const answer = (id: string, rest: string) => `{"jsonrpc":"2.0","id":${id},${rest}}`;
const notification = (params: string) =>
  `{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`;

/** Answers that a client cannot use, whole lines without their ends. `id` is JSON. */
export const brokenAnswers: Record<string, (id: string) => string | Buffer> = {
  "a deep result, id first": (id) => answer(id, `"result":${deep(levels)}`),
  "a deep result, id last": (id) => `{"result":${deep(levels)},"jsonrpc":"2.0","id":${id}}`,
  "a deep error": (id) => answer(id, `"error":{"code":1,"message":"m","data":${deep(levels)}}`),
  "five million values": (id) => answer(id, `"result":{"list":[${"0,".repeat(5_000_000)}0]}`),
  "a NUL inside a text": (id) => answer(id, `"result":{"text":"a\0b"}`),
  "half a message": (id) => answer(id, `"result":{"text":"cut`).slice(0, -1),
  "another version": (id) => answer(id, `"result":{}`).replace("2.0", "1.0"),
  "no version": (id) => `{"id":${id},"result":{}}`,
  "a result of no object": (id) => answer(id, `"result":[1]`),
  "neither result nor error": (id) => `{"jsonrpc":"2.0","id":${id}}`,
  "an error that is a text": (id) => answer(id, `"error":"no"`),
  "an error without a message": (id) => answer(id, `"error":{"code":1}`),
};

/** Lines for nobody: no client waits for what they are. */
export const strayLines: Record<string, string | Buffer> = {
  ...Object.fromEntries(
    Object.entries(brokenAnswers).map(([name, line]) => [`for nobody: ${name}`, line("999999")]),
  ),
  "an id with a toString of its own": answer('{"toString":1}', '"result":{}'),
  "an id that is a list": answer("[1]", '"result":{}'),
  "an id that is a deep list": answer(`${"[".repeat(9_000)}${"]".repeat(9_000)}`, '"result":{}'),
  "an id that is true": answer("true", '"result":{}'),
  "an id that is null": answer("null", '"error":{"code":-32700,"message":"m"}'),
  "an id that is a fraction": answer("0.5", '"result":{}'),
  "an id beyond numbers": answer("1e400", '"result":{}'),
  "an id that is __proto__": answer('"__proto__"', '"result":{}'),
  "a request with an odd id": answer('{"toString":1}', '"method":"ping"'),
  "a request with a deep id": answer(`[${deep(levels)}]`, '"method":"ping"'),
  "a request with deep params": answer(
    "1",
    `"method":"elicitation/create","params":${deep(levels)}`,
  ),
  "a method that is no text": answer("1", '"method":{"toString":1}'),
  "a deep notification": notification(deep(levels)),
  "a notification without an object": notification("7"),
  "a notification with 1e400": notification('{"progress":1e400,"progressToken":-1e400}'),
  "a notification with __proto__": notification('{"__proto__":{"polluted":1},"toJSON":1}'),
  "a notification with half a surrogate": notification('{"\\ud800":"\\udfff"}'),
  "a message that is __proto__": '{"__proto__":{"polluted":1,"id":0,"jsonrpc":"2.0"},"toString":1}',
  "an empty batch": "[]",
  "a batch of nothing": "[1,null,[],{},[[[]]]]",
  "a batch of a million": `[${"1,".repeat(1_000_000)}1]`,
  "a batch of notifications": `[${notification("{}")},7,${notification("{}")}]`,
  "brackets that never close": "[".repeat(500_000),
  "invalid UTF-8": Buffer.from([0x7b, 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80]),
  "invalid UTF-8 in a notification": Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","method":"x","params":{"t":"'),
    Buffer.from([0xf0, 0x28, 0x8c, 0x28]),
    Buffer.from('"}}'),
  ]),
  "a byte order mark before a notification": `\uFEFF${notification("{}")}`,
  "byte order marks": "\uFEFF\uFEFF\uFEFF",
  "line ends of other systems": `${notification("{}")}\r\r\u2028\u2029\u0085`,
  "NUL characters": "\0".repeat(10_000),
  "white space": " \t\r\v\f ",
  numbers: "1e400",
  "a text": '"Session not found"',
  "a banner": "Starting up!",
  "a long banner": "=".repeat(1_000_000),
};
