import { expect, test } from "vitest";
import { openTestStore } from "../replicas/test-store.ts";
import { startRoundRobin } from "../wire/round-robin.ts";
import { runServerSuite } from "./run-suite.ts";
import { startConformanceServer } from "./start-server.ts";

/** The round robin sends its own Host; `server-conformance.matrix.test.ts` has what a foreign one gets. */
function own(names: readonly string[]): string[] {
  return names.filter((name) => name !== "dns-rebinding-protection");
}

test("the conformance suite against two replicas, request by request", async () => {
  const store = await openTestStore("sqlite");
  const replicas = await Promise.all(
    [1, 2].map(() => startConformanceServer("--store", store.location)),
  );
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
