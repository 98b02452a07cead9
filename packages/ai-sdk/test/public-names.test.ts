/** What applications import of each entry since 2026-11-29: no name of these may go. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import names from "./fixtures/public-names.json" with { type: "json" };

const { exports } = manifest;
const entries = Object.keys(names) as (keyof typeof names)[];

test.each(entries)("%s has the names that it had", async (entry) => {
  const source = new URL(`../${exports[entry]["@durable-mcp/source"]}`, import.meta.url);
  const { values, types } = names[entry];
  const module = (await import(source.href)) as object;
  expect(Object.keys(module)).toEqual(expect.arrayContaining(values));
  const lists = readFileSync(source, "utf8").matchAll(/export (?:type )?\{([^}]*)\} from/g);
  const exported = [...lists].flatMap(([, list = ""]) =>
    list.split(",").map((name) => name.trim().replace(/^type /, "")),
  );
  expect(exported).toEqual(expect.arrayContaining(types));
});

test("no entry is gone", () => {
  expect(Object.keys(exports)).toEqual(expect.arrayContaining(entries));
});
