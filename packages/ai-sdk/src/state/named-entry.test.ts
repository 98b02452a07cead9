import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { alice, bob } from "../../test/step.ts";
import { namedKey, parseNamedEntry, parseNamedKey } from "./named-entry.ts";

const directory = new URL("../../test/fixtures/", import.meta.url);
const fixtures = readdirSync(directory).filter((name) => name.startsWith("named-session"));
const load = (name: string) =>
  JSON.parse(readFileSync(new URL(name, directory), "utf8")) as Record<string, unknown>;

const without = (entry: object, field: string) =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => key !== field));

describe("entries of every released format", () => {
  test.each(fixtures)("%s still loads, whole", (name) => {
    expect(parseNamedEntry(load(name))).toEqual(load(name));
  });

  test("the one in the docs loads", () => {
    const page = readFileSync(
      new URL("../../../../docs/reference/state-format.md", import.meta.url),
      "utf8",
    );
    const [, text = ""] = /^## Named sessions$.*?^```json\n(.*?)^```$/ms.exec(page) ?? [];
    const entries = Object.entries((JSON.parse(text) as { mcpSessions: object }).mcpSessions);
    expect(entries).toHaveLength(1);
    const [[key, entry] = []] = entries;
    expect(parseNamedEntry(entry)).toEqual(entry);
    const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;
    expect(parseNamedKey(key!, principal)).toEqual({ connection: "browser", name: "research" });
  });
});

const withExtraInList = (entry: any) => ({
  ...entry,
  snapshot: { ...entry.snapshot, toolList: { tools: [], listedAt: 1, more: 1 } },
});

test.each([
  ["nothing", () => undefined],
  ["null", () => null],
  ["a text", () => "session"],
  ["an array", () => [1]],
  ["a snapshot by itself", (entry: any) => entry.snapshot],
  ["another version", (entry: any) => ({ ...entry, version: 2 })],
  ["no snapshot", (entry: any) => without(entry, "snapshot")],
  ["a snapshot that does not parse", (entry: any) => ({ ...entry, snapshot: { version: 1 } })],
  ["no time of use", (entry: any) => without(entry, "lastUsedAt")],
  ["a time that is a text", (entry: any) => ({ ...entry, lastUsedAt: "1" })],
  ["a time that is none", (entry: any) => ({ ...entry, lastUsedAt: Number.NaN })],
  ["a start that is a text", (entry: any) => ({ ...entry, startedAt: "1" })],
  ["an idle time-out of nothing", (entry: any) => ({ ...entry, idleTimeoutMs: 0 })],
  ["an idle time-out for ever", (entry: any) => ({ ...entry, idleTimeoutMs: 1e300 })],
  ["an unknown key in its tool list", (entry: any) => withExtraInList(entry)],
  [
    "a key __proto__",
    (entry: any) => JSON.parse(`{"__proto__":{},${JSON.stringify(entry).slice(1)}`),
  ],
  ["inherited keys", (entry: any) => Object.create(entry) as object],
  [
    "a large url",
    (entry: any) => ({
      ...entry,
      snapshot: { ...entry.snapshot, url: `https://x.test/${"a".repeat(1_000_000)}` },
    }),
  ],
])("an entry with %s does not parse", (_, change) => {
  expect(parseNamedEntry(change(load("named-session.json")))).toBeUndefined();
});

const text = fc.string({
  unit: fc.constantFrom("a", ",", '"', "\\", ":", "[", "]", " ", "user", "\uD800", "\u2028"),
  minLength: 1,
  maxLength: 5,
});
// Connections' names do not start with it.
const connection = text.filter((name) => !name.startsWith("["));

test("a key gives its connection and name back to its principal alone", () => {
  fc.assert(
    fc.property(connection, text, (name, session) => {
      const slot = { connection: name, name: session };
      const key = namedKey(slot, alice);
      expect(parseNamedKey(key, alice)).toEqual(slot);
      expect(parseNamedKey(key, bob)).toBeUndefined();
      expect(parseNamedKey(` ${key}`, alice)).toBeUndefined();
      expect(parseNamedKey(JSON.stringify(JSON.parse(key), undefined, 1), alice)).toBeUndefined();
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  '["notes","user","https://idp.test","alice"]',
  '["[","user","https://idp.test","alice"]',
  '["[1]","user","https://idp.test","alice"]',
  '["[\\"notes\\",\\"\\"]","user","https://idp.test","alice"]',
  `["[\\"notes\\",\\"${"n".repeat(257)}\\"]","user","https://idp.test","alice"]`,
  '["[\\"notes\\",\\"a\\",\\"b\\"]","user","https://idp.test","alice"]',
  '["[',
  "__proto__",
])("%j is no key of a named session", (key) => {
  expect(parseNamedKey(key, alice)).toBeUndefined();
});
