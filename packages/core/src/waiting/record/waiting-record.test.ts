import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { describeWaiting } from "./describe-waiting.ts";
import { parseWaitingRecord, printWaitingRecord } from "./waiting-record.ts";

interface Kept {
  readonly name: string;
  readonly record: Readonly<Record<string, unknown>>;
  /** What an application saw of it. */
  readonly call: object;
}

const directory = new URL("../../../test/waiting-fixtures/", import.meta.url);
const read = (file: string) => JSON.parse(readFileSync(new URL(file, directory), "utf8")) as Kept[];
const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;

describe.each(readdirSync(directory))("records of %s", (file) => {
  test.each(read(file))("$name is read, and written as it was", ({ record, call }) => {
    const parsed = parseWaitingRecord(record)!;
    expect(json(describeWaiting(parsed))).toEqual(call);
    expect(json(printWaitingRecord(parsed))).toEqual(record);
    const later = { ...record, fieldOfLater: { a: 1 } };
    expect(printWaitingRecord(parseWaitingRecord(later)!)).toEqual(later);
  });

  test.each(read(file))("$name is not read if a field is missing or wrong", ({ record }) => {
    const needed = ["id", "kind", "state", "url", "digest", "request", "round", "leg", "requests"];
    for (const name of needed) {
      const { [name]: _, ...others } = record;
      expect(parseWaitingRecord(others)).toBeUndefined();
    }
    for (const name of [...needed, "held", "claim", "annotations", "path", "unsure", "answer"])
      expect(parseWaitingRecord({ ...record, [name]: 7.5 })).toBeUndefined();
  });
});

test.each([
  ["a task", "held"],
  ["a stream", "held"],
  ["a tool call of an agent", "histories"],
  ["a tool call of an agent", "waitsFor"],
])("%s has its %s", (name, field) => {
  const { record } = read("2026-11-29.json").find((each) => each.name === name)!;
  const { [field]: _, ...others } = record;
  expect(parseWaitingRecord(record)).toBeDefined();
  expect(parseWaitingRecord(others)).toBeUndefined();
});
