import { describe, test } from "vitest";
import { storeUnavailable } from "./store-place.ts";
import { expectOneSessionOf, expectOneSessionOverKills } from "./stored-fetches.ts";

const kinds = ["postgres", "redis"] as const;

describe.each(kinds)("fetches on %s", (kind) => {
  test.skipIf(storeUnavailable[kind])("go on after kills, whichever the client", async () => {
    await expectOneSessionOverKills(kind);
  });

  test.skipIf(storeUnavailable[kind])("of ten processes at once leave one session", async () => {
    await expectOneSessionOf(10, kind);
  });
});
