import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleWorker } from "../test/bundle-worker.ts";
import { miniflare, type RunningWorker, startWorker } from "../test/miniflare.ts";
import type { SuiteAnswer, SuiteTask } from "../test/sqlite-suite-worker.ts";

if (miniflare === undefined) {
  console.warn("skipped: SQLite stores on Cloudflare: MINIFLARE names no module");
}

const titles: string[] = [];
testSessionStore({
  test: (title) => titles.push(title),
  open: () => Promise.reject(new Error("Only the titles are used here.")),
  hasConnection: false,
  plant: () => Promise.resolve(),
});

describe.skipIf(miniflare === undefined)("on Cloudflare's runtime", () => {
  let worker: RunningWorker;
  beforeAll(async () => {
    const entry = new URL("../test/sqlite-suite-worker.ts", import.meta.url);
    worker = await startWorker(await bundleWorker(entry), {
      d1Databases: ["DB"],
      durableObjects: { OBJECT: { className: "SuiteObject", useSQLite: true } },
    });
  });
  afterAll(() => worker?.stop());

  describe.each([
    ["D1", "/d1"],
    ["a Durable Object", "/object"],
  ])("%s", (_, path) => {
    const ask = async (task: SuiteTask) => (await worker.post(path, task)) as SuiteAnswer;

    test.each(titles)("%s", async (title) => {
      expect(await ask({ title })).toEqual({});
    });

    test("loses no update of six callers that count up at once", async () => {
      const key = crypto.randomUUID();
      const callers = await Promise.all(Array.from({ length: 6 }, () => ask({ key, times: 25 })));
      expect(callers.flatMap(({ error }) => error ?? [])).toEqual([]);
      expect(Math.max(...callers.map(({ value = 0 }) => value))).toBe(150);
      // Had they taken turns, nothing would be proven.
      expect(callers.some(({ conflicts = 0 }) => conflicts > 0)).toBe(true);
    });

    test("says that the tables are missing", async () => {
      const { error } = await ask({ table: "missing" });
      expect(error).toMatch(
        /failed at get \(SQLITE_ERROR\): it refused the statement\. If the table is missing, call createTables\./,
      );
    });
  });
});
