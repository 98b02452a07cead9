import { describe, expect, test } from "vitest";
import { storeKinds, storeUnavailable } from "../durable/store-place.ts";
import { isMatrix } from "../matrix/pairs.ts";
import { runKilledGateway } from "./killed-gateway.ts";

// CI has the first, and `npm run lab -- gateway` longer runs.
const stores = isMatrix ? storeKinds : storeKinds.slice(0, 1);

describe.each(stores)("over %s", (store) => {
  test.skipIf(storeUnavailable[store] !== undefined)(
    "calls through killed processes, before a server that forgets, are told as what they are",
    async () => {
      const run = await runKilledGateway({ store, calls: 400, seed: 5 });
      expect(run).toMatchObject({ crossed: 0, doubled: 0, lost: 0, untrue: 0, unexplained: [] });
      expect(run.answered).toBeGreaterThan(200);
      expect(run.initializes).toBeLessThanOrEqual(run.allowedInitializes);
      expect(run.orphans).toBeLessThanOrEqual(run.killsInHandshakes);
    },
  );
});
