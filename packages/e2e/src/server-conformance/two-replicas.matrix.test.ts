import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestStore, type TestStore } from "../durable/store-place.ts";
import type { TestServer } from "../servers/server-process.ts";
import { type RoundRobin, startRoundRobin } from "../wire/round-robin.ts";
import { runServerSuite } from "./run-suite.ts";
import { startConformanceServer } from "./start-server.ts";

let store: TestStore;
let replicas: TestServer[] = [];
let roundRobin: RoundRobin;

beforeAll(async () => {
  store = await openTestStore("sqlite");
  replicas = await Promise.all([1, 2].map(() => startConformanceServer("--store", store.location)));
  roundRobin = await startRoundRobin(replicas.map(({ url }) => new URL(url)));
});
afterAll(async () => {
  await roundRobin?.close();
  await Promise.all(replicas.map((replica) => replica.stop()));
  await store?.close();
});

/** The round robin sends its own Host; `server-conformance.matrix.test.ts` has what a foreign one gets. */
function own(names: readonly string[]): string[] {
  return names.filter((name) => name !== "dns-rebinding-protection");
}

/**
 * A server of SDK v2 tells of changed lists where they changed. An application with replicas gives
 * `createMcpHandler` a `bus` of its own.
 */
const toldInOneProcess = new Set([
  "sep-2575-server-sends-prompts-list-changed-on-subscription",
  "sep-2575-server-sends-tools-list-changed-on-subscription",
]);

test.each([
  ["2025-11-25", 32],
  ["2026-07-28", 39],
])(
  "the conformance suite of %s against two replicas, request by request: %i scenarios",
  async (revision, count) => {
    const suite = await runServerSuite(roundRobin.url, { revision });
    if (own(suite.failed).length > 0) console.error(suite.printed);
    expect(own(suite.failed)).toEqual([]);
    expect(suite.warned.filter((check) => !toldInOneProcess.has(check))).toEqual([]);
    expect(own(suite.passed).length).toBeGreaterThanOrEqual(count);
  },
);

const ofTasks = (names: readonly string[]) => names.filter((name) => name.startsWith("tasks-"));

test("the scenarios of the extension for tasks against two replicas, request by request", async () => {
  const { passed, failed, printed } = await runServerSuite(roundRobin.url);
  if (ofTasks(failed).length > 1) console.error(printed);
  expect(ofTasks(passed)).toHaveLength(9);
  // The suite skips it, because its harness does not listen yet.
  expect(ofTasks(failed)).toEqual(["tasks-status-notifications"]);
});
