import fc from "fast-check";
import { expect, test } from "vitest";
import { createScrubber, scrubJson, scrubText, unescapedLevels } from "./scrub-text.ts";

test("replaces each of several secrets, the longer of two first, and nothing in the placeholder", () => {
  const secrets = ["redacted", "token-1234", "token-1234-and-more"];
  expect(scrubText("token-1234, token-1234-and-more, redacted", secrets, "[redacted]")).toBe(
    "[redacted], [redacted], [redacted]",
  );
});

test("replaces a long secret everywhere, also inside a word and in its form inside a JSON string", () => {
  expect(scrubText("xlong-secretx", ["long-secret"], "[x]")).toBe("x[x]x");
  expect(scrubText(JSON.stringify('a"quoted"one'), ['a"quoted"one'], "[x]")).toBe('"[x]"');
});

const json = (text: string) => JSON.stringify(text).slice(1, -1);
const html = (text: string) =>
  text.replaceAll(/[&<>"'/=`]/g, (character) => `&#x${character.charCodeAt(0).toString(16)};`);
const lower = (text: string) => text.replaceAll(/%../g, (escape) => escape.toLowerCase());

const forms: readonly [form: string, escape: (text: string) => string][] = [
  ["as it is", String],
  ["in a string of JSON", json],
  ["in one of PHP", (text) => json(text).replaceAll("/", "\\/")],
  ["in one of ASCII", (text) => json(text).replaceAll(/[^ -~]|[<>&']/g, unicode)],
  ["in a URL", encodeURIComponent],
  ["in a URL, in lower case", (text) => lower(encodeURIComponent(text))],
  ["in a URL of Python", (text) => encodeURIComponent(text).replaceAll("%2F", "/")],
  ["in a form", (text) => new URLSearchParams({ text }).toString().slice(5)],
  [
    "in HTML",
    (text) =>
      text
        .replaceAll("&", "&amp;")
        .replaceAll('"', "&quot;")
        .replaceAll("'", "&#39;")
        .replaceAll("<", "&lt;")
        .replaceAll(">", "&gt;"),
  ],
  ["in HTML, with numbers", html],
  ["in HTML of PHP", (text) => text.replaceAll("&", "&amp;").replaceAll("'", "&#039;")],
  ["in a URL in HTML", (text) => html(encodeURIComponent(text))],
  ["in HTML in a string of JSON", (text) => json(html(text))],
  ["in a string of JSON in one of JSON", (text) => json(json(text))],
  ["in a URL in a URL", (text) => encodeURIComponent(encodeURIComponent(text))],
];

function unicode(text: string): string {
  return Array.from(
    { length: text.length },
    (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}

const secrets = [
  ["a path", "pa/ss=word/12=="],
  ["with all that is escaped", `se "cret" & <it's> + 100% \\ é😀\n/~(!)*`],
  ["escaped already", "tok%2Fen%3D+and&amp;more"],
  ["with the path of a file", String.raw`C:\new\table\u0041\secret`],
  ["of base64", "q+7/3Zk9+w=="],
] as const;

test.each(forms)("replaces a secret %s", (_, escape) => {
  for (const [kind, secret] of secrets) {
    const text = `Cannot POST /mcp?key=${escape(secret)}&b=1 ${escape(secret)}\n`;
    expect
      .soft(scrubText(text, [secret, "other"], "[x]"), kind)
      .toBe("Cannot POST /mcp?key=[x]&b=1 [x]\n");
  }
});

test("finds any text in any of its forms, and changes nothing else", () => {
  const text = fc.string({
    unit: fc.constantFrom(..."ab/+% &;\\\"'<=#é😀u0041n2F".match(/./gu)!),
    minLength: 8,
  });
  fc.assert(
    fc.property(fc.constantFrom(...forms), text, text, ([, escape], secret, other) => {
      const before = `${other.replaceAll(/[%&\\\d]/g, "")}|`;
      const scrub = createScrubber([secret], "\u0001");
      fc.pre(scrub(before) === before && unescapedLevels(secret).length < 4);
      expect(scrub(`${before}${escape(secret)}|${before}`)).toBe(`${before}\u0001|${before}`);
    }),
  );
});

test("replaces a long secret before a shorter one that it begins with, in any form", () => {
  const tokens = ["token-1234", "token-1234/and more"];
  const text = "token-1234%2Fand+more, token-1234%2Felse";
  expect(scrubText(text, tokens, "[x]")).toBe("[x], [x]%2Felse");
});

test("cuts off a text at an escaped secret as well", () => {
  const scrub = createScrubber(["se/cret/1"], "[x]");
  expect(scrub("se%2Fcret%2f1 ".repeat(1_001))).toBe("[x] ".repeat(1_000));
});

test("reads two million characters with escapes in all, and longer texts as they are", () => {
  const scrub = createScrubber(["se/cret/1"], "[x]");
  const long = "%41".repeat(400_000);
  expect(scrub(`${long}se%2Fcret%2F1`)).toBe(`${long}[x]`);
  expect(scrub(`${long}se%2Fcret%2F1 se/cret/1`)).toBe(`${long}se%2Fcret%2F1 [x]`);
  expect(scrub("se%2Fcret%2F1")).toBe("[x]");
});

test("replaces a short secret only where it stands alone", () => {
  const text = "a cat sat at table a1: id=a, sid_a, [a]";
  expect(scrubText(text, ["a"], "[x]")).toBe("[x] cat sat at table a1: id=[x], sid_[x], [[x]]");
});

test("leaves a text alone without a secret", () => {
  expect(scrubText("text", [], "[x]")).toBe("text");
  expect(scrubText("text", [""], "[x]")).toBe("text");
});

test("lets texts grow by a thousand placeholders in all, and cuts off what comes after them", () => {
  const scrub = createScrubber(["a"], "[placeholder]");
  const scrubbed = scrub("a ".repeat(500_000));
  expect(scrubbed).toBe("[placeholder] ".repeat(1_000));
  expect(scrub("no more of a here")).toBe("no more of ");
  expect(scrub("nothing here")).toBe("nothing here");
});

test("scrubs JSON of any depth, and keeps its shape", () => {
  const scrub = createScrubber(["long-secret"], "[x]");
  const value: unknown = JSON.parse(
    '{"long-secret":["long-secret",1,null,{"__proto__":{"a":"long-secret"}}],"code":"long-secret"}',
  );
  const expected = '{"[x]":["[x]",1,null,{"__proto__":{"a":"[x]"}}],"code":"[x]"}';
  expect(JSON.stringify(scrubJson(value, scrub))).toBe(expected);
  const levels = 300_000;
  let deep: any = scrubJson(
    JSON.parse(`${"[".repeat(levels)}"long-secret"${"]".repeat(levels)}`),
    scrub,
  );
  for (let level = 0; level < levels; level += 1) deep = deep[0];
  expect(deep).toBe("[x]");
});

test("keeps the names of given top-level members", () => {
  const scrub = createScrubber(["data"], "[x]");
  expect(scrubJson({ data: { data: "data" } }, scrub, ["data"])).toEqual({
    data: { "[x]": "[x]" },
  });
});
