import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkRequirements } from "./check-requirements.ts";
import { citedIds, declaredTitles, readDeclaredTests } from "./declared-tests.ts";
import type { Requirement } from "./requirement.ts";
import { requirementsPage, requirementsPagePath } from "./requirements-page.ts";
import { requirements } from "./requirements.ts";

const declared = readDeclaredTests();

describe("the requirements manifest", () => {
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

  test("is what docs/reports/requirements.md says; npm run requirements writes it", () => {
    const page = new URL(`../../../../${requirementsPagePath}`, import.meta.url);
    expect(readFileSync(page, "utf8")).toBe(requirementsPage());
  });
});

describe("the check goes red", () => {
  const fine: Requirement = {
    id: "S5",
    role: "client",
    level: "MUST",
    spec: [],
    statement: "x",
    tests: { "core/src/a.test.ts": ["starts anew"] },
  };
  const tests = [{ file: "core/src/a.test.ts", title: "a 404 > starts anew once (S5)" }];

  test("not for what is fine", () => {
    expect(checkRequirements([fine], tests)).toEqual([]);
  });

  test("when any one of the tests that the manifest names is removed", () => {
    for (const { id, tests: listed = {} } of requirements) {
      for (const [file, titles] of Object.entries(listed)) {
        for (const title of titles) {
          const left = declared.filter(
            (other) => other.file !== file || !other.title.includes(title),
          );
          expect(checkRequirements(requirements, left)).toContain(
            `${id} names a test that is not there: ${file}: ${title}`,
          );
        }
      }
    }
    expect(checkRequirements([fine], [])).toEqual([
      "S5 names a test that is not there: core/src/a.test.ts: starts anew",
    ]);
  });

  test("when a named test is in another file", () => {
    const moved = [{ ...tests[0]!, file: "core/src/b.test.ts" }];
    expect(checkRequirements([fine], moved)).toHaveLength(1);
  });

  test("when a requirement on a client has neither test nor reason", () => {
    const { tests: _, ...bare } = fine;
    expect(checkRequirements([bare], tests)).toEqual([
      "S5 has neither a test nor a reason why it needs none",
    ]);
    expect(checkRequirements([{ ...bare, note: "The client's own affair." }], tests)).toEqual([]);
    expect(checkRequirements([{ ...bare, role: "server" }], tests)).toEqual([]);
  });

  test("when a test cites an id that is not listed", () => {
    const citing = [...tests, { file: "e2e/src/b.test.ts", title: "resumes (S5, S99)" }];
    expect(checkRequirements([fine], citing)).toEqual([
      'e2e/src/b.test.ts: "resumes (S5, S99)" cites S99, which is not listed',
    ]);
  });

  test("when an id is listed twice", () => {
    expect(checkRequirements([fine, fine], tests)).toEqual(["S5 is listed twice"]);
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
