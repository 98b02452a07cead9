import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const guide = read("../../../../docs/guides/server.md");

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), "utf8");
}

interface Diff {
  readonly before: string;
  readonly after: string;
  /** The lines of the block. */
  readonly lines: readonly string[];
}

/** The blocks under a comment that names two files: `<!-- diff of before.ts and after.ts -->`. */
function diffsIn(page: string): Diff[] {
  const form = /<!-- diff of (\S+) and (\S+) -->\n\n```diff\n(.*?)\n```\n/gs;
  return [...page.matchAll(form)].map(([, before = "", after = "", code = ""]) => ({
    ...{ before, after },
    lines: code.split("\n"),
  }));
}

/** The file on one side of a diff, which takes the lines with its mark and those that stay. */
function sideOf({ lines }: Diff, mark: "-" | "+"): string {
  const side = lines.filter((line) => line === "" || line.startsWith(" ") || line.startsWith(mark));
  return `${side.map((line) => line.slice(1)).join("\n")}\n`;
}

/** What a page says otherwise than the files. */
function findDifferences(page: string): string[] {
  return diffsIn(page).flatMap((diff) => [
    ...(sideOf(diff, "-") === read(diff.before) ? [] : [diff.before]),
    ...(sideOf(diff, "+") === read(diff.after) ? [] : [diff.after]),
  ]);
}

test("the guide shows the conversions as they are", () => {
  expect(diffsIn(guide).map(({ before }) => before)).toEqual([
    "convert-v1-before.ts",
    "convert-v2-before.ts",
  ]);
  expect(findDifferences(guide)).toEqual([]);
});

const changed = (from: string, to: string) => findDifferences(guide.replace(from, to));

test("a line that differs is noticed, on either side", () => {
  expect(changed("-const transports = new Map", "-const sessions = new Map")).toEqual([
    "convert-v1-before.ts",
  ]);
  expect(changed('+  principal: "none",\n', "")).toEqual(["convert-v1-after.ts"]);
  expect(changed("\n   return mcp;\n", "\n")).toEqual([
    "convert-v1-before.ts",
    "convert-v1-after.ts",
  ]);
});
