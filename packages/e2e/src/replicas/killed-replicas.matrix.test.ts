import { expect, test } from "vitest";
import { runWithKilledReplicas } from "./killed-replicas-run.ts";
import { notesServer, sdkExample } from "./notes-replicas.ts";
import { openTestStore } from "../durable/store-place.ts";

const clean = { hung: 0, sessionErrors: 0, newSessions: 0, lost: 0, doubled: 0 };

// 1,000 calls on each store: `npm run lab -- kill-replicas --store postgres`.
test("clients notice nothing of replicas that are killed and restarted, on SQLite", async () => {
  const seed = Math.floor(Math.random() * 1e6);
  const store = await openTestStore("sqlite");
  try {
    const run = await runWithKilledReplicas(notesServer(store.location), { calls: 100, seed });
    const sdk = await runWithKilledReplicas(sdkExample, { calls: 100, seed, maxSeconds: 30 });
    console.log(`seed ${seed}`, { "@durable-mcp/server": run, "SDK example": sdk });
    expect(run).toMatchObject({ ...clean, calls: 100 });
    expect(run.answered + run.unknown).toBe(100);
    expect(run.answered).toBeGreaterThan(50);
    expect(run.kills).toBeGreaterThan(0);
    // The harness sees session errors where there are some.
    expect(sdk.sessionErrors).toBeGreaterThan(0);
  } finally {
    await store.close();
  }
});

test("a deploy, replica by replica, breaks no call", async () => {
  const seed = Math.floor(Math.random() * 1e6);
  const store = await openTestStore("sqlite");
  try {
    const options = { calls: 80, seed, how: "drain" } as const;
    const run = await runWithKilledReplicas(notesServer(store.location), options);
    console.log(`seed ${seed}`, run);
    expect(run).toMatchObject({ ...clean, answered: 80, unknown: 0 });
    expect(run.kills).toBeGreaterThan(0);
  } finally {
    await store.close();
  }
});
