import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { programArguments } from "../processes/programs.ts";
import { startRoundRobin } from "../wire/round-robin.ts";
import { openTestStore } from "../replicas/test-store.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";
import { runServerSuite } from "./run-suite.ts";

const script = new URL("../fixtures/conformance-server.ts", import.meta.url);

function startServer(...args: string[]): Promise<TestServer> {
  return startServerProcess({
    name: "conformance server",
    args: (port) => [...programArguments(script), "--port", String(port), ...args],
  });
}

describe("the conformance suite against one process", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server?.stop());

  // How many the suite has for each; fewer would mean that they did not run.
  test.each([
    ["2025-11-25", 33],
    ["2025-06-18", 27],
    ["2025-03-26", 1],
  ])("revision %s: %i scenarios", async (revision, count) => {
    const { passed, failed, printed } = await runServerSuite(server.url, { revision });
    if (failed.length > 0) console.error(printed);
    expect(failed).toEqual([]);
    expect(passed.length).toBeGreaterThanOrEqual(count);
    expect(passed).toContain("server-session-lifecycle");
  });
});

/** The round robin sends its own Host; what a foreign one gets is seen above. */
function own(names: readonly string[]): string[] {
  return names.filter((name) => name !== "dns-rebinding-protection");
}

test("the conformance suite against two replicas, request by request", async () => {
  const store = await openTestStore("sqlite");
  const replicas = await Promise.all([1, 2].map(() => startServer("--store", store.location)));
  const roundRobin = await startRoundRobin(replicas.map(({ url }) => new URL(url)));
  try {
    const { passed, failed, printed } = await runServerSuite(roundRobin.url, {
      revision: "2025-11-25",
    });
    if (own(failed).length > 0) console.error(printed);
    expect(own(failed)).toEqual([]);
    expect(own(passed).length).toBeGreaterThanOrEqual(32);
  } finally {
    await roundRobin.close();
    await Promise.all(replicas.map((replica) => replica.stop()));
    await store.close();
  }
});

test("the suite goes red on a server that checks no hosts", async () => {
  const server = await startServer("--any-host");
  try {
    const { failed } = await runServerSuite(server.url, { revision: "2025-11-25" });
    expect(failed).toEqual(["dns-rebinding-protection"]);
  } finally {
    await server.stop();
  }
});
