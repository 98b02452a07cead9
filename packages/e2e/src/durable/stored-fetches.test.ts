import { test } from "vitest";
import { expectOneSessionOf, expectOneSessionOverKills } from "./stored-fetches.ts";

test("clients of others go on in one session on a fetch with a store, each after the kill of the one before (S12, S56)", async () => {
  await expectOneSessionOverKills("sqlite");
});

test("processes that open a fetch with a store at once leave one session", async () => {
  await expectOneSessionOf(3, "sqlite");
});
