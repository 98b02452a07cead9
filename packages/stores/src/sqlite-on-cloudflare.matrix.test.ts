import { pathToFileURL } from "node:url";
import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleWorker } from "../test/bundle-worker.ts";
import type { SuiteAnswer, SuiteTask } from "../test/sqlite-suite-worker.ts";

/** Path of the main module of miniflare, which has D1. It is large, so CI installs it and others may. */
const miniflare = process.env["MINIFLARE"] || undefined;
if (miniflare === undefined)
  console.warn("skipped: SQLite on Cloudflare: MINIFLARE names no module");

/** The part of miniflare that is used. */
interface Miniflare {
  readonly ready: Promise<URL>;
  dispose(): Promise<void>;
}

const titles: string[] = [];
testSessionStore({
  test: (title) => titles.push(title),
  open: () => Promise.reject(new Error("Only the titles are used here.")),
  hasConnection: false,
  plant: () => Promise.resolve(),
});

describe.skipIf(miniflare === undefined)("on Cloudflare's runtime", () => {
  let runtime: Miniflare;
  let url: URL;
  beforeAll(async () => {
    const { Miniflare } = await import(pathToFileURL(miniflare!).href);
    runtime = new Miniflare({
      modules: true,
      script: await bundleWorker("sqlite-suite-worker.ts"),
      compatibilityDate: "2026-01-01",
      compatibilityFlags: ["nodejs_compat"],
      d1Databases: ["DB"],
      durableObjects: { OBJECT: { className: "SuiteObject", useSQLite: true } },
    }) as Miniflare;
    url = await runtime.ready;
  });
  afterAll(() => runtime?.dispose());

  describe.each([
    ["D1", "/d1"],
    ["a Durable Object", "/object"],
  ])("%s", (_, path) => {
    const ask = async (task: SuiteTask) => {
      const response = await fetch(new URL(path, url), {
        method: "POST",
        body: JSON.stringify(task),
      });
      return (await response.json()) as SuiteAnswer;
    };

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
  });
});
