import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { alice, bob } from "../step.ts";
import { type Principal, sessionKey } from "@durable-mcp/core";
import {
  parseRecord,
  parseRecordKey,
  recordKey,
} from "../../../sessions/src/records/slot-record.ts";
import { type NamedSlot, slotName } from "../../../sessions/src/records/step-slot.ts";
import { createStateStore, ofState } from "../../../sessions/src/records/state-store.ts";

const directory = new URL("../../../sessions/test/fixtures/", import.meta.url);
const fixtures = readdirSync(directory).filter((name) => name.startsWith("named-session"));
const load = (name: string) =>
  JSON.parse(readFileSync(new URL(name, directory), "utf8")) as Record<string, unknown>;

const research = { connection: "notes", name: "research" };
const namedKey = (slot: NamedSlot, principal: Principal) =>
  sessionKey({ connection: slotName(slot), principal });
const stateOf = (entry: unknown) => ({
  mcpSessions: { [namedKey(research, alice)]: entry },
});
const read = (entry: unknown) =>
  createStateStore(stateOf(entry)).read(recordKey({ ...ofState, ...research }, alice));
/** The entry as a step that writes it back, changed in nothing, leaves it. */
function writtenBack(entry: unknown) {
  const record = parseRecord(read(entry)?.value);
  const key = recordKey({ ...ofState, ...research }, alice);
  const { state } = createStateStore({}).commit<{ state?: any }>({}, [[key, record!]]);
  return state.mcpSessions[namedKey(research, alice)] as unknown;
}
const ownersOf = async (key: string) => {
  const { records } = await createStateStore({ mcpSessions: { [key]: {} } }).list({ limit: 1 });
  return records.map((record) => ({ owner: record.owner, of: parseRecordKey(record.key) }));
};
const ownerOf = (principal: Principal) =>
  JSON.stringify((JSON.parse(namedKey(research, principal)) as unknown[]).slice(1));

const without = (entry: object, field: string) =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => key !== field));

describe("entries of every released format", () => {
  test.each(fixtures)("%s still loads, whole", (name) => {
    expect(writtenBack(load(name))).toEqual(load(name));
  });

  test("the one in the docs loads", async () => {
    const page = readFileSync(
      new URL("../../../../docs/reference/state-format.md", import.meta.url),
      "utf8",
    );
    const [, text = ""] = /^## Named sessions$.*?^```json\n(.*?)^```$/ms.exec(page) ?? [];
    const entries = Object.entries((JSON.parse(text) as { mcpSessions: object }).mcpSessions);
    expect(entries).toHaveLength(1);
    const [[key, entry] = []] = entries;
    expect(writtenBack(entry)).toEqual(entry);
    const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;
    expect(await ownersOf(key!)).toEqual([
      { owner: ownerOf(principal), of: { ...ofState, connection: "browser", name: "research" } },
    ]);
  });
});

const withExtraInList = (entry: any) => ({
  ...entry,
  snapshot: { ...entry.snapshot, toolList: { tools: [], listedAt: 1, more: 1 } },
});

test.each([
  ["null", () => null],
  ["an array", () => [1]],
  ["a snapshot by itself", (entry: any) => entry.snapshot],
  ["another version", (entry: any) => ({ ...entry, version: 2 })],
  ["no snapshot", (entry: any) => without(entry, "snapshot")],
  ["a snapshot that does not parse", (entry: any) => ({ ...entry, snapshot: { version: 1 } })],
  ["no time of use", (entry: any) => without(entry, "lastUsedAt")],
  ["a time that is none", (entry: any) => ({ ...entry, lastUsedAt: Number.NaN })],
  ["an idle time-out for ever", (entry: any) => ({ ...entry, idleTimeoutMs: 1e300 })],
  ["an unknown key in its tool list", (entry: any) => withExtraInList(entry)],
  ["inherited keys", (entry: any) => Object.create(entry) as object],
  [
    "a large url",
    (entry: any) => ({
      ...entry,
      snapshot: { ...entry.snapshot, url: `https://x.test/${"a".repeat(1_000_000)}` },
    }),
  ],
])("an entry with %s does not parse", (_, change) => {
  const stored = read(change(load("named-session.json")));
  expect(stored).toBeDefined();
  expect(parseRecord(stored!.value)).toBeUndefined();
});

test("a key __proto__ of an entry goes no further", () => {
  const entry = load("named-session.json");
  const withKey: unknown = JSON.parse(`{"__proto__":{"a":1},${JSON.stringify(entry).slice(1)}`);
  expect(writtenBack(withKey)).toEqual(entry);
  expect(parseRecord(read(withKey)?.value)).not.toHaveProperty("a");
});

test("of the sessions that an entry says are to be ended, ten count", () => {
  const entry = load("named-session.json") as { snapshot: object };
  const ending = Array.from({ length: 12 }, (_, index) => ({
    ...entry.snapshot,
    sessionId: `left-${index}`,
  }));
  const left = parseRecord(read({ ...entry, ending })?.value)?.ending;
  expect(left?.map(({ sessionId }) => sessionId)).toEqual(
    ending.slice(2).map(({ sessionId }) => sessionId),
  );
  expect(parseRecord(read({ ...entry, ending: [{ kind: "lost" }] })?.value)).toBeUndefined();
  expect(writtenBack({ ...entry, ending: ending.slice(0, 1) })).toEqual({
    ...entry,
    ending: ending.slice(0, 1),
  });
});

const text = fc.string({
  unit: fc.constantFrom("a", ",", '"', "\\", ":", "[", "]", " ", "user", "\uD800", "\u2028"),
  minLength: 1,
  maxLength: 5,
});
// Connections' names do not start with it.
const connection = text.filter((name) => !name.startsWith("["));

test("a key gives its connection, its name and its principal back", async () => {
  const names = fc.asyncProperty(connection, text, async (name, session) => {
    const slot = { connection: name, name: session };
    const key = namedKey(slot, alice);
    expect(await ownersOf(key)).toEqual([{ owner: ownerOf(alice), of: { ...ofState, ...slot } }]);
    expect(ownerOf(alice)).not.toBe(ownerOf(bob));
    expect(await ownersOf(` ${key}`)).toEqual([]);
    expect(await ownersOf(JSON.stringify(JSON.parse(key), undefined, 1))).toEqual([]);
  });
  await fc.assert(names, { numRuns: 1_000 });
});

test.each([
  '["notes","user","https://idp.test","alice"]',
  '["[","user","https://idp.test","alice"]',
  '["[1]","user","https://idp.test","alice"]',
  '["[\\"notes\\",\\"\\"]","user","https://idp.test","alice"]',
  `["[\\"notes\\",\\"${"n".repeat(257)}\\"]","user","https://idp.test","alice"]`,
  '["[\\"notes\\",\\"a\\",\\"b\\"]","user","https://idp.test","alice"]',
  '["[\\"notes\\", \\"a\\"]","user","https://idp.test","alice"]',
  '["[',
  "__proto__",
])("%j is no key of a named session", async (key) => {
  for (const { of } of await ownersOf(key)) expect(of).not.toHaveProperty("name");
});
