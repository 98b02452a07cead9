import { describe, expect, test } from "vitest";
import { storeKinds, storeUnavailable } from "../durable/store-place.ts";
import { runKilledGateway } from "./killed-gateway.ts";

describe.each(storeKinds)("over %s", (store) => {
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
