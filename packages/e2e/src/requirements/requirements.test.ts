import { describe, expect, test } from "vitest";
import { checkRequirements } from "./check-requirements.ts";
import { citedIds, declaredTitles, readDeclaredTests } from "./declared-tests.ts";
import { readRequirements } from "./read-requirements.ts";

const declared = readDeclaredTests();
const requirements = readRequirements();

describe("the requirements of docs/reports/requirements.md", () => {
  test("covers every requirement on a client with tests that are there, or says why not", () => {
    expect(checkRequirements(requirements, declared)).toEqual([]);
  });

  test.each([
    ["S", 79],
    ["M", 44],
    ["B", 7],
    ["D", 10],
  ])("lists all of %s, each once: %i", (letter, count) => {
    const listed = requirements.map(({ id }) => id).filter((id) => id.startsWith(letter));
    const all = Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
    expect(listed.toSorted()).toEqual(all.toSorted());
  });

  test("names a test in most of its rows", () => {
    // Otherwise the tables are not read as they are written.
    expect(requirements.filter(({ tests }) => tests.length > 0).length).toBeGreaterThan(100);
  });
});

const row = (id: string, role: string, covered: string) =>
  `| ${id} | ${role} | MUST | Start anew. | [2025-11-25](https://x.test) | ${covered} |`;
const link = "[core/a](https://github.com/x/blob/main/packages/core/src/a.test.ts)";
const missing = (title: string) =>
  `S5 names a test that is not there: core/src/a.test.ts: ${title}`;

describe("the check goes red", () => {
  const fine = row("S5", "client", `${link}: “starts anew”, “a &lt;b> \\| c”<br>So it is.`);
  const tests = [
    { file: "core/src/a.test.ts", title: "a 404 > starts anew once (S5)" },
    { file: "core/src/a.test.ts", title: "a <b> | c" },
  ];
  const check = (rows: string, found = tests) => checkRequirements(readRequirements(rows), found);

  test("not for what is fine", () => {
    expect(check(fine)).toEqual([]);
  });

  test("when any one of the tests that a row names is removed, or is in another file", () => {
    expect(check(fine, [])).toEqual(["starts anew", "a <b> | c"].map(missing));
    const moved = [{ ...tests[0]!, file: "core/src/b.test.ts" }, tests[1]!];
    expect(check(fine, moved)).toEqual([missing("starts anew")]);
  });

  test("when a requirement on a client has neither test nor reason", () => {
    expect(check(row("S5", "client", ""))).toEqual([
      "S5 has neither a test nor a reason why it needs none",
    ]);
    expect(check(row("S5", "client", "The client's own affair."))).toEqual([]);
    expect(check(row("S5", "server", ""))).toEqual([]);
  });

  test("when a test cites an id that is not listed", () => {
    const citing = [...tests, { file: "e2e/src/b.test.ts", title: "resumes (S5, S99)" }];
    expect(check(fine, citing)).toEqual([
      'e2e/src/b.test.ts: "resumes (S5, S99)" cites S99, which is not listed',
    ]);
  });

  test("when an id is listed twice", () => {
    expect(check(`${fine}\n${fine}`)).toEqual(["S5 is listed twice"]);
  });
});

test("reads the titles of tests from a source, and none that does not run", () => {
  const source = `
    // test("in a comment", () => {});
    const text = 'test("in a text", () => {})';
    describe("a", () => {
      test("b", () => {});
      test.each([["[", 1]] as const)("c %s", async (x) => {});
      test.each<[string]>(cases)(\`d \${e}\`, () => {});
      describe.skip("f", () => { test("g", () => {}); });
      test.todo("h");
    });
    it.skipIf(missing)("i", { timeout: 1 }, () => {});
    test.skip("j", () => {});
    for (const k of [1]) describe("l", () => void test("m", () => {}));
  `;
  expect(declaredTitles(source)).toEqual(["a > b", "a > c %s", "a > d ${e}", "i", "l > m"]);
});

test.each([
  ["resumes (S5, S59)", ["S5", "S59"]],
  ["is kept (M5) > twice (D10)", ["M5", "D10"]],
  ["refused with (%i) and S5", []],
])("reads the ids that a title cites: %j", (title, ids) => {
  expect(citedIds(title)).toEqual(ids);
});
