import { randomBytes } from "node:crypto";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { encryptStore, encryptValues } from "@durable-mcp/core/sealing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";
import { callForText } from "../../../ai-sdk/test/step.ts";
import { runCli, runCliJson } from "../../test/run-cli.ts";
import { openFile, startApplication, startShop } from "../../test/store-of-an-application.ts";

afterEach(() => vi.unstubAllEnvs());

const base64Key = () => randomBytes(32).toString("base64");

async function namesIn(address: string): Promise<string[][]> {
  const { json } = await runCliJson("sessions", "list", "--store", address);
  return json.sessions.map(({ row, owner, agentSession }: Record<string, string>) => [
    row,
    owner,
    agentSession,
  ]);
}

describe("sessions list", () => {
  test("shows owners, connections, sizes and states, and no id, token or principal", async () => {
    const { address, server } = await startApplication();
    const seen = await runCli("sessions", "list", "--store", address);
    expect(seen).toMatchObject({ exitCode: 0, stderr: "" });
    expect(seen.stdout).toMatch(/user-\w{6}.*notes.*1\.\d kB.*kept/);
    expect(seen.stdout).toContain("2 sessions of 2 owners");
    const { json } = await runCliJson("sessions", "list", "--store", address);
    expect(json.sessions).toHaveLength(2);
    expect(json.sessions[0]).toMatchObject({
      ...{ agent: "default", connection: "notes", kind: "session", outcome: "kept" },
      ...{ servers: [new URL(server.url).origin], tools: { count: 4 }, stillToEnd: 0 },
    });
    for (const secret of [...server.sessionIds, "alice", "bob", "chat-of", "idp.test"]) {
      expect(seen.stdout + JSON.stringify(json)).not.toContain(secret);
    }
  });

  test("names rows and owners alike in each command, and otherwise in another store", async () => {
    const [one, other] = [await startApplication(), await startApplication()];
    const names = await namesIn(one.address);
    expect(await namesIn(one.address)).toEqual(names);
    const others = (await namesIn(other.address)).flat();
    for (const name of names.flat()) expect(others).not.toContain(name);
  });

  test("writes one record of its own, once, which nothing of the application sees", async () => {
    const { address, store, sessions } = await startApplication();
    const before = (await store.list({ limit: 100 })).records;
    await runCli("sessions", "list", "--store", address);
    await runCli("waiting", "list", "--store", address);
    const after = (await store.list({ limit: 100 })).records;
    const [own, ...others] = after.filter(({ key }) => before.every((each) => each.key !== key));
    expect(own).toMatchObject({ key: "durable-mcp/names" });
    expect(others).toEqual([]);
    expect(after.filter(({ key }) => key !== own!.key)).toEqual(before);
    expect((await sessions.admin.list()).sessions).toHaveLength(2);
  });

  test("chooses by owner, agent session, connection and agent", async () => {
    const { address } = await startApplication();
    const all = (await runCliJson("sessions", "list", "--store", address)).json.sessions;
    const rowsOf = async (...filter: string[]) =>
      (await runCliJson("sessions", "list", "--store", address, ...filter)).json.sessions.map(
        ({ row }: { row: string }) => row,
      );
    expect(await rowsOf("--owner", all[1].owner)).toEqual([all[1].row]);
    expect(await rowsOf("--agent-session", all[0].agentSession)).toEqual([all[0].row]);
    // The last run is bob's.
    expect(await rowsOf("--agent-session", "chat-of-bob")).toEqual([all[0].row]);
    expect(await rowsOf("--connection", "notes")).toHaveLength(2);
    expect(await rowsOf("--connection", "browser")).toEqual([]);
    expect(await rowsOf("--agent", "default")).toHaveLength(2);
    expect(await rowsOf("--agent", "-")).toEqual([]);
    const unknown = await runCli("sessions", "list", "--store", address, "--owner", "user-zzzzzz");
    expect(unknown).toMatchObject({ exitCode: 1, stdout: "" });
    expect(unknown.stderr).toContain("--owner");
  });

  test("chooses by a user of the application, whom it does not repeat", async () => {
    const { address } = await startApplication();
    const ofUser = (id: string, issuer: string, ...more: string[]) =>
      runCli(
        ...["sessions", "list", "--store", address, "--user", id, "--issuer", issuer],
        ...more,
      );
    const seen = await ofUser("alice", "https://idp.test");
    expect(seen).toMatchObject({ exitCode: 0, stderr: "" });
    expect(seen.stdout).toContain("1 session of 1 owner");
    expect(seen.stdout).not.toMatch(/alice|idp\.test/);
    const other = await ofUser("alice", "https://other.test");
    expect(other.stdout).toContain("has no sessions like these");
    const half = await runCli("sessions", "list", "--store", address, "--user", "alice");
    expect(half).toMatchObject({ exitCode: 2, stdout: "" });
    expect(half.stderr).toContain("--user needs --issuer");
    const both = await ofUser("alice", "https://idp.test", "--owner", "app");
    expect(both).toMatchObject({ exitCode: 2, stdout: "" });
  });

  test("says which sessions are lost, and which calls wait", async () => {
    const { address, sessions, server } = await startApplication();
    const alice = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
    await sessions.restart("chat-of-alice", { principal: alice });
    server.forgetSessions();
    const { json } = await runCliJson("sessions", "list", "--store", address);
    const outcomes = json.sessions.map(({ outcome }: { outcome: string }) => outcome);
    expect(outcomes).toContain("lost or ended; the next step starts another");
    const shop = await startShop();
    const waits = await runCli("sessions", "list", "--store", shop.address);
    expect(waits.stdout).toContain("1 call not answered: durable-mcp waiting list");
  });

  test("a call that waits counts for its own connection alone", async () => {
    const { address, store } = await startApplication();
    const { url } = await startAskingServer();
    const alice = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
    const shop = defineMcpClientConnection({ url, description: "-", waiting: true });
    const sessions = createDurableSessions({ connections: { shop }, store });
    await sessions.run("chat-of-alice", { principal: alice }, async (run) =>
      callForText(await run.tools(), "shop__order", { item: "tea" }),
    );
    const waits = async () => {
      const { json } = await runCliJson("sessions", "list", "--store", address);
      expect(json.waiting).toBe(1);
      return json.sessions.map(({ waiting }: { waiting: string[] }) => waiting.length).toSorted();
    };
    expect(await waits()).toEqual([0, 0]);
    // As a call of the notebook that waits for a sign-in.
    const { records } = await store.list({ limit: 9 });
    const { key, value, revision, owner } = records.find((record) =>
      record.key.includes("waiting/"),
    )!;
    await store.put(key, { ...(value as object), connection: "notes" }, revision, { owner });
    expect(await waits()).toEqual([0, 1]);
  });

  test("an empty store is said to be one", async () => {
    const { store, address } = openFile();
    await store.createTables();
    const seen = await runCli("sessions", "list", "--store", address);
    expect(seen).toMatchObject({ exitCode: 0, stderr: "" });
    expect(seen.stdout).toContain("the SQLite table mcp_sessions has no sessions");
  });
});

describe("in an encrypted store", () => {
  const keys = { current: base64Key() };

  test("without the key, records are listed as sealed", async () => {
    const fingerprintKey = base64Key();
    const { address } = await startApplication((store) =>
      encryptStore(store, { keys, fingerprintKey }),
    );
    const { json, exitCode } = await runCliJson("sessions", "list", "--store", address);
    expect(exitCode).toBe(0);
    expect(json.sessions).toHaveLength(2);
    expect(json.sessions[0]).toMatchObject({ kind: "sealed", connection: "notes", servers: [] });
    expect(json.sessions[0].owner).toMatch(/^hidden-\w{10}$/);
    vi.stubEnv("OTHER_KEY", base64Key());
    const other = ["--store", address, "--key-env", "OTHER_KEY"];
    const seen = await runCliJson("sessions", "list", ...other);
    expect(seen.json.sessions[0]).toMatchObject({ kind: "sealed" });
  });

  test("with the fingerprint key, the look writes nothing", async () => {
    const fingerprintKey = base64Key();
    const { address, store } = await startApplication((plain) =>
      encryptStore(plain, { keys, fingerprintKey }),
    );
    vi.stubEnv("STORE_KEY", keys.current);
    vi.stubEnv("MARK_KEY", fingerprintKey);
    const opened = ["--key-env", "STORE_KEY", "--fingerprint-key-env", "MARK_KEY"];
    const { json } = await runCliJson("sessions", "list", "--store", address, ...opened);
    expect(json.sessions).toMatchObject([{ kind: "session" }, { kind: "session" }]);
    expect((await store.list({ limit: 100 })).records).toHaveLength(2);
  });

  test("a user is found under a fingerprint with the key alone", async () => {
    const { address } = await startApplication((plain) =>
      encryptStore(plain, { keys, fingerprintKey: base64Key() }),
    );
    const ofAlice = ["--store", address, "--user", "alice", "--issuer", "https://idp.test"];
    const hidden = await runCli("sessions", "list", ...ofAlice);
    expect(hidden).toMatchObject({ exitCode: 2, stdout: "" });
    expect(hidden.stderr).toMatch(/owners are hidden.*--key-env/);
    expect(hidden.stderr).not.toMatch(/alice|idp\.test/);
    vi.stubEnv("STORE_KEY", keys.current);
    const { json } = await runCliJson("sessions", "list", ...ofAlice, "--key-env", "STORE_KEY");
    expect(json.sessions).toHaveLength(1);
  });

  test("with the key, all is shown", async () => {
    const { address } = await startApplication((store) => encryptValues(store, { keys }));
    vi.stubEnv("STORE_KEY", keys.current);
    const opened = ["--store", address, "--key-env", "STORE_KEY"];
    const { json } = await runCliJson("sessions", "list", ...opened);
    expect(json.sessions[0]).toMatchObject({ kind: "session", outcome: "kept" });
    expect(json.sessions[0].server).toMatchObject({ name: "notebook", version: "1.0.0" });
  });

  test("a key that does not fit is said to be the option's fault", async () => {
    const { address } = await startApplication();
    vi.stubEnv("STORE_KEY", "not a key");
    const wrong = await runCli("sessions", "list", "--store", address, "--key-env", "STORE_KEY");
    expect(wrong).toMatchObject({ exitCode: 2, stdout: "" });
    expect(wrong.stderr).toContain("--key-env");
    expect(wrong.stderr).not.toContain("not a key");
    vi.stubEnv("STORE_KEY", keys.current);
    const plain = await runCli("sessions", "list", "--store", address, "--key-env", "STORE_KEY");
    expect(plain).toMatchObject({ exitCode: 2 });
    expect(plain.stderr).toContain("nothing in this store is sealed");
    const missing = await runCli("sessions", "list", "--store", address, "--key-env", "NO_SUCH");
    expect(missing).toMatchObject({ exitCode: 2 });
    expect(missing.stderr).toContain("NO_SUCH");
  });
});
