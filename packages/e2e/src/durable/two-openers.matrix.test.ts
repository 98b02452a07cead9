import { describe, expect, test } from "vitest";
import { storeKinds, storeUnavailable } from "./store-place.ts";
import { faultsOf, runTwoOpeners } from "./two-openers.ts";

// `npm run lab -- openers --rounds 50` for more.
const rounds = 2;

describe.each(storeKinds)("six processes that open at once, on %s", (store) => {
  const reason = storeUnavailable[store];
  if (reason !== undefined) console.warn(`skipped: ${store}: ${reason}`);

  const one = ["one agent session", undefined] as const;
  const shared = ["six agent sessions with a shared session", "inventory"] as const;
  test.skipIf(reason !== undefined).each([one, shared])(
    "%s: end with one MCP session, and leave none behind (S59, S60)",
    async (_, id) => {
      const results = await runTwoOpeners({ store, rounds, shared: id });
      expect(results).toHaveLength(2 * rounds);
      expect(results.flatMap(faultsOf)).toEqual([]);
      // Otherwise they did not open it at once.
      const contested = results.filter(({ adopted }) => adopted > 0);
      expect(contested.length).toBeGreaterThanOrEqual(rounds);
    },
  );
});
