import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import {
  startStorePlace,
  type StorePlace,
  storeKinds,
  storeUnavailable,
} from "../../../e2e/src/durable/store-place.ts";
import { findProgram } from "../../../stores/test/find-program.ts";
import type { ApplicationWork } from "../../test/application-program.ts";
import { runCli, runCliJson } from "../../test/run-cli.ts";
import { keys, runAtTerminal, runMain, runProcess } from "../../test/start-cli.ts";

const application = fileURLToPath(new URL("../../test/application-program.ts", import.meta.url));

/** The address of a store, with a password where there can be one. */
function addressOf({ kind, at }: StorePlace): string {
  if (kind === "sqlite") return `file:${at}`;
  return kind === "postgres"
    ? `postgres://postgres:s3cret@127.0.0.1:${at}/postgres`
    : `redis://127.0.0.1:${at}`;
}

/** What a process of an application leaves, and how commands are run on it. */
async function startCommands(place: StorePlace, ...users: string[]) {
  const [notebook, shop] = [await startNotebookServer(), await startAskingServer()];
  const work: ApplicationWork = { place, notebook: notebook.url, shop: shop.url, users };
  const stepped = await runProcess(application, [JSON.stringify(work)]);
  expect(stepped).toMatchObject({ exitCode: 0 });
  const json = async (...args: string[]) => {
    const seen = await runCliJson(...args, "--store", addressOf(place));
    expect(seen).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining("s3cret") });
    return seen.json;
  };
  return { notebook, shop, json };
}

describe.each(storeKinds)("in %s", (kind) => {
  let place: Awaited<ReturnType<typeof startStorePlace>>;
  beforeAll(async () => {
    if (storeUnavailable[kind] === undefined) place = await startStorePlace(kind);
  });
  afterAll(() => place?.remove());

  test.skipIf(storeUnavailable[kind])(
    "what another process has left is listed, ended and answered",
    async () => {
      const { notebook, shop, json } = await startCommands(place, "alice", "bob");
      expect((await json("doctor")).rows).toMatchObject([
        { check: "Node" },
        ...["store", "keys", "a write"].map((check) => ({
          check,
          outcome: check === "keys" ? "note" : "ok",
        })),
        ...[{}, {}],
      ]);
      const { sessions } = await json("sessions", "list", "--connection", "notes");
      expect(sessions).toMatchObject([{ kind: "session" }, { kind: "session" }]);
      const [one, other] = sessions;
      const told = ["--yes", "--server", notebook.url];
      const end = await json("sessions", "end", one.row, ...told);
      expect(end.sessions).toMatchObject([{ row: one.row, ended: true, removed: true }]);
      expect(notebook.liveSessions()).toBe(1);
      const left = await json("sessions", "list", "--connection", "notes");
      expect(left.sessions).toMatchObject([{ row: other.row }]);

      const { calls } = await json("waiting", "list");
      expect(calls).toMatchObject([{ state: "waiting" }, { state: "waiting" }]);
      const data = JSON.stringify({ confirm: { action: "accept", content: { ok: true } } });
      const answer = ["waiting", "answer", calls[0].row, "--server", shop.url, "--data", data];
      expect(await json(...answer)).toMatchObject({ state: "waiting", round: 2 });
      expect(await json(...answer)).toMatchObject({ state: "settled" });
      expect(shop.legs).toHaveLength(4);
      await json("waiting", "withdraw", calls[1].row, "--yes");
      expect((await json("waiting", "list")).calls).toEqual([]);

      const env = { DURABLE_MCP_STORE: addressOf(place) };
      const table = await runMain(["sessions", "list"], { env });
      expect(table).toMatchObject({ exitCode: 0, stderr: "" });
      for (const secret of [...notebook.sessionIds, ...shop.states, "alice", "s3cret"]) {
        expect(table.stdout + JSON.stringify({ sessions, calls })).not.toContain(secret);
      }
    },
  );
});

test.skipIf(storeUnavailable.postgres)(
  "PostgreSQL that only takes reads is looked into",
  async () => {
    const place = await startStorePlace("postgres");
    try {
      await startCommands(place, "alice");
      const readOnly = `${addressOf(place)}?options=-c%20default_transaction_read_only%3Don`;
      const seen = await runCli(...["sessions", "list", "--store", readOnly]);
      expect(seen).toMatchObject({ exitCode: 0 });
      expect(seen.stderr).toContain("the short names are of this output alone");
      const checked = await runCliJson("doctor", "--store", readOnly);
      expect(checked.json.rows.at(3)).toMatchObject({ check: "a write", outcome: "failed" });
      const none = await runCli(...["sessions", "list", "--store", readOnly, "--table", "others"]);
      expect(none).toMatchObject({ exitCode: 1 });
      expect(none.stderr).toContain("--table: the database has no table others");
      const nobody = addressOf(place).replace("postgres:s3cret", "nobody:s3cret");
      const refused = await runCli(...["sessions", "list", "--store", nobody]);
      expect(refused).toMatchObject({ exitCode: 1 });
      expect(refused.stderr).toContain("it does not know the user");
      expect(refused.stderr).not.toContain("s3cret");
    } finally {
      await place.remove();
    }
  },
);

test.skipIf(storeUnavailable.redis)("a password that Redis refuses is not repeated", async () => {
  const place = await startStorePlace("redis");
  try {
    const address = addressOf(place).replace("redis://", "redis://me:s3cret@");
    const seen = await runCli(...["sessions", "list", "--store", address]);
    expect(seen).toMatchObject({ exitCode: 1, stdout: "" });
    expect(seen.stderr).toContain("it refused the password");
    expect(seen.stderr).not.toContain("s3cret");
  } finally {
    await place.remove();
  }
});

test.skipIf(findProgram("script") === undefined)(
  "a person at a terminal is asked for each field, and before anything is sent or ended",
  async () => {
    const place = await startStorePlace("sqlite");
    try {
      const { notebook, shop, json } = await startCommands(place, "alice");
      const store = ["--store", addressOf(place)];
      const { calls } = await json("waiting", "list");
      const answer = ["waiting", "answer", calls[0].row, ...store];
      const answered = await runAtTerminal(answer, [
        ["Answer", keys.enter],
        ["ok", `${keys.left}${keys.enter}`],
        ["Send the answers to", `${keys.left}${keys.enter}`],
        // The second round.
        ["Answer", `${keys.down}${keys.enter}`],
        ["Send the answers to", `${keys.left}${keys.enter}`],
      ]);
      expect(answered).toMatchObject({ exitCode: 0, unanswered: [] });
      expect(answered.screen).toContain("The server has answered");
      expect(shop.legs.map(({ params }) => params.inputResponses)).toEqual([
        undefined,
        { confirm: { action: "accept", content: { ok: true } } },
        { confirm: { action: "decline" } },
      ]);

      const end = ["sessions", "end", "--connection", "notes", ...store];
      const no = await runAtTerminal(end, [["End 1 session, and tell http", keys.enter]]);
      expect(no).toMatchObject({ exitCode: 1, unanswered: [] });
      expect(notebook.liveSessions()).toBe(1);
      const yes = await runAtTerminal(end, [["End 1 session", `${keys.left}${keys.enter}`]]);
      expect(yes).toMatchObject({ exitCode: 0, unanswered: [] });
      expect(notebook.liveSessions()).toBe(0);
    } finally {
      await place.remove();
    }
  },
);
