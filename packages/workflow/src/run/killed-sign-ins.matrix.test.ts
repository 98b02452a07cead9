import { join } from "node:path";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { createSignIns } from "../../../ai-sdk/test/sign-ins.ts";
import { temporaryFolder } from "../../test/json-program.ts";
import { callsOf, type Death, runThroughDeaths } from "../../test/killed-run.ts";
import { add, alice } from "../../test/test-app.ts";

/** A run whose call needs a scope, which the user grants when a process has died asleep. */
async function addAndDie(isStored: boolean, deaths: readonly Death[]) {
  const path = join(temporaryFolder(), "sign-ins.db");
  const scopes = { add_note: "notes.write" };
  const signIns = createSignIns({ store: createSqliteStore({ path }), scopes });
  const server = await startNotebookServer();
  server.intercept(signIns.guard);
  const whenAsleep = () => signIns.signIn(alice, server.url);
  await whenAsleep();
  const turns = [[{ ...add("milk"), toolCallId: "milk" }]];
  const run = { connections: ["notes"], sessionId: "chat", turns, isStored };
  const env = { LOCKED_URL: server.url, SIGN_INS_PATH: path };
  const outcome = await runThroughDeaths(run, deaths, { env, answers: "{}", whenAsleep });
  return { outcome: JSON.stringify(outcome), calls: callsOf(server, "add_note") };
}

test.each<[string, boolean, Death[], string, number]>([
  ["while the run sleeps", false, ["asleep"], "1 notes", 2],
  ["after the call, sealed", false, ["asleep", "after told"], "OUTCOME_UNKNOWN", 2],
  [
    "around each step, with a store",
    true,
    ["after add_note", "after find", "asleep", "before told", "after told"],
    "1 notes",
    2,
  ],
])(
  "kill -9 %s: the call is carried out at most once",
  async (_, isStored, deaths, outcome, calls) => {
    // The first one was refused for want of the scope.
    expect(await addAndDie(isStored, deaths)).toEqual({
      outcome: expect.stringContaining(outcome),
      calls,
    });
  },
);
