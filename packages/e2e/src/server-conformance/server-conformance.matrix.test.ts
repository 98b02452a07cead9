import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestServer } from "../servers/server-process.ts";
import { runServerSuite } from "./run-suite.ts";
import { startConformanceServer } from "./start-server.ts";

/** How many scenarios the suite has for each; fewer would mean that they did not run. */
const revisions: [revision: string, count: number][] = [
  ["2025-11-25", 33],
  ["2025-06-18", 27],
  ["2025-03-26", 1],
];

describe("the conformance suite against one process", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startConformanceServer();
  });
  afterAll(() => server?.stop());

  // The newest has the scenarios of the older ones.
  test.each(revisions)("revision %s: %i scenarios", async (revision, count) => {
    const { passed, failed, printed } = await runServerSuite(server.url, { revision });
    if (failed.length > 0) console.error(printed);
    expect(failed).toEqual([]);
    expect(passed.length).toBeGreaterThanOrEqual(count);
    expect(passed).toContain("server-session-lifecycle");
  });
});
