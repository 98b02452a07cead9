import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { isMatrix } from "../matrix/pairs.ts";
import type { TestServer } from "../servers/server-process.ts";
import { runServerSuite } from "./run-suite.ts";
import { startConformanceServer } from "./start-server.ts";

/** How many scenarios the suite has for each; fewer would mean that they did not run. */
const revisions: [revision: string, count: number, one: string][] = [
  ["2026-07-28", 40, "server-stateless"],
  ["2025-11-25", 33, "server-session-lifecycle"],
  ["2025-06-18", 27, "server-session-lifecycle"],
  ["2025-03-26", 1, "server-session-lifecycle"],
];

// In CI each runs what no older revision adds to. A server of SDK v1 has no tools for clients without sessions.
const ofSdk2 = isMatrix ? revisions : revisions.slice(0, 2);
const ofSdk1 = ofSdk2 === revisions ? revisions.slice(1) : revisions.slice(1, 2);

const isOfTasks = (name: string) => name.startsWith("tasks-");

describe.each([
  ["a server of SDK v2", ofSdk2, []],
  ["a server of SDK v1", ofSdk1, ["--sdk-1"]],
])("the conformance suite against %s, in one process", (_, ofServer, args) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startConformanceServer(...args);
  });
  afterAll(() => server?.stop());

  // Each has the scenarios of the older ones that are still in it.
  test.each(ofServer)("revision %s: %i scenarios", async (revision, count, one) => {
    const { passed, failed, warned, printed } = await runServerSuite(server.url, { revision });
    if (failed.length > 0) console.error(printed);
    expect({ failed, warned }).toEqual({ failed: [], warned: [] });
    expect(passed.length).toBeGreaterThanOrEqual(count);
    expect(passed).toContain(one);
  });
});

test("the scenarios of the extension for tasks", async () => {
  const server = await startConformanceServer();
  onTestFinished(() => server.stop());
  const { passed, failed, printed } = await runServerSuite(server.url);
  if (failed.filter(isOfTasks).length > 1) console.error(printed);
  expect(passed.filter(isOfTasks)).toHaveLength(9);
  // The suite skips it, because its harness does not listen yet.
  expect(failed.filter(isOfTasks)).toEqual(["tasks-status-notifications"]);
});

test("the suite goes red on a server that checks no hosts", async () => {
  const server = await startConformanceServer("--any-host");
  onTestFinished(() => server.stop());
  const { failed } = await runServerSuite(server.url, { revision: "2025-11-25" });
  expect(failed).toEqual(["dns-rebinding-protection"]);
});
